"""Starts Python programs as a user would, but in copies of a process that has imported their packages already.

Most programs take longer to import these than to run with small numbers. It reads a line of JSON for each program
(path, arguments, folder to run in, files for what it prints, more variables of the environment, and after how many
seconds it is ended, with a traceback), and writes one: exit code, and CPU time in s. `Programs` starts it and asks it;
with `python -P`, because modules of the tests are none of the programs'.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

PACKAGES = (
    "scipy.optimize", "scipy.stats", "cli.main", "models.store", "sim.simulate",
    "sim.experiments.find.find_best", "sim.experiments.find.find_limit",
    "sim.experiments.sweep", "sim.replication.replicate", "validate.calibration.calibrate", "validate.lab.lab",
    "validate.replay.replay", "validate.reference.forecast", "rich.console",
)  # fmt: skip
"""Modules that programs import: none that starts a thread."""


@dataclass(frozen=True)
class Done:
    """A program that has run: its exit code, and what it printed."""

    code: int
    out: str
    err: str


class Programs:
    """A process that starts programs; a context manager that ends it.

    Args:
        folder: for what the programs print.
        environment: more variables of the environment, from the start of the process on.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None):
        self._files = {name: str(folder / f"std{name}") for name in ("out", "err")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    def run(
        self,
        program: Path,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        within_s: float = 600.0,
    ) -> Done:
        """Run a program, and wait for its end."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {
            "program": str(program), "arguments": list(arguments), "folder": str(folder),
            "environment": dict(environment or {}), "within_s": within_s,
        }  # fmt: skip
        self._process.stdin.write(json.dumps(request | self._files) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        print(f"{program}: {found['cpu_s']:.1f} s of CPU time")
        return Done(found["code"], *(Path(path).read_text() for path in self._files.values()))


def run(program: str, arguments: list[str]) -> int:
    """Run a program as `python PROGRAM ARGUMENTS` does, and return its exit code."""
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).parent))
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def start(
    program: str, arguments: list[str], folder: str, out: str, err: str, environment: dict[str, str], within_s: float
) -> None:
    """Run a program in this process, and end it."""
    os.chdir(folder)
    os.environ.update(environment)
    for path, number in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    faulthandler.dump_traceback_later(within_s, exit=True)
    code = run(program, arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Start what is read, one program after the other."""
    for name in PACKAGES:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            start(**json.loads(line))
        _, status, used = os.wait4(child, 0)
        found = {"code": os.waitstatus_to_exitcode(status), "cpu_s": used.ru_utime + used.ru_stime}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
