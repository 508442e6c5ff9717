"""The result of a calibration as tables, sentences and a page."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from cli.figures.runs import COLOURS, blank, escaped, ratio_axis, with_room
from cli.made import Made
from cli.pages.page import Header, Page, Section
from cli.tables.grid import Grid
from cli.words import LABELS, number, percent, seconds
from models.basis.described import DescribedSpec
from models.store import spec_class
from traces.operations import OPS
from traces.spec.fit_bounds import declared_fit
from validate.calibration.profile import Estimate, Profile, Residual

_SHOWN = ("throughput_ops", "p50", "p90", "p99")
_CPU = {"client_cpu_s": "client CPU", "server_cpu_s": "server CPU"}
_UNTESTED = "To see whether the profile holds, compare it with Runs that were not fitted: tailcast validate."
_RUN_COLOURS = ("#3b82d6", "#e08a00", "#109e78", "#d5521a", "#b86aa8", "#7f6fd6", "#8a8f1f", "#1f95a8")


def values_grid(profile: Profile, title: str = "Fitted values") -> Grid:
    """Return the parameters with their intervals; those that the Runs do not determine are marked."""
    units, groups = _units(profile), _undetermined(profile)
    known = {path: "only together" if len(group) > 1 else "no" for group in groups for path in group}
    rows = [
        [
            path,
            _value(units[path], estimate.value),
            f"{_value(units[path], estimate.low)} … {_value(units[path], estimate.high)}",
            _value(units[path], estimate.guess),
            known.get(path, ""),
        ]
        for path, estimate in profile.parameters.items()
    ]
    interval = f"{profile.confidence * 100:g}% interval"
    return Grid(title, ["parameter", "value", interval, "first guess", "identifiable"], rows)


def residuals_grid(profile: Profile, title: str = "Fitted over measured") -> Grid:
    """Return the ratios of fitted to measured figures of each Run, by operation."""
    rows = []
    for run in profile.runs:
        of_run = [r for r in profile.residuals if r.run == run.name]
        cpu = {r.figure: percent(r.log_ratio) for r in of_run if r.figure in _CPU}
        for op in dict.fromkeys(r.op for r in of_run if r.figure not in _CPU):
            ratios = {r.figure: percent(r.log_ratio) for r in of_run if r.op == op} | cpu
            rows.append([run.configuration, op, *(ratios.get(name, number(None)) for name in (*_SHOWN, *_CPU))])
    return Grid(title, ["Runs of", "op", *(LABELS[name] for name in _SHOWN), *_CPU.values()], rows, labels=2)


def rows_grid(profile: Profile, title: str = "Published and fitted figures") -> Grid:
    """Return the figures of published rows, by row."""
    settings = {row.name: row.settings for row in profile.rows}
    rows = [
        [
            r.run,
            settings[r.run],
            r.op,
            r.figure.replace("_", " "),
            number(r.measured),
            number(r.fitted),
            percent(r.log_ratio),
        ]
        for r in profile.residuals
        if r.run in settings
    ]
    return Grid(title, ["row", "settings", "op", "figure", "published", "fitted", "error"], rows, labels=4)


def residuals_grids(profile: Profile) -> list[Grid]:
    """Return `residuals_grid` and `rows_grid`, as far as Runs and rows were fitted."""
    return [*([residuals_grid(profile)] if profile.runs else []), *([rows_grid(profile)] if profile.rows else [])]


def _of_runs(profile: Profile) -> list[Residual]:
    """Return the residuals of Runs, without those of published rows."""
    names = {run.name for run in profile.runs}
    return [residual for residual in profile.residuals if residual.run in names]


def _fitted(profile: Profile, kind: str = "") -> str:
    """Count what was fitted: ``2 Runs and 3 published rows``."""
    parts = [_count(len(profile.runs), f"{kind}Run")] if profile.runs else []
    parts += [_count(len(profile.rows), "published row")] if profile.rows else []
    return " and ".join(parts)


def profile_shown(profile: Profile) -> list[str | Grid]:
    """Return what is printed of a profile: the quality of the fit, what is known, values and residuals."""
    fit, *notes = words(profile)
    return [f"{fit} {_UNTESTED}", known_grid(profile), values_grid(profile), *residuals_grids(profile), *notes]


def known_grid(profile: Profile, title: str = "What the Runs determine") -> Grid:
    """Return the values that are known, those that are known only together, and what would separate them."""
    rows = [
        [", ".join(group), "only together" if len(group) > 1 else "no", _separating(group)]
        for group in _undetermined(profile)
    ]
    others = len(profile.parameters) - sum(map(len, _undetermined(profile)))
    rows += [[f"the other {others}" if rows else f"all {others}", "yes", ""]] if others else []
    return Grid(title, ["values", "known", "separated by"], rows, labels=3)


def _undetermined(profile: Profile) -> list[tuple[str, ...]]:
    """Return the groups of which the Runs determine a combination only, and the other values that they do not."""
    grouped = {path for group in profile.together for path in group}
    alone = [path for path, each in profile.parameters.items() if not each.identified and path not in grouped]
    return [*profile.together, *((path,) for path in alone)]


def _separating(group: Sequence[str]) -> str:
    """Return the measurement that would separate values, by what they are of."""
    if any(path.startswith(("drives.", "device.")) for path in group):
        return "tailcast probe of a drive, for data_sheet"
    if any(path.startswith("network.") for path in group):
        return "round trips between hosts (ping)"
    if any(path.endswith("per_byte") for path in group):
        return "Runs with objects of another size"
    return "Runs with more clients or another mix"


def words(profile: Profile) -> list[str]:
    """Return sentences on the quality of the fit."""
    fit = (
        f"{_fitted(profile)} fitted with {len(profile.parameters)} parameters: root-mean-square error "
        f"{percent(profile.rms_log_error).removeprefix('+')}"
    )
    missed = f"model discrepancy (beyond noise) {percent(profile.discrepancy).removeprefix('+')}"
    return [
        f"{fit}, {missed if profile.discrepancy > 0 else 'explained by noise'}.",
        *map(_sentence, profile.notes),
    ]


def calibration_page(profile: Profile, read: DescribedSpec | None = None) -> Page:
    """Return a page about a calibration; `read`: the spec before it, which the page offers."""
    noise = ", ".join(f"{_label(name)} {percent(sd).removeprefix('+')}" for name, sd in profile.noise.items())
    about = (
        "The workloads of the Runs were simulated, and the values are those for which quantiles, throughput and CPU "
        "time per request are closest to the measured ones. Intervals include the noise of the Runs and of the "
        "simulations, and the model discrepancy."
    )
    fit, *notes = words(profile)
    sections = [
        Section("", notes, [known_grid(profile)]),
        Section("Values", [about], [values_grid(profile, "")], [_intervals(profile)]),
        Section(
            "Measured and fitted",
            ["Points are measured, with error bars of two standard deviations of noise; lines are fitted."],
            charts=[_quantiles(profile, op) for op in OPS if any(r.op == op for r in _of_runs(profile))],
        ),
        Section(
            "Residuals",
            [f"Standard deviation from one Run to the next: {noise}."],
            residuals_grids(profile),
            _residual_figures(profile) if profile.runs else [],
        ),
        *([Section("The Runs", (), [_runs_grid(profile)])] if profile.runs else []),
    ]
    question = f"Which values of {_count(len(profile.parameters), 'parameter')} of {profile.spec} best fit "
    certainty = f"{_identifiable(profile)} {_UNTESTED}"
    header = Header(f"{question}{_fitted(profile, 'measured ')}?", fit, certainty)
    return Page(f"Calibration of {profile.spec}", header, sections, made=Made(profile.spec_hash, profile.seed, read))


def _identifiable(profile: Profile) -> str:
    """Return a sentence on how many of the values are identifiable."""
    count = len(profile.parameters) - sum(map(len, _undetermined(profile)))
    level = f"{profile.confidence * 100:g}% intervals"
    return f"{count} of {len(profile.parameters)} values are identifiable from the Runs; the table has {level}."


def _count(number_of: int, noun: str) -> str:
    return f"{number_of} {noun}{'' if number_of == 1 else 's'}"


def _value(unit: str, value: float) -> str:
    if unit == "s/B":
        return f"{value * 1e9:.3g} ns"
    return seconds(value) if unit == "s" else f"{value:.3g}"


def _units(profile: Profile) -> dict[str, str]:
    """Return the unit of each parameter, from its field in the store's spec."""
    spec = spec_class(profile.store)
    fits = {path: declared_fit(spec, path.split(".")) for path in profile.parameters}
    return {path: fit.unit if fit else "" for path, fit in fits.items()}


