"""HTML pages that contain their style, script and data, and so work offline."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cli.tables.grid import Grid
from traces.tables import atomic_file


@dataclass(frozen=True)
class Header:
    """Summary at the top of a page, as plain text: what was requested and found, and how certain it is."""

    requested: str
    found: str
    certainty: str


@dataclass(frozen=True)
class Section:
    """Part of a page: a heading, paragraphs, tables, then charts; all text is plain and is escaped here."""

    heading: str
    paragraphs: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[go.Figure] = ()


def write_page(path: Path, title: str, header: Header, sections: Sequence[Section]) -> list[go.Figure]:
    """Write the page, either completely or not at all, and return its figures in their order on the page.

    Each figure has a button that saves its data as CSV: the table in its ``layout.meta["table"]`` (``{"columns",
    "rows"}``) if it has one, otherwise one row per point. For these rows the ``meta`` of a plotly trace may give
    ``series``, a name other than that of the trace, and ``customdata``, the name of that column.

    Raises:
        InputError: the file cannot be written.
    """
    body = _header(header) + "".join(_section(section) for section in sections)
    page = "".join([
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{html.escape(title)}</title><style>{_asset('page.css')}</style></head>",
        f"<body><main><h1>{html.escape(title)}</h1>",
        # The library has to be loaded before the first chart.
        f"<script>{get_plotlyjs()}</script>{body}</main><script>{_asset('page.js')}</script></body></html>\n",
    ])  # fmt: skip
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return [chart for section in sections for chart in section.charts]


def _asset(name: str) -> str:
    return files("cli.pages").joinpath(name).read_text(encoding="utf-8")


def _header(header: Header) -> str:
    sentences = {"Requested": header.requested, "Found": header.found, "Certainty": header.certainty}
    rows = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in sentences.items())
    return f'<dl class="summary">{rows}</dl>'


def _section(section: Section) -> str:
    heading = f"<h2>{html.escape(section.heading)}</h2>" if section.heading else ""
    paragraphs = "".join(f"<p>{html.escape(text)}</p>" for text in section.paragraphs)
    grids = "".join(_table(grid) for grid in section.grids)
    charts = "".join(_chart(chart) for chart in section.charts)
    return f'<section>{heading}{paragraphs}{grids}<div class="charts">{charts}</div></section>'


def _table(grid: Grid) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="{"label" if i < grid.labels else "figure"}">{html.escape(cell)}</{tag}>'
            for i, cell in enumerate(row)
        )

    caption = f"<caption>{html.escape(grid.title)}</caption>" if grid.title else ""
    marks = [row[-1] if row[-1] in ("differs", "unsure", "beyond") else "" for row in grid.rows]
    rows = "".join(f'<tr class="{mark}">{cells("td", row)}</tr>' for mark, row in zip(marks, grid.rows, strict=True))
    head = f"<thead><tr>{cells('th', grid.columns)}</tr></thead>"
    return f'<div class="scroll"><table>{caption}{head}<tbody>{rows}</tbody></table></div>'


def _chart(figure: go.Figure) -> str:
    # Escaping "<" prevents a name in the data from ending the element.
    data = figure.to_json().replace("<", "\\u003c")
    height = f"height: {figure.layout.height}px"  # otherwise 0 until it is drawn, and when the page is printed
    chart = f'<div class="chart" style="{height}"></div><script type="application/json">{data}</script>'
    return f'<div class="card">{chart}<button type="button" title="save this figure\'s data">CSV</button></div>'
