"""Runs of one model with seeds of their own, side by side, until there are enough.

A simulation is any function of a seed: ``replicate(partial(simulate, spec, trace), seed=1, replications=20)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from sim.parallel.worker_map import WorkerMap
from sim.replication.summaries import CONFIDENCE, FIGURES, Figure, Replication, Replications
from sim.replication.warm_up import settled, settling_times
from traces.errors import InputError
from traces.random_streams import mixed, stream_id
from traces.run import Run

PILOT = 10
"""The warm-up of all replications is judged by the first so many of them."""


class Simulation(Protocol):
    """A Run as a function of its seed. For other processes it must be picklable, as a ``partial`` of a function is."""

    def __call__(self, *, seed: int) -> Run: ...


@dataclass(frozen=True)
class PrecisionVerdict:
    """Whether replications are precise enough.

    Attributes:
        wanted: the relative half width that is wanted.
        reached: whether all figures have it.
        widest, figure: the widest relative half width, and whose it is; None: there is no figure.
    """

    wanted: float
    reached: bool
    widest: float
    figure: str | None


class Estimated(Protocol):
    """Replications, or what was kept of them."""

    @property
    def figures(self) -> dict[str, dict[str, Figure]]:
        """The figures of each operation."""


@dataclass(frozen=True)
class Precision:
    """When there are enough replications.

    Attributes:
        relative: the widest half width that a confidence interval may have, as a share of its figure: 0.05 is ± 5 %.
        figures: what must be that precise, of every operation; names of `FIGURES`.
        confidence: of the intervals.
        most: replications after which it ends anyway.

    Raises:
        InputError: a value is out of range.
    """

    relative: float
    figures: tuple[str, ...] = ("p99",)
    confidence: float = CONFIDENCE
    most: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.relative < math.inf:
            raise InputError(f"precision is {self.relative!r}; a number above 0 is needed, such as 0.05 for 5 %")
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence is {self.confidence!r}; a number between 0 and 1 is needed, such as 0.95")
        unknown = [name for name in self.figures if name not in FIGURES]
        if unknown or not self.figures:
            raise InputError(f"figures are {list(self.figures)}; allowed are {', '.join(FIGURES)}")

    def verdict(self, replications: Estimated) -> PrecisionVerdict:
        """Whether the widest interval is narrow enough."""
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
    workers: int = 1,
    progress: Callable[[int], None] = lambda done: None,
) -> Replications:
    """Run a simulation again and again, each time with another seed.

    Args:
        simulation: what is replicated.
        seed: replication i has the seed ``seed_of(seed, i)``, whatever else is asked for: so variants of a model that
            are given one seed are paired.
        replications: how many; with a precision, how many at a time. The precision is looked at after each such
            batch only, so that the result does not depend on the number of workers.
        precision: go on until it is reached.
        steady: leave the warm-up out of the figures: of all replications the same time, judged by the first `PILOT`.
        workers: threads or processes, see `WorkerMap`. Each needs the memory of one run; this process keeps the
            latencies of all.
        progress: told how many are done.

    Raises:
        InputError: a count is out of range, a worker was killed, or the simulation raised it.
    """
    if workers < 1:
        raise InputError(f"workers is {workers}; at least 1 is needed")
    with WorkerMap(workers) as mapping:
        return replicate_over(
            mapping,
            simulation,
            seed=seed,
            replications=replications,
            precision=precision,
            steady=steady,
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
    progress: Callable[[int], None] = lambda done: None,
) -> Replications:
    """`replicate`, over workers that are there already: those of a `WorkerMap`.

    Raises:
        InputError: as `replicate` does.
    """
    if replications < 1:
        raise InputError(f"replications is {replications}; at least 1 is needed")
    most = replications if precision is None else precision.most
    if most < replications:
        raise InputError(f"replications is {replications}; with this precision at most {most} are allowed")
    runs: list[Replication] = []
    settling_s: dict[str, float] = {}
    if steady:
        seeds = _seeds(seed, 0, min(replications, PILOT))
        pilot = []
        for run in mapping(partial(_run, simulation), seeds):
            pilot.append(run)
            progress(len(pilot))
        settling_s = settling_times(pilot)
        runs = [Replication.of(settled(run, settling_s), own) for run, own in zip(pilot, seeds, strict=True)]
        del pilot
    for count in (*range(replications, most, replications), most):
        for done in mapping(partial(_replication, simulation, settling_s), _seeds(seed, len(runs), count)):
            runs.append(done)
            progress(len(runs))
        if precision and precision.verdict(Replications(tuple(runs))).reached:
            break
    return Replications(tuple(runs))


def seed_of(seed: int, index: int) -> int:
    """The seed of a replication, from that of them all."""
    return mixed(seed, stream_id("replication"), index)


def _seeds(seed: int, first: int, end: int) -> list[int]:
    return [seed_of(seed, i) for i in range(first, end)]


def _run(simulation: Simulation, seed: int) -> Run:
    return simulation(seed=seed)


def _replication(simulation: Simulation, settling_s: dict[str, float], seed: int) -> Replication:
    run = simulation(seed=seed)
    return Replication.of(settled(run, settling_s) if settling_s else run, seed)