def _label(figure: str) -> str:
    return _CPU.get(figure) or LABELS.get(figure, figure)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _runs_grid(profile: Profile) -> Grid:
    rows = [[run.name, run.configuration, run.started_at, f"{run.requests:,}"] for run in profile.runs]
    return Grid("", ["Run", "workload", "started", "requests"], rows, labels=3)


def _intervals(profile: Profile) -> go.Figure:
    """Return a figure of each value's interval and first guess, relative to the value, on a logarithmic axis."""
    figure = blank(f"Values: {profile.confidence * 100:g}% intervals and first guesses", "over the fitted value", "")
    units = _units(profile)
    kinds = ((True, COLOURS["GET"], "identifiable"), (False, COLOURS["DELETE"], "not identifiable"))
    unknown = {path for group in _undetermined(profile) for path in group}
    for identified, colour, name in kinds:
        chosen = {path: e for path, e in profile.parameters.items() if (path not in unknown) is identified}
        if chosen:
            _interval_points(figure, chosen, units, colour, name)
    guesses = [e.guess / e.value for e in profile.parameters.values()]
    names = [escaped(path) for path in profile.parameters]
    style = {"mode": "markers", "marker": {"symbol": "x-thin", "size": 9, "line": {"width": 2, "color": "#808080"}}}
    texts = [_value(units[path], e.guess) for path, e in profile.parameters.items()]
    figure.add_scatter(x=guesses, y=names, name="first guess", text=texts, hovertemplate="%{y}: %{text}", **style)
    ends = [end / e.value for e in profile.parameters.values() for end in (e.low, e.high)]
    figure.update_xaxes(**ratio_axis([value for value in (*ends, *guesses) if value > 0]))
    figure.update_yaxes(autorange="reversed", ticksuffix=" ", categoryorder="array", categoryarray=names)
    return figure.update_layout(height=170 + 24 * len(names))


