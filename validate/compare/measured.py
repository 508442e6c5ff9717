"""A measured Run and what is derived from it: run quality, CPU times, the workload, and the figures to fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.capabilities import Side
from models.shared.client_policy import ClientPolicies
from traces.run import Run
from traces.statistics.summary import latencies, ops_of
from traces.trace import Trace
from validate.compare.figures import Floats, Label, figures_of, labels_of, parts_of
from validate.compare.run_quality import RunQuality, check_quality
from validate.forecast.configurations import RequestedWorkload, requested_of, requested_trace
from validate.replay.cpu_usage import measured_cpu_s
from validate.replay.recorded_faults import FaultEvent, recorded_faults
from validate.replay.recorded_policies import recorded_policies


@dataclass(frozen=True)
class Measured:
    """A measured Run; what is derived from it is computed once, on first use.

    Attributes:
        name: the name of the Run in results and messages.
        server_s: seconds that each request took at the server, shape (requests,), NaN if unknown; None: not recorded.
        with_cpu: whether to use the CPU times of the Run.
    """

    name: str
    run: Run
    server_s: Floats | None = None
    with_cpu: bool = True

    @cached_property
    def quality(self) -> RunQuality:
        """The result of the run-quality check."""
        return check_quality(self.run)

    @cached_property
    def trace(self) -> Trace:
        """The trace of the Run, at the speed of the replay.

        Raises:
            InputError: the Run has no trace.
        """
        return requested_trace(self.run)

    @cached_property
    def requested(self) -> RequestedWorkload:
        """The workload of the Run, without the seed.

        Raises:
            InputError: the Run has no trace, or the trace no requests.
        """
        return requested_of(self.run)

    @cached_property
    def policies(self) -> ClientPolicies | None:
        """The timeouts, retries and hedging of the clients; None if not recorded.

        Raises:
            InputError: the recorded policies are invalid.
        """
        return recorded_policies(self.run, self.name)

    @cached_property
    def faults(self) -> tuple[FaultEvent, ...]:
        """The faults that were staged during the Run.

        Raises:
            InputError: they are invalid, or the store's model does not have them.
        """
        return recorded_faults(self.run, self.name)

    @cached_property
    def cpu_s(self) -> dict[Side, float]:
        """CPU seconds per request of each side; empty if they are not used."""
        return measured_cpu_s(self.run) if self.with_cpu else {}

    @cached_property
    def succeeded(self) -> dict[str, Floats]:
        """The latencies of each operation with successful requests."""
        return {op: found for op in ops_of(self.run) if len(found := latencies(self.run, op))}

    @cached_property
    def parts(self) -> dict[str, Run]:
        """The Run, and its server part and rest if known (`parts_of`)."""
        return parts_of(self.run, self.server_s)

    @cached_property
    def labels(self) -> list[Label]:
        """The figures that a fit can use."""
        return labels_of(self.parts, self.cpu_s)

    @cached_property
    def figures(self) -> Floats:
        """The logarithms of `labels`."""
        return figures_of(self.parts, self.labels, self.cpu_s)

    @property
    def identity(self) -> tuple[str, int]:
        """Start time and number of requests, which identify the Run in any folder."""
        return str(self.run.info.get("started_at")), len(self.run)
