"""The page of `tailcast replay --live`: its layout, its figures, and what changes each second."""

from __future__ import annotations

import math
import time
from importlib.resources import files
from threading import Lock
from typing import Any

import plotly.graph_objects as go
from dash import Dash, Input, Output, State, dcc, html

from cli.explore.elements import application, graph, suited, table
from cli.figures.runs import COLOURS, LOG_LATENCY, blank, colour_of
from cli.live.history import History, Subject, Window
from cli.live.status import NOTE, elapsed, errors_of, operations, status_of, table_of
from validate.replay.schedule import LATE_S
from validate.replay.seconds import Seen, quantile_s

_EVERY_MS = 1000
_VIEWED_S, _QUIET_S = 5.0, 0.5  # since the last request: pages are open, pages have loaded
_HEIGHT = 340
_LOST_MS = 20_000
_SAY_IF_LOST = f"""(number, updated, most) => {{
  const now = Date.now();
  if (window.tailcastUpdated !== updated) {{ window.tailcastUpdated = updated; window.tailcastAt = now; }}
  return most !== 0 && now - window.tailcastAt > {_LOST_MS}
    ? "The replay does not respond any more: these are its last figures." : "";
}}"""
_HIDDEN = {"display": "none"}
_FAILED = "#d5521a"
_FIGURES = ("latency", "rate", "lag")


class Shown:
    """What the page shows, which one thread changes and others read."""

    def __init__(self, subject: Subject) -> None:
        self._history, self._stage, self._end, self._version = History(subject), "starting", list[str](), 0
        self._lock, self._made = Lock(), (-1, list[Any]())
        self._delivered, self._fetched_s, self._responding = False, -math.inf, 0

    @property
    def subject(self) -> Subject:
        """What is replayed."""
        return self._history.subject

    def see(self, seen: Seen) -> None:
        """Take what was seen."""
        with self._lock:
            self._history.add(seen)
            self._change()

    def stage(self, text: str) -> None:
        """Take what is done while no requests are issued."""
        with self._lock:
            self._stage = text
            self._change()

    def end(self, lines: list[str]) -> None:
        """Take how it ended."""
        with self._lock:
            self._end = self._end or lines
            self._change()

    def _change(self) -> None:
        self._version += 1
        self._delivered = False

    def fetched(self) -> None:
        """Note that a page fetches something."""
        with self._lock:
            self._fetched_s, self._responding = time.monotonic(), self._responding + 1

    def responded(self, _: BaseException | None) -> None:
        """Note that a page has what it fetched."""
        with self._lock:
            self._fetched_s, self._responding = time.monotonic(), self._responding - 1

    @property
    def is_awaited(self) -> bool:
        """Whether a page that is open may lack what is shown."""
        since_s = time.monotonic() - self._fetched_s
        return self._responding > 0 or since_s < (_QUIET_S if self._delivered else _VIEWED_S)

    def parts(self) -> list[Any]:
        """Return opening, table, style of charts, figures, errors, and the most updates that follow."""
        with self._lock:
            if self._made[0] != self._version:
                self._made = self._version, self._parts()
            self._delivered = True
            return self._made[1]

    def _parts(self) -> list[Any]:
        history = self._history
        windows = history.windows()
        drawn = [
            latencies(windows, operations(history.whole)),
            rates(windows, history.subject.open_loop),
            lags(windows),
        ]
        failed = table(errors_of(history)) if history.whole.errors else ""
        known = table(table_of(history)) if history.now_s else ""
        return [self._opening(), known, {} if windows else _HIDDEN, *drawn, failed, 0 if self._end else -1]

    def _opening(self) -> Any:
        history = self._history
        done, text = elapsed(history)
        if self._end:
            first, *others = self._end
            return html.Div([html.P(first, className="first"), *map(html.P, others)], className="status")
        if not history.now_s:
            return html.Div(html.P(f"{self._stage}…", className="first"), className="status")
        status = status_of(history)
        passed = html.Progress(value=str(done), max="1", title="fraction of the replay that is over")
        meaning = [html.P(status.meaning)] if status.meaning else []
        lines = [html.P(status.sentence, className="first"), *meaning, html.P([passed, f" {text}"], className="passed")]
        return html.Div(lines, className=f"status {status.mark}")


def page_of(shown: Shown) -> Any:
    """Return the application of Dash; its scripts come from this machine."""
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    app = application(f"tailcast: {shown.subject.title}", style)
    app.layout = lambda: _layout(shown)
    app.server.before_request(shown.fetched)
    app.server.teardown_request(shown.responded)
    _connect(app, shown)
    return app


