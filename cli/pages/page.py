"""HTML pages that contain their style, script and data, and so work offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cli.made import Made, runs_made
from cli.tables.grid import Grid
from traces.run import Run
from traces.tables import atomic_file

_MARKS = "differs", "unsure", "beyond"
"""Last cells of a row that the style marks."""


@dataclass(frozen=True)
class Header:
    """Summary at the top of a page, as plain text: what was requested and found, and how certain it is."""

    requested: str
    found: str
    certainty: str


@dataclass(frozen=True)
class Section:
    """Part of a page: a heading, paragraphs, tables, then charts; all text is plain, and the template escapes it."""

    heading: str
    paragraphs: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[go.Figure] = ()


def write_page(
    path: Path,
    title: str,
    header: Header,
    sections: Sequence[Section],
    made: Made | None = None,
    runs: Sequence[tuple[str, Run]] = (),
) -> list[go.Figure]:
    """Write the page, either completely or not at all, and return its figures in their order on the page.

    Its footer says what the page was made with (default: this version of tailcast), and the Runs on it, by name.

    Each figure has a button that saves its data as CSV: the table in its ``layout.meta["table"]`` (``{"columns",
    "rows"}``) if it has one, otherwise one row per point. For these rows the ``meta`` of a plotly trace may give
    ``series``, a name other than that of the trace, and ``customdata``, the name of that column.

    Raises:
        InputError: the file cannot be written.
    """
    # Commands import this module whether they write a page or not.
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(loader=PackageLoader(__package__), autoescape=True, keep_trailing_newline=True)
    environment.filters["data"] = lambda figure: Markup(_data(figure))
    page = environment.get_template("page.html").render(
        title=title,
        header=[("Requested", header.requested), ("Found", header.found), ("Certainty", header.certainty)],
        sections=sections,
        footer=[*runs_made(runs), str(made or Made())],
        marks=_MARKS,
        style=Markup(_asset("page.css")),
        script=Markup(_asset("page.js")),
        library=Markup(get_plotlyjs()),
    )
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return [chart for section in sections for chart in section.charts]


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(figure: go.Figure) -> str:
    """Return a figure as JSON in which "<" is escaped, so that a name in the data cannot end the script element."""
    text: str = figure.to_json().replace("<", "\\u003c")
    return text
