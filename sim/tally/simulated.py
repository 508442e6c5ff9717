"""Simulate a spec without keeping its requests."""

from __future__ import annotations

from collections.abc import Callable

from models.store import Spec, compile_spec
from sim.endless import refuse_endless
from sim.engine.outcome import Program
from sim.replication.summaries import Replication
from sim.run_tables import station_table
from sim.simulate import Beginning, EngineName, Executed, engine_of, info_of, with_faults
from sim.tally.figures import last_end_s, replication_of
from sim.tally.tally import Tally
from traces.trace import Trace
from traces.workload.generate import generate


def simulate_figures(
    spec: Spec,
    trace: Trace | None = None,
    *,
    seed: int = 0,
    engine: EngineName = "compiled",
    progress: Callable[[int], None] | None = None,
) -> Replication:
    """Simulate like `sim.simulate.simulate`, but keep counts of requests only, so memory does not grow with them.

    Raises:
        InputError: the simulation would never end.
    """
    began = Beginning()
    trace = generate(spec.workload, seed) if trace is None else trace
    engine, execute = engine_of(engine)
    tallies: list[Tally] = []

    def run(until_s: float) -> Executed:
        network, requests = compile_spec(spec, trace, until_s)
        refuse_endless(network, requests, kept=False)
        tallies[:] = [Tally(trace, requests)]
        outcome = execute(Program.of(network, requests, seed), progress, tallies[0])
        return Executed(network, requests, outcome, last_end_s(tallies[0]))

    found = with_faults(spec, trace, run)
    info = info_of(spec, trace, found, seed, engine, began)
    return replication_of(tallies[0], station_table(found.network, found.outcome).to_pylist(), info, seed)
