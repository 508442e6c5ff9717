"""`tailcast bounds`: what follows from the service demands of a spec without simulation."""

from __future__ import annotations

from cli.common import print_grid, print_json, print_lines
from cli.options import JsonOption, ProfileOption, SeedOption, SetOption, SpecArgument, TraceOption


def command(
    spec: SpecArgument,
    trace: TraceOption = None,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the bottleneck, bounds on throughput and response time, and exact means where they exist.

    Example: tailcast bounds examples/minio.yaml
    """
    from cli.doubts import say_implausible
    from cli.parse.spec import spec_and_trace
    from cli.tables.bounds import bounds_grids
    from cli.tables.verdict import bounds_line
    from sim.analysis.bounds import bounds
    from sim.analysis.run_end import compile_until_end
    from traces.workload.generate import generate

    store, requests = spec_and_trace(spec, trace, profile, assignments)
    say_implausible([store])
    generated = generate(store.workload, seed or 0) if requests is None else requests
    result = bounds(*compile_until_end(store, generated))
    if as_json:
        print_json(result)
        return
    print_lines([bounds_line(result)])
    for grid in bounds_grids(result):
        print_grid(grid)
