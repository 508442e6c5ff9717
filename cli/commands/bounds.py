"""`tailcast bounds`: what follows from a spec's demands without simulation."""

from __future__ import annotations

from cli.common import print_grid, print_json
from cli.options import JsonOption, ProfileOption, SeedOption, SetOption, SpecArgument, TraceOption
from cli.parse import workload
from cli.tables import bounds
from sim.analysis import bounds as analysis_bounds
from traces.workload import generate


def command(
    spec: SpecArgument,
    trace: TraceOption = None,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the bottleneck, bounds of throughput and response time, and exact means where they exist."""
    store, requests = workload.spec_and_trace(spec, trace, profile, assignments)
    result = analysis_bounds.bounds(
        *store.compile(generate.generate(store.workload, seed or 0) if requests is None else requests)
    )
    if as_json:
        print_json(result)
        return
    for grid in bounds.bounds_grids(result):
        print_grid(grid)