def _layout(shown: Shown) -> Any:
    opening, known, style, *drawn, failed, most = shown.parts()
    figures = [html.Div(graph(figure, name), className="card") for name, figure in zip(_FIGURES, drawn, strict=True)]
    return html.Main(
        [
            html.H1(f"Replay of {shown.subject.title}"),
            html.P(f"on {shown.subject.target}", className="note"),
            html.Div(opening, id="opening", role="status"),
            html.Div(id="lost", role="status"),
            html.Div(known, id="known"),
            html.P(NOTE, className="note"),
            html.Div(figures, className="charts", id="charts", style=style),
            html.Div(failed, id="failed"),
            dcc.Interval(id="tick", interval=_EVERY_MS, max_intervals=most),
            dcc.Interval(id="pulse", interval=_EVERY_MS),
            dcc.Store(id="updated", data=0),
        ]
    )


def _connect(app: Dash, shown: Shown) -> None:
    @app.callback(
        Output("opening", "children"),
        Output("known", "children"),
        Output("charts", "style"),
        *(Output(name, "figure") for name in _FIGURES),
        Output("failed", "children"),
        Output("tick", "max_intervals"),
        Output("updated", "data"),
        Input("tick", "n_intervals"),
        # A page drops a response if it has requested the next one.
        running=[(Output("tick", "disabled"), True, False)],
        prevent_initial_call=True,
    )
    def follow(number: int) -> list[Any]:
        """Show what is known now."""
        return [*shown.parts(), number]

    app.clientside_callback(  # type: ignore[no-untyped-call]
        _SAY_IF_LOST,
        Output("lost", "children"),
        Input("pulse", "n_intervals"),
        State("updated", "data"),
        State("tick", "max_intervals"),
    )


def rates(windows: list[Window], open_loop: bool) -> go.Figure:
    """Requests per second that are offered, served and fail."""
    figure = _over_time("Rate", windows, "requests per second")
    if open_loop:
        line = {"color": "#7f8896", "width": 5}
        _draw(figure, windows, [w.counts.due / w.span_s for w in windows], "offered", line)
    _draw(figure, windows, [w.counts.served / w.span_s for w in windows], "served", {"color": COLOURS["GET"]})
    failed = [w.counts.failed.total() / w.span_s for w in windows]
    if any(failed):
        _draw(figure, windows, failed, "failed", {"color": _FAILED})
    return figure.update_yaxes(rangemode="tozero")


def lags(windows: list[Window]) -> go.Figure:
    """How much later than intended requests started, with the limit."""
    figure = _over_time("Lateness of starts", windows, "late by (ms)")
    for name, fraction, width in (("p50", 0.5, 1.2), ("p99", 0.99, 2.4)):
        values = [1e3 * quantile_s(w.counts.lag, fraction) for w in windows]
        _draw(figure, windows, values, name, {"color": COLOURS["GET"], "width": width})
    if windows:
        figure.add_hline(1e3 * LATE_S, line={"color": _FAILED, "dash": "dash", "width": 1})
        label = {"text": f"limit {1e3 * LATE_S:g} ms", "showarrow": False, "xref": "paper", "x": 0, "xanchor": "left"}
        figure.add_annotation(label | {"y": math.log10(1e3 * LATE_S), "yanchor": "bottom"})
    return figure.update_yaxes(**LOG_LATENCY)


def latencies(windows: list[Window], ops: list[str]) -> go.Figure:
    """p50 and p99 of each operation."""
    figure = _over_time("Latency: p50 (thin) and p99 (bold)", windows, "latency (ms)")
    for op in ops:
        for name, fraction, width in (("p50", 0.5, 1.2), ("p99", 0.99, 2.4)):
            values = [1e3 * quantile_s(w.counts.latency.get(op, {}), fraction) for w in windows]
            style = {"color": colour_of(op), "width": width}
            _draw(figure, windows, values, f"{op} {name}", style)
    return figure.update_yaxes(**LOG_LATENCY)


def _over_time(title: str, windows: list[Window], y: str) -> go.Figure:
    by = f", by {windows[0].span_s:g} s" if windows else ""
    figure = blank(f"{title}{by}", "time since the start (s)", y)
    # A constant revision keeps what was zoomed.
    figure.update_layout(height=_HEIGHT, uirevision=title, margin={"b": 80})
    return suited(figure).update_xaxes(rangemode="tozero")


def _draw(figure: go.Figure, windows: list[Window], values: list[float], name: str, line: dict[str, object]) -> None:
    at_s = [window.begin_s + window.span_s / 2 for window in windows]
    shown = [value if value == value else None for value in values]
    hover = f"{name} %{{y:.4~g}} at %{{x:.6~g}} s<extra></extra>"
    figure.add_scatter(x=at_s, y=shown, mode="lines", name=name, line=line, hovertemplate=hover)
