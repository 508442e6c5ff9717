"""A measured Run and what follows from it alone: run quality, CPU, what was asked, and the figures that a fit takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from models.capabilities import Side
from models.client_policy import ClientPolicies
from traces.run import Run
from traces.statistics.summary import latencies, ops_of
from traces.trace import Trace
from validate.compare.figures import Floats, Label, figures_of, labels_of, parts_of
from validate.compare.run_quality import Judgement, judge
from validate.forecast.configurations import Requested, requested_of, requested_trace
from validate.replay.cpu_usage import measured_cpu_s
from validate.replay.recorded_policies import recorded_policies


@dataclass(frozen=True)
class Measured:
    """A measured Run; what follows from it is found when it is first needed, and once.

    Attributes:
        name: what to call it.
        server_s: how long each request took at the server, shape (requests,), NaN: unknown; None: nothing is known.
        with_cpu: whether the CPU that it recorded counts.
    """

    name: str
    run: Run
    server_s: Floats | None = None
    with_cpu: bool = True

    @cached_property
    def judgement(self) -> Judgement:
        """What speaks against it."""
        return judge(self.run)

    @cached_property
    def trace(self) -> Trace:
        """What it was asked, at the speed it was replayed with.

        Raises:
            InputError: it does not keep its trace.
        """
        return requested_trace(self.run)

    @cached_property
    def requested(self) -> Requested:
        """What it was asked, apart from the seed.

        Raises:
            InputError: it does not keep its trace, or was asked nothing.
        """
        return requested_of(self.run)

    @cached_property
    def policies(self) -> ClientPolicies | None:
        """What its clients did about late and failed answers; None where it does not say.

        Raises:
            InputError: what it says is no client's policy.
        """
        return recorded_policies(self.run, self.name)

    @cached_property
    def cpu_s(self) -> dict[Side, float]:
        """CPU seconds per request of each side that counts."""
        return measured_cpu_s(self.run) if self.with_cpu else {}

    @cached_property
    def succeeded(self) -> dict[str, Floats]:
        """The latencies of each operation of which a request succeeded."""
        return {op: found for op in ops_of(self.run) if len(found := latencies(self.run, op))}

    @cached_property
    def parts(self) -> dict[str, Run]:
        """It, and what the server and all else took of each request where that is known."""
        return parts_of(self.run, self.server_s)

    @cached_property
    def labels(self) -> list[Label]:
        """The figures that it has to offer to a fit."""
        return labels_of(self.parts, self.cpu_s)

    @cached_property
    def figures(self) -> Floats:
        """The logarithms of `labels`."""
        return figures_of(self.parts, self.labels, self.cpu_s)

    @property
    def identity(self) -> tuple[str, int]:
        """When it began, and how many requests it had: the same Run in another folder is still that Run."""
        return str(self.run.info.get("started_at")), len(self.run)
