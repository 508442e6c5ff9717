"""The page of `tailcast explore`: its layout, and what follows from a moved value."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from dash import ALL, Input, Output, State, dcc, html, no_update

from cli.explore.elements import application, graph, table
from cli.explore.explorer import Explorer, Setting, Shown
from cli.explore.knobs import Knob
from cli.figures import runs as figures
from cli.figures.store_diagram import store_diagram
from cli.tables.forecast.runs import summary_grid
from cli.tables.forecast.steadiness import unsettled_lines
from cli.tables.forecast.verdict import objective_lines, verdict_line
from sim.run_tables import visited_stations
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError
from traces.statistics.critical_path import attribution

_LONGEST_MARK = 12  # characters


def page_of(explorer: Explorer) -> Any:
    """Return the application of Dash; its scripts come from this machine."""
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    app = application(f"tailcast: {explorer.file}", style)
    app.layout = _layout(explorer)
    _connect(app, explorer)
    return app


def _layout(explorer: Explorer) -> Any:
    controls = [_control(number, knob) for number, knob in enumerate(explorer.knobs)]
    buttons = [
        html.Button("Keep this setting, to compare with", id="keep"),
        html.Button("Back to the spec", id="reset"),
        html.Button("Save spec", id="save"),
    ]
    command = [html.Code(id="command"), dcc.Clipboard(target_id="command", title="Copy as command", id="copy")]
    return html.Main(
        [
            html.H1(explorer.file),
            html.Div(
                [
                    html.Section(
                        [html.H2("Values"), *controls, html.Div(buttons, className="buttons")], className="controls"
                    ),
                    html.Section(
                        [
                            html.Div(id="verdict", role="status"),
                            html.Div(command, className="command"),
                            html.Div(id="pair"),
                            html.Div(id="found"),
                        ],
                        className="results",
                    ),
                ],
                className="columns",
            ),
            dcc.Store(id="present"),
            dcc.Store(id="kept"),
            dcc.Download(id="download"),
        ]
    )


def _control(number: int, knob: Knob) -> Any:
    """Return a slider for numbers, and a list for a few names."""
    last = len(knob.values) - 1
    name = {"type": "knob", "index": number}
    if knob.is_ordered:
        marks = {n: text for n in (0, last) if len(text := knob.texts[n]) < _LONGEST_MARK}
        slider = dcc.Slider(
            0, last, 1, value=knob.present, marks=marks or None, id=name, included=False, allow_direct_input=False
        )
        field: Any = html.Div(slider, className="slider")
    else:
        options = [{"label": text, "value": n} for n, text in enumerate(knob.texts)]
        field = dcc.Dropdown(options, knob.present, id=name, clearable=False, searchable=False)
    label: list[Any] = [
        html.Span(knob.path),
        " ",
        html.Output(knob.texts[knob.present], id={"type": "text", "index": number}),
    ]
    return html.Div([html.Div(label, className="label", title=knob.meaning), field], className="knob")


def _connect(app: Any, explorer: Explorer) -> None:
    knobs = explorer.knobs

    @app.callback(  # type: ignore[untyped-decorator]
        Output({"type": "text", "index": ALL}, "children"),
        Output("verdict", "children"),
        Output("command", "children"),
        Output("found", "children"),
        Output("present", "data"),
        Input({"type": "knob", "index": ALL}, "value"),
        Input("kept", "data"),
    )
    def follow(indices: list[int], kept: list[str] | None) -> tuple[Any, ...]:
        """Show what follows from the values."""
        texts = [knob.texts[index] for knob, index in zip(knobs, indices, strict=True)]
        setting = explorer.setting(indices)
        try:
            shown = explorer.shown(setting)
            before = None if kept is None else explorer.shown(tuple(kept))
            opening = _opening(explorer, shown, shown.forecast.verdict)
            return texts, opening, explorer.command(setting), _found(shown, before), list(setting)
        except InputError as error:
            return texts, html.P(f"Not possible: {error}", className="wrong"), "", no_update, no_update

    @app.callback(  # type: ignore[untyped-decorator]
        Output("verdict", "children", allow_duplicate=True),
        Input("present", "data"),
        prevent_initial_call="initial_duplicate",
    )
    def complete(present: list[str] | None) -> Any:
        """Complete the verdict by what saturates first, which takes longer than the run."""
        if present is None:
            return no_update
        setting = tuple(present)
        return _opening(explorer, explorer.shown(setting), explorer.verdict(setting))

    @app.callback(  # type: ignore[untyped-decorator]
        Output("kept", "data"), Input("keep", "n_clicks"), State("present", "data"), prevent_initial_call=True
    )
    def keep(_: int, present: list[str]) -> list[str]:
        """Keep the present setting, with which others are compared."""
        return present

    @app.callback(  # type: ignore[untyped-decorator]
        Output("pair", "children"), Input("present", "data"), Input("kept", "data")
    )
    def compare(present: list[str] | None, kept: list[str] | None) -> Any:
        """Show the paired difference between the setting that was kept and the present one."""
        if present is None or kept is None:
            return ""
        before, after = tuple(kept), tuple(present)
        try:
            return [html.P(_between(before, after)), table(explorer.paired(before, after))]
        except InputError as error:
            return html.P(f"Not possible: {error}", className="wrong")

    @app.callback(  # type: ignore[untyped-decorator]
        Output({"type": "knob", "index": ALL}, "value"), Input("reset", "n_clicks"), prevent_initial_call=True
    )
    def reset(_: int) -> list[int]:
        """Go back to the values of the spec."""
        return [knob.present for knob in knobs]

    @app.callback(  # type: ignore[untyped-decorator]
        Output("download", "data"), Input("save", "n_clicks"), State("present", "data"), prevent_initial_call=True
    )
    def save(_: int, present: list[str]) -> dict[str, str]:
        """Save the spec of the present setting."""
        return {"content": explorer.text(tuple(present)), "filename": "explored.yaml"}


def _opening(explorer: Explorer, shown: Shown, verdict: LoadVerdict | None) -> list[Any]:
    found = shown.forecast
    opening = [] if verdict is None else [verdict_line(verdict)]
    lines = [*opening, *objective_lines(found.objectives), *unsettled_lines(found.unsettled, found.ends)]
    cut = f", the first of the workload (limit: {explorer.most_requests:,})" if shown.is_cut else ""
    note = f"{shown.requests:,} requests{cut}, simulated in {shown.took_s:.2f} s, seed {explorer.seed}."
    first, *others = lines
    return [html.P(first, className="first"), *map(html.P, others), html.P(note, className="note")]


def _between(before: Setting, after: Setting) -> str:
    names = [", ".join(setting) or "the spec as it is" for setting in (before, after)]
    return f"Kept: {names[0]}. Present: {names[1]}."


def _found(shown: Shown, before: Shown | None) -> list[Any]:
    """Return tables and figures; those of latencies also have the setting that was kept, dashed."""
    run = shown.forecast.run
    assert run is not None
    named = [("present", run)]
    if before is not None and before.forecast.run is not None and before is not shown:
        named = [("kept", before.forecast.run), *named]
    visited = visited_stations(run)
    parts = attribution(run)
    colours = figures.role_colours([parts])
    return [
        table(summary_grid(run, "Key figures")),
        graph(store_diagram(visited, shown.roles), "diagram"),
        html.Div([graph(figures.cdf(named), "cdf"), graph(figures.tail(named), "tail")], className="two"),
        *(graph(figures.attribution(op, bands, colours), f"attribution-{op}") for op, bands in parts.items()),
        html.Div(
            [graph(figures.throughput_over_time(named), "throughput"), graph(figures.stations(visited), "stations")],
            className="two",
        ),
    ]
