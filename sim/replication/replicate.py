"""Independent replications of a simulation, in parallel, until a given number or precision is reached.

A simulation is any function of a seed: ``replicate(partial(simulate, spec, trace), seed=1, replications=20)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from sim.parallel.worker_map import WorkerMap
from sim.replication.lengthening import Longer, Simulation, settling
from sim.replication.summaries import CONFIDENCE, FIGURES, Figure, Replication, Replications
from sim.replication.warm_up import settled, settling_times
from sim.verdict.offered_load import load_of
from traces.errors import InputError
from traces.random_streams import mixed, stream_id
from traces.run import Run

PILOT = 10
"""Number of replications from which the warm-up time of all is estimated."""


@dataclass(frozen=True)
class PrecisionVerdict:
    """Whether replications have reached a precision.

    Attributes:
        wanted: the required relative half width.
        reached: whether all figures have reached it.
        widest, figure: the largest relative half width and the name of its figure; None: there is no figure.
    """

    wanted: float
    reached: bool
    widest: float
    figure: str | None


class Estimated(Protocol):
    """Replications, or a summary of them."""

    @property
    def figures(self) -> dict[str, dict[str, Figure]]:
        """The figures of each operation."""


@dataclass(frozen=True)
class Precision:
    """The required precision of figures.

    Attributes:
        relative: the largest half width of a confidence interval, as a fraction of its figure: 0.05 is ± 5 %.
        figures: names of `FIGURES` that must reach this precision for every operation.
        confidence: confidence level of the intervals.
        most: maximum number of replications.

    Raises:
        InputError: a value is out of range.
    """

    relative: float
    figures: tuple[str, ...] = ("p99",)
    confidence: float = CONFIDENCE
    most: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.relative < math.inf:
            raise InputError(f"precision is {self.relative!r}; it must be above 0, for example 0.05 for 5 %")
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence is {self.confidence!r}; it must be between 0 and 1, for example 0.95")
        unknown = [name for name in self.figures if name not in FIGURES]
        if unknown or not self.figures:
            raise InputError(f"figures are {list(self.figures)}; allowed are {', '.join(FIGURES)}")

    def verdict(self, replications: Estimated) -> PrecisionVerdict:
        """Compare the widest interval with the required precision."""
        widths = {
            f"{op} {name}": figures[name].relative_half_width(self.confidence)
            for op, figures in replications.figures.items()
            for name in self.figures
        }
        figure = max(widths, key=widths.__getitem__, default=None)
        widest = math.inf if figure is None else widths[figure]
        return PrecisionVerdict(self.relative, widest <= self.relative, widest, figure)


def replicate(
    simulation: Simulation,
    *,
    seed: int = 0,
    replications: int = 10,
    precision: Precision | None = None,
    steady: bool = False,
    longer: Longer | None = None,
    workers: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Replications:
    """Run independent replications of a simulation.

    Args:
        simulation: the simulation to replicate.
        seed: replication i has the seed ``seed_of(seed, i)`` whatever the other arguments are, so variants of a model
            with the same seed are paired.
        replications: number of replications; with a precision, the batch size. The precision is checked after each
            batch only, so that the result does not depend on the number of workers.
        precision: continue until it is reached.
        steady: exclude the warm-up from the figures: the same time for all replications, estimated from the first
            `PILOT`.
        longer: longer simulations, if the runs are to be lengthened until they settle; None: they are not.
        workers: number of threads or processes, see `WorkerMap`. Each needs the memory of one run; this process keeps
            the latencies of all.
        progress: called with the number of replications done.

    Raises:
        InputError: a count is out of range, a worker was killed, or the simulation raised it.
    """
    if workers < 1:
        raise InputError(f"workers is {workers}; it must be at least 1")
    with WorkerMap(workers) as mapping:
        return replicate_over(
            mapping,
            simulation,
            seed=seed,
            replications=replications,
            precision=precision,
            steady=steady,
            longer=longer,
            progress=progress,
        )


def replicate_over(
    mapping: Callable[..., Iterator[Any]],
    simulation: Simulation,
    *,
    seed: int = 0,
    replications: int = 10,
    precision: Precision | None = None,
    steady: bool = False,
    longer: Longer | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Replications:
    """Run `replicate` with existing workers, those of a `WorkerMap`.

    Raises:
        InputError: as for `replicate`.
    """
    if replications < 1:
        raise InputError(f"replications is {replications}; it must be at least 1")
    most = replications if precision is None else precision.most
    if most < replications:
        raise InputError(f"replications is {replications}; with this precision it must be at most {most}")

    def once(simulation: Simulation, *, try_length: bool) -> Replications:
        return _replicated(mapping, simulation, seed, replications, precision, steady, progress, try_length)

    return (
        once(simulation, try_length=False)
        if longer is None
        else settling(once, longer, stops_early=precision is not None)
    )


def _replicated(
    mapping: Callable[..., Iterator[Any]],
    simulation: Simulation,
    seed: int,
    replications: int,
    precision: Precision | None,
    steady: bool,
    progress: Callable[[int], None],
    try_length: bool,
) -> Replications:
    """Run the replications of one length; with `try_length`, no more than the first batch if they have not settled."""
    most = replications if precision is None else precision.most
    runs: list[Replication] = []
    settling_s: dict[str, float] = {}
    if steady:
        seeds = _seeds(seed, 0, min(replications, PILOT))
        pilot = []
        for run in mapping(partial(_run, simulation), seeds):
            pilot.append(run)
            progress(len(pilot))
        settling_s = settling_times(pilot)
        runs = [
            Replication.of(settled(run, settling_s), own, load_of(run)) for run, own in zip(pilot, seeds, strict=True)
        ]
        del pilot
    for count in (*range(replications, most, replications), most):
        for each in mapping(partial(_replication, simulation, settling_s), _seeds(seed, len(runs), count)):
            runs.append(each)
            progress(len(runs))
        done = Replications(tuple(runs))
        if (precision and precision.verdict(done).reached) or (try_length and done.unsettled):
            break
    return Replications(tuple(runs))


def seed_of(seed: int, index: int) -> int:
    """Return the seed of a replication."""
    return mixed(seed, stream_id("replication"), index)


def _seeds(seed: int, first: int, end: int) -> list[int]:
    return [seed_of(seed, i) for i in range(first, end)]


def _run(simulation: Simulation, seed: int) -> Run:
    run = simulation(seed=seed)
    if isinstance(run, Replication):
        raise TypeError("warm-up is removed from requests, which the simulation does not keep")
    return run


def _replication(simulation: Simulation, settling_s: dict[str, float], seed: int) -> Replication:
    run = simulation(seed=seed)
    if isinstance(run, Replication):
        return run
    return Replication.of(settled(run, settling_s) if settling_s else run, seed, load_of(run))
