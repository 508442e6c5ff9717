"""Commands whose process may be kept by a file system end when they have said how they ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.paths import ROOT

_BEGIN = """
import os, sys, threading, time
from cli.ending import begin_alone, perform_in_child, tell_end
begin_alone()
perform_in_child()
"""
# A thread that the interpreter waits for at its end takes the place of a call that hangs in the kernel.
_HANGING = (
    _BEGIN
    + """
open(sys.argv[1], "w").write(str(os.getpid()))
threading.Thread(target=time.sleep, args=(60,)).start()
print("the result")
tell_end(3)
"""
)


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_command_ends_although_its_process_does_not(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    process = started(_HANGING, str(tmp_path / "pid"))
    assert process.communicate(timeout=30) == ("the result\n", "")
    assert process.returncode == 3
    assert time.monotonic() - begun_s < 25
    child = int((tmp_path / "pid").read_text())
    assert child != process.pid
    with pytest.raises(ProcessLookupError):  # a thread can be killed, unlike a call that the kernel has taken
        for _ in range(100):
            os.kill(child, 0)
            time.sleep(0.05)


@pytest.mark.parametrize(("end", "code"), [("sys.exit(4)", 4), ("os.kill(os.getpid(), 9)", 137), ("", 0)])
def test_a_child_that_says_nothing_ends_the_command_by_its_own_end(end: str, code: int) -> None:
    process = started(_BEGIN + end)
    process.communicate(timeout=30)
    assert process.returncode == code


def test_stops_are_passed_on() -> None:
    waits = "\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    tell_end(130)\n"
    process = started(_BEGIN + waits)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_nothing_is_divided_in_a_process_that_goes_on() -> None:
    script = _BEGIN.replace("begin_alone()\n", "before = os.getpid()\n") + "print(before == os.getpid())"
    assert started(script).communicate(timeout=30)[0] == "True\n"
