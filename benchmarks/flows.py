"""Counts what commands use, and how the packages hang together.

    python benchmarks/flows.py [FLOW ...] [--root TREE] [-o flows.json]
    python benchmarks/flows.py --compare before.json after.json

Flows: files and functions of the project that a command passes, specs read, copies made, Runs read. Each command runs
twice in one process: the first run loads its modules, the second is counted, with one worker. A function is one `def`;
lambdas, comprehensions and what `dataclass` writes are not counted.

Imports: the parts of a folder are its files and folders. An arrow is a part that imports another one; the levels are
the parts on the longest way of arrows. Lines: of Python and C, by package.
"""

from __future__ import annotations

import argparse
import ast
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
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

AIMS = {"simulate": (300, 50), "calibrate": (350, 60)}
"""Functions and files that a flow is to pass at most."""
ROOMS = ("models", "models/minio", "models/ceph", "models/swift", "models/shared", "sim", "cli")
"""Folders whose imports are counted, where they exist."""
FOLDERS = (*PACKAGES, "benchmarks", "tests")
"""Folders whose lines are counted."""

Counts = dict[str, int]
Report = dict[str, dict[str, Counts]]


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

    def counts(self) -> Counts:
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


def imports_of(folder: Path) -> Counts:
    """Count the parts and the files of a folder, the arrows between them and their levels; circles have none (0)."""
    names = folder.parts
    start = max(number for number, name in enumerate(names) if name in PACKAGES)
    package = ".".join(names[start:])
    files = {_module(path, folder, package): path for path in folder.rglob("*.py") if path.name != "__init__.py"}
    of_files = {module: {name for name in _imported(path) if name in files} for module, path in files.items()}
    part_of = {module: module.removeprefix(f"{package}.").partition(".")[0] for module in files}
    of_parts: dict[str, set[str]] = {part: set() for part in part_of.values()}
    for module, others in of_files.items():
        of_parts[part_of[module]] |= {part_of[other] for other in others} - {part_of[module]}
    return {
        "parts": len(of_parts),
        "arrows": sum(map(len, of_parts.values())),
        "levels": _levels(of_parts),
        "files": len(files),
        "arrows of files": sum(map(len, of_files.values())),
        "levels of files": _levels(of_files),
    }


def _module(path: Path, folder: Path, package: str) -> str:
    return ".".join([package, *path.relative_to(folder).with_suffix("").parts])


def _imported(path: Path) -> Iterator[str]:
    """Yield the names of modules that a file imports, or imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _levels(arrows: dict[str, set[str]]) -> int:
    """Return the number of parts on the longest way of arrows; 0: there is a circle."""
    try:
        order = list(TopologicalSorter(arrows).static_order())
    except CycleError:
        return 0
    level: Counts = {}
    for part in order:
        level[part] = 1 + max((level[other] for other in arrows[part]), default=0)
    return max(level.values(), default=0)


def lines_of(folder: Path) -> Counts:
    """Count the files and lines of Python and C below a folder."""
    files = [path for ending in ("py", "c", "h") for path in folder.rglob(f"*.{ending}")]
    return {"files": len(files), "lines": sum(len(path.read_text().splitlines()) for path in files)}


def table(kind: str, rows: dict[str, Counts]) -> str:
    """Return the counts, a row for each flow or folder."""
    names = list(next(iter(rows.values())))
    cells = [[kind, *names], *([row, *(f"{counts[name]:,}" for name in names)] for row, counts in rows.items())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def tables(report: Report) -> str:
    """Return all tables of a report."""
    return "\n\n".join(table(kind, rows) for kind, rows in report.items() if rows)


def compared(before: Report, after: Report) -> str:
    """Return both reports, and how the functions and files of each flow changed, with what is aimed at."""
    lines = ["before", tables(before), "", "after", tables(after), ""]
    for flow in (flow for flow in before["flow"] if flow in after["flow"]):
        changes = []
        for number, name in enumerate(("functions", "files")):
            a, b = before["flow"][flow][name], after["flow"][flow][name]
            aim = f", aim {AIMS[flow][number]}" if flow in AIMS else ""
            changes.append(f"{a} {name} before, {b} after ({b / a - 1:+.0%}{aim})")
        lines.append(f"{flow}: {'; '.join(changes)}")
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
    report = {
        "flow": flows,
        "imports": {room: imports_of(root / room) for room in ROOMS if (root / room).is_dir()},
        "lines": {folder: lines_of(root / folder) for folder in FOLDERS},
    }
    print(tables(report))
    if given.out is not None:
        given.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
