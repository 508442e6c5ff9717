"""What searches of one field have in common: a failure in force, and the figures of a simulated value.

Every value is simulated with the same seeds. So whether it meets the objectives depends on the value only, and a search
finds the same as a grid of the same resolution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sim.experiments.failing import refuse_instant_retries
from sim.experiments.failure_kinds import Event
from sim.experiments.measures import Measures
from sim.experiments.variants import Variants
from sim.replication.summaries import OpIntervals

_SHOWN = ("mean", "p50", "p99", "p99_9")


@dataclass(frozen=True)
class FailureInForce:
    """A failure that lasts during all simulations: as it was written, and its entry in the section `faults`."""

    failure: str
    event: Event

    @staticmethod
    def of(variants: Variants) -> FailureInForce | None:
        """Return the failure of variants, if there is one."""
        failure = variants.failure
        if failure is None:
            return None
        return FailureInForce(failure.text, failure.lasting(replace(variants, failure=None).spec()))


def check_failure(variants: Variants) -> None:
    """Refuse a failure that the store cannot have, or in which a closed loop would fail too often."""
    if variants.failure is not None:
        spec = variants.spec()
        refuse_instant_retries(spec, variants.failure, spec.workload.duration)


def main_figures(measures: Measures) -> dict[str, OpIntervals]:
    """Return rates and main latencies of each operation."""
    return {
        op: OpIntervals(
            measures.interval(op, "throughput_ops"),
            measures.interval(op, "throughput_bytes"),
            {name: measures.interval(op, name) for name in _SHOWN},
        )
        for op in measures.ops
    }
