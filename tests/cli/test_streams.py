"""What commands print, and the resources that may run out, as seen from outside."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import main
from tests.paths import EXAMPLES

MINIO = EXAMPLES / "minio.yaml"
STARTED = [sys.executable, "-c", "from cli.main import main; main()"]


@pytest.mark.parametrize("arguments", [["bounds", str(MINIO)], ["bounds", str(MINIO), "--json"], ["--help"]])
def test_a_full_disk_at_stdout_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*STARTED, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("tailcast: error: the output: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_a_closed_stdout_and_an_ascii_one_are_no_errors() -> None:
    closed = subprocess.run(["sh", "-c", f'"$@" bounds {MINIO} >&-', "sh", *STARTED], capture_output=True, text=True)
    assert closed.returncode == 0 and "Traceback" not in closed.stderr
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [*STARTED, "simulate", str(MINIO), "--set", "workload.duration=0.2s", "--replications", "2"]
    narrow = subprocess.run(command, capture_output=True, env=environment)
    assert narrow.returncode == 0 and narrow.stdout.isascii() and b"p99" in narrow.stdout


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "memory ran out"),
        (RecursionError(), "nested too deep"),
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "/x/y: No space left on device"),
        (OSError(errno.EIO, "Input/output error"), "the output: Input/output error"),
        (RuntimeError("can't start new thread"), "no more threads"),
        (ImportError("libx.so: failed to map segment from shared object"), "memory ran out"),
    ],
)
def test_a_resource_that_runs_out_is_one_line(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("cli.main.app", fail)
    monkeypatch.setattr("cli.main._drop_stdout", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main(["bounds"])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tailcast: error: ") and said in line


def test_names_with_control_characters_are_shown_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bounds", "\x1b[31mspec.yaml"])
    assert capsys.readouterr().err.startswith(r"tailcast: error: \x1b[31mspec.yaml: no such file")
