"""Starts Python programs as a user would, but in copies of a process that has imported their packages already.

Most programs take longer to import these than to run with small numbers. It reads a line of JSON for each program
(path, arguments, folder to run in, and files for what it prints), and writes one: exit code, and CPU time in s.
Start it with `python -P`: modules of the tests are none of the programs'.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from pathlib import Path

PACKAGES = (
    "scipy.optimize", "scipy.stats", "cli.main", "models.store", "sim.simulate",
    "sim.experiments.find.find_best", "sim.experiments.find.find_limit",
    "sim.experiments.sweep", "sim.replication.replicate", "validate.calibration.calibrate", "validate.lab.lab",
    "validate.replay.replay", "validate.reference.forecast", "rich.console",
)  # fmt: skip
"""Modules that programs import: none that starts a thread."""


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


def start(program: str, arguments: list[str], folder: str, out: str, err: str) -> None:
    """Run a program in this process, and end it."""
    os.chdir(folder)
    for path, number in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
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
