"""Page about the I/O anatomy of operations."""

from __future__ import annotations

import plotly.graph_objects as go

from cli.figures.runs import blank, dressed, escaped, with_room
from cli.pages.page import Header, Page, Section
from cli.tables.measured.anatomy import exact, loads_grid, name_of, note, patterns_grid
from cli.words import seconds
from validate.lab.box.anatomy import DATA_KINDS, Anatomy, OperationAnatomy, RequestAccess

_STEPS = (
    "A drive makes its steps one after the other. A step that begins after all waits until the slowest drive has "
    "finished the step before; without this mark, drives go on independently of each other. Steps with a number of "
    "times are repeated together."
)
_EXAMPLE = "The request of the most frequent pattern with the median latency. Pale bars are waiting times in the queue."
_METADATA = "metadata"
_COLOURS = {"read": "#3b82d6", "write": "#e08a00", "fsync": "#d5521a", _METADATA: "#7f8896"}
_QUEUED = 0.35  # opacity of waiting times
_ROW = 26


def anatomy_page(found: Anatomy, run: str) -> Page:
    """Return a page about the anatomy of the operations of a Run."""
    requests = sum(operation.requests for operation in found.operations)
    header = Header(
        f"Which accesses the requests of {run} make on each drive, of which size, and in which order.",
        f"{requests:,} successful requests of {len(found.operations)} kinds made {found.accesses:,} accesses.",
        note(found),
    )
    sections = [Section("", [], [loads_grid(found)], [_loads(found)] if found.operations else [])]
    for number, operation in enumerate(found.operations):
        charts = [_example(operation)] if operation.example else []
        paragraphs = [_STEPS, _EXAMPLE] if number == 0 else []
        sections.append(Section(name_of(operation), paragraphs, [patterns_grid(operation)], charts))
    return Page(f"I/O anatomy of {run}", header, sections)


def _group(kind: str) -> str:
    return kind if kind in DATA_KINDS else _METADATA


def _loads(found: Anatomy) -> go.Figure:
    """Accesses per request by kind, one bar per operation."""
    names = [name_of(operation) for operation in found.operations]
    figure = blank("Accesses per request, on all drives", "accesses per request", "")
    for kind, colour in _COLOURS.items():
        counts = [
            sum(mean for of, mean in operation.accesses.items() if _group(of) == kind) for operation in found.operations
        ]
        figure.add_bar(x=counts, y=names, name=kind, orientation="h", marker_color=colour)
    figure.update_layout(barmode="stack", bargap=0.25)
    figure.update_yaxes(autorange="reversed", automargin=True)
    return with_room(dressed(figure, "Accesses per request, on all drives", 160 + _ROW * len(names)))


def _example(operation: OperationAnatomy) -> go.Figure:
    """The accesses of a request over time, one row per drive."""
    title = f"{name_of(operation)}: a typical request"
    figure = blank(title, "time from the start of the request (ms)", "")
    places = sorted({(access.host, access.drive) for access in operation.example})
    hosts = len({host for host, _ in places}) > 1
    names = {place: f"host {place[0]} drive {place[1]}" if hosts else f"drive {place[1]}" for place in places}
    for kind, colour in _COLOURS.items():
        shown = [access for access in operation.example if _group(access.kind) == kind]
        queued = [access for access in shown if access.queued_s > 0]
        for accesses, waits in ((queued, True), (shown, False)):
            if accesses:
                begins_s = [access.arrival_s + (0 if waits else access.queued_s) for access in accesses]
                lengths_s = [
                    access.queued_s if waits else access.end_s - b for access, b in zip(accesses, begins_s, strict=True)
                ]
                figure.add_bar(
                    x=[1e3 * length_s for length_s in lengths_s],
                    base=[1e3 * begin_s for begin_s in begins_s],
                    y=[names[access.host, access.drive] for access in accesses],
                    orientation="h",
                    name=f"{kind} (queued)" if waits else kind,
                    marker={"color": colour, "opacity": _QUEUED if waits else 1.0},
                    hovertext=[_described(access) for access in accesses],
                    hoverinfo="text",
                )
    columns = ["host", "drive", "kind", "file", "size_bytes", "arrival_s", "queued_s", "served_s", "end_s"]
    figure.update_layout(
        barmode="overlay",
        bargap=0.3,
        meta={"table": {"columns": columns, "rows": [list(a) for a in operation.example]}},
    )
    figure.update_yaxes(categoryorder="array", categoryarray=[names[place] for place in reversed(places)])
    return with_room(dressed(figure, title, 170 + _ROW * len(places)))


def _described(access: RequestAccess) -> str:
    took = f"{seconds(access.arrival_s)} to {seconds(access.end_s)}, of which {seconds(access.queued_s)} queued"
    return f"{access.kind} {escaped(access.file)}, {exact(access.size_bytes)}<br>{took}"
