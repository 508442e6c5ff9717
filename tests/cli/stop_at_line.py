"""Runs the command line and sends a signal to it at one line of the program, for tests.

    python tests/cli/stop_at_line.py PLACES SIGNAL COMMAND…

Without `STOP_AT` in the environment, the lines that are executed are written to the file PLACES, each once, as
``file:line number`` with the number of executed lines until then; with it, SIGNAL is sent before that one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = str(Path(__file__).parents[2])
FOLDERS = tuple(f"{ROOT}/{name}/" for name in ("traces", "sim/parallel", "cli"))
STANDARD = ("contextlib.py", "tempfile.py", "shutil.py", "pathlib.py")


def traced(places: dict[str, int], at: int, number: int) -> Callable[..., Any]:
    executed = 0

    def on_line(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal executed
        if event == "line":
            executed += 1
            if executed == at:
                os.kill(os.getpid(), number)
            elif not at:
                places.setdefault(f"{frame.f_code.co_filename}:{frame.f_lineno}", executed)
        return on_line

    def on_call(frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        file = frame.f_code.co_filename
        return on_line if file.startswith(FOLDERS) or file.endswith(STANDARD) else None

    return on_call


def main() -> None:
    path, number, *arguments = sys.argv[1:]
    places: dict[str, int] = {}
    at = int(os.environ.get("STOP_AT", "0"))
    sys.path.insert(0, ROOT)
    sys.argv[1:] = arguments
    sys.settrace(traced(places, at, int(number)))
    try:
        from cli.main import main

        main()
    finally:
        sys.settrace(None)
        if not at:
            Path(path).write_text("".join(f"{count} {place}\n" for place, count in places.items()))


if __name__ == "__main__":
    main()
