"""`tailcast bounds`: what follows from the service demands of a spec without simulation."""

from __future__ import annotations

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
    from cli.made import Made
    from cli.parse.spec import described
    from cli.present import Answer, Outputs, present
    from cli.tables.forecast.bounds import bounds_shown
    from models.store import faults_of
    from sim.analysis.bounds import bounds_of
    from traces.workload.generate import generate

    read = described(spec, trace, profile, assignments)
    store, requests = read.spec, read.trace
    say_implausible([read])
    generated = generate(store.workload, seed or 0) if requests is None else requests
    result = bounds_of(store, generated, requests is None)
    answer = Answer(result, lambda: bounds_shown(result, has_faults=bool(faults_of(store))), Made.of(store, seed or 0))
    present(answer, Outputs(as_json))
