"""The shell of a report: one HTML page that carries its style, script and data, and asks nothing of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cli.tables.grid import Grid
from traces.tables import atomic_file

_MARKS = "differs", "unsure", "beyond"
"""Last cells of a row that the style marks."""


@dataclass(frozen=True)
class Header:
    """What a page begins with, a sentence each: what was asked, what was found, how sure that is; plain text."""

    requested: str
    found: str
    sure: str


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, paragraphs, tables, then charts; all text is plain; the template escapes it."""

    heading: str
    paragraphs: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[go.Figure] = ()


def write_page(path: Path, title: str, header: Header, sections: Sequence[Section]) -> list[go.Figure]:
    """Write the page, whole or not at all; its figures, in the order of the page.

    Each figure has a button that saves its data as CSV: the table in its ``layout.meta["table"]`` (``{"columns",
    "rows"}``) where it carries one, else a row for each point. There a trace's ``meta`` may give ``series``, what its
    rows are called if not by its name, and ``customdata``, what that column is called.

    Raises:
        InputError: the file cannot be written.
    """
    # Commands import this module whether they write a page or not.
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(loader=PackageLoader("cli.pages"), autoescape=True, keep_trailing_newline=True)
    environment.filters["data"] = lambda figure: Markup(_data(figure))
    page = environment.get_template("page.html").render(
        title=title,
        header=[("Requested", header.requested), ("Found", header.found), ("How sure", header.sure)],
        sections=sections,
        marks=_MARKS,
        style=Markup(_asset("page.css")),
        script=Markup(_asset("page.js")),
        library=Markup(get_plotlyjs()),
    )
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return [chart for section in sections for chart in section.charts]


def _asset(name: str) -> str:
    return files("cli.pages").joinpath(name).read_text(encoding="utf-8")


def _data(figure: go.Figure) -> str:
    """A figure as JSON that a script element can hold: "<" stands escaped, lest a name in the data end the element."""
    text: str = figure.to_json().replace("<", "\\u003c")
    return text
