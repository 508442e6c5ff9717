"""The shell of a report: one HTML page that carries its style, script and data, and asks nothing of a network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from cli.tables import Grid
from traces.tables import whole_file


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, paragraphs, tables, then charts; all text is plain and is escaped here."""

    heading: str
    paragraphs: Sequence[str] = ()
    grids: Sequence[Grid] = ()
    charts: Sequence[go.Figure] = ()


def write_page(path: Path, title: str, sections: Sequence[Section]) -> None:
    """Write the page, whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    body = "".join(_section(section) for section in sections)
    page = "".join([
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>",
        f"<body><main><h1>{html.escape(title)}</h1>",
        # The library is in the page before the first chart asks for it.
        f"<script>{get_plotlyjs()}</script>{body}</main><script>{_SCRIPT}</script></body></html>\n",
    ])  # fmt: skip
    with whole_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


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
    # "<" stands escaped, lest a name in the data end the element.
    data = figure.to_json().replace("<", "\\u003c")
    height = (
        f"height: {figure.layout.height}px"  # else it is nothing until drawn, and when the page is laid out to print
    )
    return f'<div class="chart" style="{height}"></div><script type="application/json">{data}</script>'


_STYLE = """
:root { --ink: #1d2530; --quiet: #5b6675; --paper: #ffffff; --card: #f6f8fa; --line: #d5dbe3;
  --bad: #b3261e; --unsure: #8a5a00; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --quiet: #9aa5b4; --paper: #14181e; --card: #1c222b; --line: #353e4b;
    --bad: #ff8a80; --unsure: #e5b567; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1320px; margin: 0 auto; padding: 24px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 12px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 32px 0 8px; overflow-wrap: anywhere; }
p { margin: 0 0 8px; max-width: 100ch; overflow-wrap: anywhere; }
.scroll { overflow: auto; max-height: 720px; margin: 12px 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
caption { text-align: left; font-weight: 600; padding: 4px 0; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; }
.label { text-align: left; } .figure { text-align: right; }
tr.differs td:last-child, tr.beyond td:last-child { color: var(--bad); font-weight: 600; }
tr.unsure td:last-child { color: var(--unsure); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(560px, 100%), 1fr)); gap: 16px; }
.chart { background: var(--card); border-radius: 8px; min-width: 0;
  outline: 1px solid var(--line); overflow: hidden; }
.chart [class*="tick"] text, .chart [class*="title"], .chart .legendtext { fill: var(--ink) !important; }
.chart .gridlayer path, .chart .zerolinelayer path { stroke: var(--line) !important; }
@media print { main { max-width: none; padding: 0; } .chart, tr { break-inside: avoid; }
  .charts { grid-template-columns: 1fr; } .scroll { overflow: visible; max-height: none; }
  table { font-size: 10px; } th, td { padding-right: 6px; } }
"""

_SCRIPT = """
const charts = [...document.querySelectorAll(".chart")];
for (const chart of charts) {
  const figure = JSON.parse(chart.nextElementSibling.textContent);
  Plotly.newPlot(chart, figure.data, figure.layout, {responsive: true, displayModeBar: false});
}
addEventListener("beforeprint", () => charts.forEach((chart) => Plotly.relayout(chart, {width: 680})));
addEventListener("afterprint", () => charts.forEach((chart) => Plotly.relayout(chart, {width: null, autosize: true})));
"""
