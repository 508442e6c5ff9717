"""`tailcast simulate`: one simulated Run of a spec, or estimates from several replications."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import DRAWS, progress, say, warn_if_slow
from cli.options import (
    EngineOption,
    ForceOption,
    JsonOption,
    PrecisionOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SloOption,
    SpecArgument,
    SteadyOption,
    TraceOption,
    UncertaintyOption,
)
from cli.outputs import check_run_output
from traces.errors import InputError

_BATCH = 10  # replications at a time if only a precision is given


def command(
    spec: SpecArgument,
    trace: TraceOption = None,
    faults_of: Annotated[
        Path | None,
        typer.Option(
            "--faults-of",
            metavar="RUN",
            help="Measured Run whose staged faults to repeat (default: those of the spec).",
        ),
    ] = None,
    slos: SloOption = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if an objective is missed.")] = False,
    engine: EngineOption = "compiled",
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            min=1,
            help="Number of independent replications, for confidence intervals (default: one run).",
        ),
    ] = None,
    precision: PrecisionOption = None,
    uncertainty: UncertaintyOption = None,
    steady: SteadyOption = False,
    no_requests: Annotated[
        bool,
        typer.Option(
            "--no-requests",
            help="Count requests instead of keeping them: memory does not grow with their number, and quantiles are "
            "within 0.4 %.",
        ),
    ] = False,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Number of worker threads or processes for replications.")
    ] = 1,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write the Run to this folder (default: none)."),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Simulate a store and print latencies, throughput and the load of each station.

    Example: tailcast simulate examples/minio.yaml --set workload.clients=32
    """
    from cli.answers.forecast import forecast_answer
    from cli.doubts import say_doubts
    from cli.made import Made
    from cli.parse.slo import parse_slos
    from cli.parse.spec import described
    from cli.present import Answer, Outputs, present
    from cli.simulations import band_shown
    from sim.experiments.sweep import Settings
    from sim.experiments.uncertainty import uncertainty_band
    from sim.forecast import forecast_of_replications, forecast_of_run
    from sim.replication.replicate import Precision

    objectives = parse_slos(slos)
    if check and not objectives:
        raise InputError("--check needs an objective to meet; add --slo 'GET.p99<50ms'")
    several = replications is not None or precision is not None
    if uncertainty is not None:
        refused = {"--trace": trace, "--faults-of": faults_of, "--slo": slos, "--precision": precision, "--out": out}
        if given := next((name for name, value in refused.items() if value), None):
            raise InputError(f"--uncertainty draws the values of the spec for its own workload; leave out {given}")
    if no_requests:
        needing = {"--out": out, "--steady": steady, "--uncertainty": uncertainty}
        if given := next((name for name, value in needing.items() if value), None):
            raise InputError(f"{given} needs the requests; leave out --no-requests")
    if several and out is not None:
        raise InputError("--out writes one Run; leave out --replications and --precision")
    if steady and not several and uncertainty is None:
        raise InputError("--steady needs replications; add --replications 10 or --precision 0.05")
    check_run_output(out, force)
    read = described(spec, trace, profile, assignments)
    store, requests = read.spec, read.trace
    if faults_of is not None:
        from traces.run import Run
        from validate.replay.recorded_faults import recorded_faults, with_faults

        store = with_faults(store, recorded_faults(Run.read(faults_of), str(faults_of)), str(faults_of))
    say_doubts(read, spec)
    if engine == "compiled":
        warn_if_slow()
    made = Made.of(store, seed or 0, read)
    if uncertainty is not None:
        settings = Settings(seed or 0, replications or DRAWS, steady=steady, engine=engine)
        with progress("drawing", settings.replications + 1) as update:
            band = uncertainty_band(read.uncertain, settings, uncertainty, workers=workers, progress=update)
        present(Answer(band, lambda: band_shown(band, store.workload.ends), made), Outputs(as_json))
        return
    if several:
        with progress("replicating", replications if precision is None else None) as update:
            found = forecast_of_replications(
                store,
                requests,
                replications=replications or _BATCH,
                seed=seed or 0,
                engine=engine,
                precision=None if precision is None else Precision(precision),
                steady=steady,
                keeps_requests=not no_requests,
                slos=objectives,
                workers=workers,
                said=_say_longer,
                progress=update,
            )
    else:
        with progress("simulating", len(requests) if requests is not None else store.workload.operations) as update:
            found = forecast_of_run(
                store,
                requests,
                seed=seed or 0,
                engine=engine,
                keeps_requests=not no_requests,
                slos=objectives,
                said=_say_longer,
                progress=update,
            )
        if out is not None and found.run is not None:
            found.run.write(out)
            say(f"Run written to {out}")
    present(forecast_answer(found, made), Outputs(as_json))
    if check and found.missed:
        raise typer.Exit(1)


def _say_longer(factor: int) -> None:
    say(f"has not settled; simulating {factor} times the length")
