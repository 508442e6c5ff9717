"""Tables of bounds and exact means."""

from __future__ import annotations

from collections import Counter
from functools import partial

from cli.tables.forecast.runs import between, load, servers, shown
from cli.tables.forecast.verdict import bounds_line
from cli.tables.grid import Grid
from cli.words import number, seconds
from models.network.route import kind_of
from sim.analysis.bounds_result import Bounds, ResourceBounds, Unavailable


def bounds_shown(result: Bounds, has_faults: bool) -> list[str | Grid]:
    """Return what is printed of bounds: the verdict on the load, and tables."""
    return [bounds_line(result, has_faults), *bounds_grids(result)]


def bounds_grids(result: Bounds) -> list[Grid]:
    """Tables of the result of `bounds.bounds`: the whole network, its stations, its routes, and notes."""
    lines = list(result.notes)
    if unknown := sum(not _is_known(each) for each in result.stations):
        lines.append(f"Stations that are not shown: {unknown}; requests may need nothing of them, or all their time.")
    notes = [Grid("", ["note"], [[line] for line in lines])] if lines else []
    return [_whole_grid(result), _demands_grid(result), _routes_grid(result), *notes]


def _whole_grid(result: Bounds) -> Grid:
    rows = []
    for label, found in (("bounds", result), ("balanced job bounds", result.balanced_job)):
        if not isinstance(found, Unavailable):
            rows.append([label, between(found.throughput_ops, _per_second), between(found.response_s, seconds)])
    exact = result.exact
    if isinstance(exact, Unavailable):
        title = f"No exact means: {exact.reason.removeprefix('no product form: ')}"
    else:
        title = ""
        rows.append(["exact", _per_second(exact.throughput_ops), seconds(exact.response_s)])
    return Grid(title, ["without simulation", "throughput", "mean response"], rows)


def _per_second(value: float | None) -> str:
    return number(None) if value is None else f"{number(value)} op/s"


def _demands_grid(result: Bounds) -> Grid:
    means = [] if isinstance(result.exact, Unavailable) else result.exact.stations
    exact = {station.name: number(station.mean_jobs) for station in means}
    kinds = {"station": "", "pool": " (tokens)", "group": " (together)"}
    rows = [
        [
            name + kinds[s.kind],
            servers(s.servers),
            number(s.visits),
            between(s.demand_s, seconds),
            number(s.max_throughput_ops),
            between(s.utilization, partial(load, servers=s.servers)),
            *([exact[s.name]] if exact else []),
        ]
        for name, s in shown([each for each in result.stations if _is_known(each)])
    ]
    columns = ["station", "servers", "visits", "demand", "max op/s", "utilisation"]
    first = result.bottleneck
    title = f"Bottleneck: {first}, at {number(result.max_throughput_ops)} op/s" if first else "No bottleneck"
    return Grid(title, [*columns, *(["mean jobs"] if exact else [])], rows)


def _is_known(station: ResourceBounds) -> bool:
    """Whether anything is known of how much requests need a station; of some that faults exchange, it is not."""
    return station.servers is None or station.max_throughput_ops is not None or station.utilization.high != 1.0


def _routes_grid(result: Bounds) -> Grid:
    """Return a row for each kind of request, of which there may be several routes, with the mean of their demands."""
    means = [] if isinstance(result.exact, Unavailable) else result.exact.routes
    exact_s = [route.response_s for route in means]  # of the same routes
    kinds: dict[str, list[int]] = {}
    for k, route in enumerate(result.routes):
        kinds.setdefault(kind_of(route.name), []).append(k)
    rows = []
    for kind, numbers in kinds.items():
        routes = [result.routes[number] for number in numbers]
        count, fraction = len(routes), sum(route.fraction for route in routes)
        demand_s: Counter[str] = Counter()
        for route in routes:
            demand_s.update({role: route.fraction / fraction * each_s for role, each_s in route.demand_s.items()})
        least_s = [route.response_s.low for route in routes if route.response_s.low is not None]
        row = [
            routes[0].name if count == 1 else f"{kind} ({count} routes)",
            f"{fraction * 100:.1f}%",
            ", ".join(f"{role} {seconds(each_s)}" for role, each_s in demand_s.most_common() if each_s),
            seconds(min(least_s, default=None)),
        ]
        if exact_s:
            row.append(seconds(sum(result.routes[k].fraction / fraction * exact_s[k] for k in numbers)))
        rows.append(row)
    columns = ["request", "fraction", "demands", "min mean response", *(["exact"] if exact_s else [])]
    return Grid("", columns, rows)
