"""Tables of the I/O anatomy of operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.tables.grid import Grid
from cli.words import number, size
from traces.spec.units import binary_size
from validate.lab.box.anatomy import DATA_KINDS, Anatomy, OperationAnatomy, Pattern, Step

_LOADS = ["reads", "writes", "fsyncs", "others", "read", "written"]


def name_of(operation: OperationAnatomy) -> str:
    """The operation and the size of its objects."""
    return f"{operation.op} {exact(operation.size_bytes)}" if operation.size_bytes else operation.op


def exact(size_bytes: int) -> str:
    """Format a size as ``512 KiB`` if it is a multiple of a binary unit, otherwise in bytes: ``2,478 B``."""
    text = binary_size(size_bytes)
    return f"{text[:-3]} {text[-3:]}" if text.endswith("iB") else f"{size_bytes:,} B"


def loads_grid(found: Anatomy) -> Grid:
    """Accesses and bytes per request on all drives together, one row per operation and size."""
    rows = []
    for operation in found.operations:
        metadata = sum(mean for kind, mean in operation.accesses.items() if kind not in DATA_KINDS)
        rows.append([
            name_of(operation),
            f"{operation.requests:,}",
            *(number(operation.accesses.get(kind, 0.0)) for kind in DATA_KINDS),
            number(metadata),
            size(operation.read_bytes),
            size(operation.written_bytes),
        ])  # fmt: skip
    return Grid("Accesses per request, on all drives", ["operation", "requests", *_LOADS], rows)


def patterns_grid(operation: OperationAnatomy) -> Grid:
    """The steps of an operation on each drive, pattern by pattern."""
    rows: list[Sequence[str]] = []
    for pattern in operation.patterns:
        rows += _pattern_rows(pattern, operation.requests)
    others = operation.other_patterns
    warnings = [f"{others} more patterns of few requests are left out."] if others > 0 else []
    columns = ["requests", "drives", "step", "file", "size", "times", "begins"]
    return Grid(f"{name_of(operation)}: steps on each drive", columns, rows, 4, warnings)


def _pattern_rows(pattern: Pattern, requests: int) -> Iterator[Sequence[str]]:
    which = f"{pattern.requests / requests:.0%}"
    if not pattern.drives:
        yield which, "0", "(none)", "", "", "", ""
    for work in pattern.drives:
        drives = f"{work.drives}"
        for block in work.blocks:
            for i, step in enumerate(block.steps):
                times = "" if block.times == 1 else f"{block.times:g}" if i == 0 else '"'
                yield which, drives, step.kind, step.file, _bytes(step), times, _begins(step)
                which = drives = ""


def _bytes(step: Step) -> str:
    return exact(step.size_bytes) if step.kind in ("read", "write") else ""


def _begins(step: Step) -> str:
    return "after all" if step.after_all else ""


def note(found: Anatomy) -> str:
    """Say how many accesses have a request."""
    if not found.without_request:
        return f"Each of the {found.accesses:,} accesses was made for a known request."
    return (
        f"{found.without_request:,} of {found.accesses:,} accesses have no known request: background work, or several "
        "requests in progress. Requests issued one after another show the whole anatomy."
    )
