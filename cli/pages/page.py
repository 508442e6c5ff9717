"""HTML pages that contain their style, script and data, and so work offline."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import plotly

from cli.made import Made
from cli.tables.grid import Grid
from traces.run import Run
from traces.tables import atomic_file

_WARNING = "warning: "
_MARKS = "differs", "unsure", "beyond"
"""Last cells of a row that the style marks."""

_OPTION = re.compile(r"(?<![\w-])(?:--\w[\w-]*|-[a-z](?![\w-]))")


@dataclass(frozen=True)
class Header:
    """Summary at the top of a page, as plain text: what was requested and found, how certain it is, and warnings."""

    requested: str
    found: str
    certainty: str
    warnings: tuple[str, ...] = ()

    @staticmethod
    def of(requested: str, sentences: Iterable[str], certainty: str) -> Header:
        """Return the summary of lines as commands print them, of which those with "warning:" are warnings."""
        found, warnings = list[str](), list[str]()
        for line in sentences:
            is_warning = line.lower().startswith(_WARNING)
            (warnings if is_warning else found).append(line.removeprefix(line[: len(_WARNING)]) if is_warning else line)
        return Header(requested, " ".join(found), certainty, tuple(each[0].upper() + each[1:] for each in warnings))


@dataclass(frozen=True)
class Section:
    """Part of a page: a heading, paragraphs, tables, then charts; all text is plain, and the template escapes it."""

    heading: str
    paragraphs: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[plotly.graph_objects.Figure] = ()

    @property
    def drawn(self) -> list[plotly.graph_objects.Figure]:
        """The charts with more than one mark: a single bar or point says no more than its number."""
        return [chart for chart in self.charts if _marks(chart) != 1]


def _marks(chart: plotly.graph_objects.Figure) -> int:
    return sum(len(trace.x) for trace in chart.data if getattr(trace, "x", None) is not None)


@dataclass(frozen=True)
class Page:
    """A page: its summary, then its sections.

    Attributes:
        runs: the Runs on it, by name.
        made: what it was made with, if the command that writes it does not know.
    """

    title: str
    header: Header
    sections: Sequence[Section]
    runs: Sequence[tuple[str, Run]] = ()
    made: Made | None = None

    @property
    def figures(self) -> list[plotly.graph_objects.Figure]:
        """The figures in their order."""
        return [chart for section in self.sections for chart in section.drawn]


def write_page(page: Page, path: Path, made: Made | None = None) -> None:
    """Write a page, either completely or not at all.

    Its footer says what the page was made with (default: this version of tailcast), and the Runs on it, by name.

    Each figure has a button that saves its data as CSV: the table in its ``layout.meta["table"]`` (``{"columns",
    "rows"}``) if it has one, otherwise one row per point. For these rows the ``meta`` of a plotly trace may give
    ``series``, a name other than that of the trace, and ``customdata``, the name of that column.

    Raises:
        InputError: the file cannot be written.
    """
    from cli.pages.provenance import Provenance

    header, provenance = page.header, Provenance.of(page.made or made or Made(), page.runs)
    text = _rendered(
        "page.html",
        title=page.title,
        header=[
            ("Requested", header.requested),
            ("Found", header.found),
            ("Certainty", header.certainty),
            *(("Warning", each) for each in header.warnings),
        ],
        sections=page.sections,
        footer=provenance.sentences,
        specs=provenance.specs,
        basis=provenance.basis,
    )
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def shown_html(shown: Iterable[str | Grid]) -> str:
    """Return lines and tables as HTML, for a notebook."""
    return _rendered("shown.html", shown=list(shown))


def _rendered(template: str, **values: Any) -> str:
    # Commands import this module whether they write a page or not.
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup

    environment = Environment(loader=PackageLoader(__package__), autoescape=True, keep_trailing_newline=True)
    environment.filters["data"] = lambda figure: Markup(_data(figure))
    environment.filters["name"] = _name
    environment.filters["unbroken"] = _unbroken
    environment.globals |= {
        "marks": _MARKS,
        "style": Markup(_asset("page.css")),
        "script": Markup(_asset("page.js")),
        "licence": Markup(_asset("plotly-basic.LICENSE")),
        "library": Markup(_asset("plotly-basic.min.js")),
    }
    return environment.get_template(template).render(**values)


def _unbroken(text: str) -> Any:
    """Return a text as HTML in which a line never ends between the dashes of an option, nor within its name."""
    from markupsafe import Markup, escape

    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))


def _name(figure: plotly.graph_objects.Figure) -> str:
    """Return the name of a figure for screen readers: its title without marks."""
    return html.unescape(re.sub(r"<[^>]*>", " ", figure.layout.title.text or "figure"))


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(figure: plotly.graph_objects.Figure) -> str:
    """Return a figure as JSON in which "<" is escaped, so that a name in the data cannot end the script element."""
    text: str = figure.to_json().replace("<", "\\u003c")
    return text
