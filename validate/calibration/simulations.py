"""Simulated figures of Runs' workloads at many points of a spec's parameters, in several processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from models.capabilities import Side
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.shared.client_policy import ClientPolicies
from models.shared.recent import Recent
from models.spec.spec_values import with_values
from models.store import Spec, compile_spec
from sim.parallel.process_pool import process_map
from sim.simulate import requests_only
from traces.trace import Trace
from validate.calibration.published import PublishedRow, row_figures
from validate.compare.figures import Floats, Label, figures_of, part_of, parts_of
from validate.compare.server_part import simulate_server_part, stamped
from validate.replay.cpu_usage import modelled_cpu_s
from validate.replay.recorded_faults import FaultEvent, with_faults
from validate.replay.recorded_policies import as_recorded

FEWEST, MOST = 4000, 10_000
"""Limits for the number of requests of a simulation, which is that of the Run if its trace can be cut or repeated.

Fewer make the simulation noisier than the measurement, more make it needlessly precise.
"""


@dataclass(frozen=True)
class SimulatedWorkload:
    """The workload to simulate for the Runs, or published rows, of a configuration.

    Attributes:
        labels: the figures to return.
        policies: policies of the clients; None: those of the spec.
        faults: staged during the Runs.
        published: the first of the rows; None: there are Runs.
    """

    trace: Trace
    labels: tuple[Label, ...]
    policies: ClientPolicies | None
    faults: tuple[FaultEvent, ...] = ()
    published: PublishedRow | None = None


@dataclass(frozen=True)
class Point:
    """A simulation to run: index of the configuration, values by path in the spec, and seed."""

    configuration: int
    values: Mapping[str, float]
    seed: int

    @property
    def key(self) -> Hashable:
        """A hashable key, equal for equal points."""
        return self.configuration, tuple(self.values.items()), self.seed


class Simulations:
    """Simulates points in processes that have the spec and the traces; created by `simulations`."""

    def __init__(self, mapping: Callable[..., Iterator[Floats]], progress: Callable[[int], None]):
        self._mapping, self._progress = mapping, progress
        self._known: dict[Hashable, Floats] = {}

    @property
    def count(self) -> int:
        """The number of simulations so far."""
        return len(self._known)

    def figures(self, points: Sequence[Point]) -> list[Floats]:
        """Return the log-figures of each point, in the order of its configuration's labels.

        The result does not depend on the number of workers. A repeated point is not simulated again.
        """
        new = {point.key: point for point in points if point.key not in self._known}
        # Those that differ in their seeds one after the other: they have one network.
        alike = sorted(new.values(), key=lambda point: (point.configuration, *point.values.values()))
        for point, figures in zip(alike, self._mapping(_figures, alike), strict=True):
            self._known[point.key] = figures
            self._progress(self.count)
        return [self._known[point.key] for point in points]


@contextlib.contextmanager
def simulations(
    spec: Spec, requested: Sequence[SimulatedWorkload], workers: int, progress: Callable[[int], None]
) -> Iterator[Simulations]:
    """Start processes for simulations of a spec; `progress` is called with the number of simulations done.

    Raises:
        InputError: a worker was killed.
    """
    with process_map(workers, _know, (spec, tuple(requested))) as mapping:
        yield Simulations(mapping, progress)


_Compiled = tuple[Spec, Network, Requests, dict[Side, float]]
"""A spec with the values of a point, what it compiles to, and the CPU times of both sides."""


@dataclass(frozen=True)
class _Known:
    """What a process knows: traces are too large to be sent each time.

    Attributes:
        compiled: of the points simulated last, by configuration and values.
    """

    spec: Spec
    requested: tuple[SimulatedWorkload, ...]
    compiled: Recent[tuple[int, Mapping[str, float]], _Compiled]


_known: _Known  # of this process


def _know(spec: Spec, requested: tuple[SimulatedWorkload, ...]) -> None:
    global _known
    _known = _Known(spec, requested, Recent(1))


def _figures(point: Point) -> Floats:
    of = _known.requested[point.configuration]
    if of.published is not None:
        changed = with_values(of.published.spec, point.values)
        return row_figures(changed, of.trace, point.seed, of.labels, of.published.steady)
    spec, network, requests, cpu_s = _known.compiled.of(
        (point.configuration, point.values), lambda: _compiled(of, point.values)
    )
    run, server_s = (
        simulate_server_part(spec, network, requests, of.trace, point.seed)
        if _is_split(of.labels)
        else (requests_only(network, requests, of.trace, point.seed), None)
    )
    return figures_of(parts_of(run, server_s), of.labels, cpu_s)


def _compiled(of: SimulatedWorkload, values: Mapping[str, float]) -> _Compiled:
    spec = with_faults(as_recorded(with_values(_known.spec, values), of.policies), of.faults, "a Run")
    network, requests = compile_spec(spec, of.trace)
    cpu_s = modelled_cpu_s(spec, network, requests)
    return spec, stamped(spec, network) if _is_split(of.labels) else network, requests, cpu_s


def _is_split(labels: Sequence[Label]) -> bool:
    """Return whether figures of the server part, or of the rest, are among the labels."""
    return any(part_of(label)[0] for label in labels)


def simulated_trace(trace: Trace, requests: int) -> Trace:
    """Return the trace to simulate for Runs with `requests` requests, with `FEWEST` to `MOST` requests if possible.

    A closed loop that repeats for a given time gets a number of requests instead, so that simulating a fast store costs
    no more than a slow one. Traces with phases are left unchanged.
    """
    wanted = int(np.clip(requests, FEWEST, MOST))
    if len(trace) and trace.phase[-1] > 0:
        return trace
    if trace.pacing.repeat:
        rows = pa.array(np.arange(wanted) % len(trace))
        return Trace(trace.table.take(rows), replace(trace.pacing, repeat=False, duration_s=None))
    return Trace(trace.table.slice(0, wanted), trace.pacing)
