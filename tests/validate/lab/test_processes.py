"""Processes that are found again by their mark."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path

import psutil
import pytest

from validate.lab import processes

CHILD = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).wait()"


def test_a_process_and_its_children_are_found_by_their_mark_and_ended(tmp_path: Path) -> None:
    mark = str(tmp_path)
    processes.start(mark, [sys.executable, "-c", CHILD], os.environ, tmp_path / "log")
    limit_s = time.monotonic() + 20
    while len(found := processes.marked([mark, "other"])[mark]) < 2 and time.monotonic() < limit_s:
        time.sleep(0.02)
    parent, child = found
    assert child.ppid() == parent.pid, "the oldest comes first"
    assert parent.pid != os.getpid() and os.getsid(parent.pid) == parent.pid
    assert processes.marked([f"{mark}-other"]) == {f"{mark}-other": ()}
    assert processes.end(found, 10) == []
    assert processes.marked([mark]) == {mark: ()}
    assert not any(map(processes.is_alive, found))


def test_a_process_whose_first_thread_alone_has_ended_is_alive(tmp_path: Path) -> None:
    second = "threading.Thread(target=time.sleep, args=(60,)).start()"
    exits = {"x86_64": 60, "aarch64": 93}[platform.machine()]  # the system call that ends a thread
    code = f"import ctypes, threading, time; {second}; ctypes.CDLL(None).syscall({exits}, 0)"
    process = processes.start(str(tmp_path), [sys.executable, "-c", code], os.environ, tmp_path / "log")
    assert process is not None
    limit_s = time.monotonic() + 20
    while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < limit_s:
        time.sleep(0.02)
    assert process.status() == psutil.STATUS_ZOMBIE and process.num_threads() == 2
    assert processes.is_alive(process)
    assert processes.end([process], 10, at_once=True) == []
    assert not processes.is_alive(process)


def test_a_process_is_found_as_soon_as_it_is_started_and_not_as_a_zombie(tmp_path: Path) -> None:
    for number in range(5):
        mark = f"{tmp_path} {number}"
        processes.start(mark, [sys.executable, "-c", "input()"], os.environ, tmp_path / "log")
        processes.start(f"{mark} sleeps", ["/bin/sleep", "60"], os.environ, tmp_path / "log")
        found = processes.marked([f"{mark} sleeps"])[f"{mark} sleeps"]
        assert len(found) == 1
        assert processes.end(found, 10) == []
    limit_s = time.monotonic() + 20
    while processes.marked([mark])[mark] and time.monotonic() < limit_s:  # it ends at once, as it has no input
        time.sleep(0.02)
    assert processes.marked([mark]) == {mark: ()}
    assert "EOFError" in (tmp_path / "log").read_text()


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        processes.start("mark", [str(tmp_path / "absent")], os.environ, tmp_path / "log")


def test_a_process_that_overwrites_the_beginning_of_its_environment_is_found(tmp_path: Path) -> None:
    code = (
        "import ctypes, sys, time; "
        "first = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), 'environ')[0]; "
        "ctypes.memset(first, 0, len(ctypes.string_at(first))); print('done', flush=True); time.sleep(60)"
    )
    mark, log = f"{tmp_path} overwrites", tmp_path / "log"
    started = processes.start(mark, [sys.executable, "-c", code], {"A": "is overwritten"}, log)
    assert started is not None
    try:
        limit_s = time.monotonic() + 20.0
        while "done" not in log.read_text() and time.monotonic() < limit_s:
            time.sleep(0.02)
        assert b"is overwritten" not in Path(f"/proc/{started.pid}/environ").read_bytes()
        assert processes.marked([mark])[mark] == (started,)
    finally:
        assert not processes.end([started], 5.0, at_once=True)