def _interval_points(
    figure: go.Figure, chosen: dict[str, Estimate], units: dict[str, str], colour: str, name: str
) -> None:
    found = list(chosen.values())
    figure.add_scatter(
        x=[1.0] * len(found),
        y=[escaped(path) for path in chosen],
        error_x={
            "type": "data",
            "array": [e.high / e.value - 1 for e in found],
            "arrayminus": [1 - e.low / e.value for e in found],
            "width": 4,
        },
        mode="markers",
        marker={"size": 8, "color": colour},
        name=name,
        text=[
            f"{_value(units[p], e.value)} ({_value(units[p], e.low)} … {_value(units[p], e.high)})"
            for p, e in chosen.items()
        ],
        hovertemplate="%{y}: %{text}",
    )


def _quantiles(profile: Profile, op: str) -> go.Figure:
    """Return a figure of an operation's latency quantiles in each Run: measured as points, fitted as lines."""
    figure = blank(f"{op}: latency quantiles", "", "latency (ms)")
    of_runs = [(run, _quantiles_of(profile, run.name, op)) for run in profile.runs]
    shown = [(run, residuals) for run, residuals in of_runs if residuals]
    for i, (run, residuals) in enumerate(shown):
        colour, x = _RUN_COLOURS[i % len(_RUN_COLOURS)], [LABELS[r.figure] for r in residuals]
        name = escaped(run.configuration)
        error = {"type": "data", "array": [2e3 * r.noise * r.measured for r in residuals], "width": 3}
        figure.add_scatter(
            x=x,
            y=[r.measured * 1e3 for r in residuals],
            error_y=error,
            mode="markers",
            marker={"size": 7, "color": colour},
            name=name,
            legendgroup=run.name,
            meta={"series": f"{name} measured"},
            hovertemplate="%{x} measured: %{y:.6~g} ms",
        )
        figure.add_scatter(
            x=x,
            y=[r.fitted * 1e3 for r in residuals],
            mode="lines",
            line={"color": colour, "width": 2},
            name=name,
            legendgroup=run.name,
            showlegend=False,
            meta={"series": f"{name} fitted"},
            hovertemplate="%{x} fitted: %{y:.6~g} ms",
        )
    figure.update_yaxes(**ratio_axis([value for trace in figure.data for value in trace.y]))
    return with_room(figure)


def _quantiles_of(profile: Profile, run: str, op: str) -> list[Residual]:
    return [r for r in profile.residuals if r.run == run and r.op == op and r.figure.startswith("p")]


def _residual_figures(profile: Profile) -> Sequence[go.Figure]:
    """Return a figure of the residuals by figure, with a colour per Run."""
    figure = blank("Fitted over measured", "", "ratio")
    for i, run in enumerate(profile.runs):
        of_run = [r for r in profile.residuals if r.run == run.name]
        figure.add_scatter(
            x=[f"{_label(r.figure)}" if r.op == "all" else f"{r.op} {_label(r.figure)}" for r in of_run],
            y=[r.fitted / r.measured for r in of_run],
            mode="markers",
            marker={"size": 8, "color": _RUN_COLOURS[i % len(_RUN_COLOURS)]},
            name=escaped(run.configuration),
            text=[f"{percent(r.log_ratio)}, noise {percent(r.noise)}" for r in of_run],
            hovertemplate="%{x}: %{text}",
        )
    figure.add_hline(y=1, line={"color": "rgba(128,128,128,0.8)", "width": 1})
    figure.update_yaxes(**ratio_axis([value for trace in figure.data for value in trace.y]))
    return [with_room(figure)]
