"""Counts what two commands use: files and functions of the project, specs read, copies made, Runs read.

    python benchmarks/flows.py [FLOW ...] [--root TREE] [-o flows.json]
    python benchmarks/flows.py --compare before.json after.json

Each command runs twice in one process: the first run loads its modules, the second is counted, with one worker. A
function is one `def`; lambdas, comprehensions and what `dataclass` writes are not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import shlex
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = ("traces", "models", "sim", "validate", "cli")
RECORDED = "{root}/examples/recorded"
FLOWS = {
    "simulate": "simulate {root}/examples/minio.yaml",
    "calibrate": "calibrate {root}/examples/demo/minio.yaml "
    f"{RECORDED}/PUT-4KiB-c1 {RECORDED}/PUT-4KiB-c4 --fix hosts.cpu.PUT.distribution --fix drives --anyway --workers 1",
    "validate": f"validate {{root}}/examples/minio.yaml {RECORDED}/mix-32KiB-c16 {RECORDED}/mix-32KiB-c16-again "
    "--seeds 2 --workers 1",
}


@dataclass
class Flow:
    """What a command passed.

    Attributes:
        functions: calls of each function, by file and qualified name.
        copies: deep copies that the project's own code asked for.
        folders: how often each Run was read.
    """

    functions: Counter[tuple[str, str]] = field(default_factory=Counter)
    copies: int = 0
    folders: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, int]:
        """The figures of a row of the table."""
        calls_by_name: Counter[str] = Counter()
        for (_, name), calls in self.functions.items():
            calls_by_name[name] += calls
        return {
            "functions": len(self.functions),
            "files": len({file for file, _ in self.functions}),
            "calls": self.functions.total(),
            "spec_of": calls_by_name["spec_of"],
            "deep copies": self.copies,
            "check_quality": calls_by_name["check_quality"] + calls_by_name["judge"],
            "compile": sum(calls for name, calls in calls_by_name.items() if name in ("compile_spec", "Spec.compile")),
            "Runs read": self.folders.total(),
            "most of one": max(self.folders.values(), default=0),
        }


def counted(command: str, root: Path) -> Flow:
    """Run a command twice and count the second run.

    Raises:
        RuntimeError: it does not end with exit code 0.
    """
    main = importlib.import_module("cli.main").main
    words = shlex.split(command.format(root=root))
    _run(main, words)
    flow = Flow()
    folders = tuple(f"{root / package}{os.sep}" for package in PACKAGES)

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(folders):
            if not code.co_name.startswith("<"):
                flow.functions[code.co_filename, code.co_qualname] += 1
            if code.co_qualname == "Run.read":
                flow.folders[str(frame.f_locals["folder"])] += 1
        elif code.co_name == "deepcopy" and frame.f_back and frame.f_back.f_code.co_filename.startswith(folders):
            flow.copies += 1

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        _run(main, words)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return flow


def _run(main: Callable[[list[str]], None], words: list[str]) -> None:
    before, said = Path.cwd(), io.StringIO()
    with tempfile.TemporaryDirectory(prefix="flows-") as folder:
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                main(words)
        except SystemExit as error:
            if error.code:
                raise RuntimeError(f"{shlex.join(words)}: exit code {error.code}: {said.getvalue()}") from error
        finally:
            os.chdir(before)


def table(flows: dict[str, dict[str, int]]) -> str:
    """The counts, a row for each flow."""
    names = list(next(iter(flows.values())))
    rows = [["flow", *names], *([flow, *(f"{counts[name]:,}" for name in names)] for flow, counts in flows.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def compared(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> str:
    """Both, and by how much the number of functions changed."""
    lines = ["before", table(before), "", "after", table(after), ""]
    for flow in (flow for flow in before if flow in after):
        a, b = before[flow]["functions"], after[flow]["functions"]
        lines.append(f"{flow}: {a} functions before, {b} after ({b / a - 1:+.0%})")
    return "\n".join(lines)


def main() -> None:
    """Count, or compare two files of counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flows", nargs="*", metavar="FLOW", help=f"of {', '.join(FLOWS)} (default: all)")
    parser.add_argument("--root", type=Path, default=ROOT, help="source tree to run (default: this one)")
    parser.add_argument("-o", "--out", type=Path, help="JSON file of the counts (default: none)")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="compare two such files (default: none)")
    parser.add_argument(
        "--list", metavar="FLOW", choices=FLOWS, help="print the functions that a flow calls (default: none)"
    )
    given = parser.parse_args()
    if unknown := set(given.flows) - FLOWS.keys():
        parser.error(f"no flow {', '.join(sorted(unknown))}; there are {', '.join(FLOWS)}")
    if given.compare:
        print(compared(*(json.loads(path.read_text()) for path in given.compare)))
        return
    root = given.root.resolve()
    sys.path.insert(0, str(root))
    if given.list:
        for (file, name), calls in sorted(counted(FLOWS[given.list], root).functions.items()):
            print(f"{calls:8,}  {Path(file).relative_to(root)}  {name}")
        return
    flows = {name: counted(command, root).counts() for name, command in FLOWS.items() if name in (given.flows or FLOWS)}
    print(table(flows))
    if given.out is not None:
        given.out.write_text(json.dumps(flows, indent=1) + "\n")


if __name__ == "__main__":
    main()
