"""What a calibration fits: the log-figures of measured Runs, and their noise from one Run to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from validate.compare.figures import Floats, Label, direction, sampling_noise
from validate.compare.measured import Measured
from validate.forecast.configurations import cells_of


@dataclass(frozen=True)
class Targets:
    """What is fitted, of all Runs one after the other.

    Attributes:
        values: log-figures, shape (figures,).
        labels: what each is.
        run, cell: the Run of each and its cell, shape (figures,).
        cells: the Runs of each cell: they were asked the same, so one simulation stands for them all.
        covariance: of the log-figures from one Run to the next, shape (figures, figures).
    """

    values: Floats
    labels: tuple[Label, ...]
    run: NDArray[np.int64]
    cell: NDArray[np.int64]
    cells: tuple[tuple[int, ...], ...]
    covariance: Floats

    def of(self, cell: int) -> tuple[Label, ...]:
        """The figures that any Run of a cell has."""
        return tuple(dict.fromkeys(self.labels[i] for i in np.flatnonzero(self.cell == cell)))

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Where each figure is in `of` its cell, shape (figures,)."""
        labels = [self.of(c) for c in range(len(self.cells))]
        return np.array([labels[c].index(label) for c, label in zip(self.cell, self.labels, strict=True)])

    @cached_property
    def alike(self) -> Floats:
        """1 where two figures are the same one of the same cell, else 0, shape (figures, figures)."""
        same: Floats = ((self.cell[:, None] == self.cell) & (self.place[:, None] == self.place)).astype(np.float64)
        return same

    @property
    def noise(self) -> dict[str, float]:
        """Figure to the standard deviation of its logarithm from one Run to the next, over operations and Runs."""
        variance = np.diag(self.covariance)
        names = np.array([name for _, name in self.labels])
        return {name: float(np.sqrt(variance[names == name].mean())) for name in dict.fromkeys(names.tolist())}


def targets_of(measured: Sequence[Measured], seed: int) -> Targets:
    """The figures of Runs; their noise from block-bootstrap resamples, and from what repeated cells differ beyond it.

    `seed`: of the bootstrap.
    """
    labels, values = [m.labels for m in measured], [m.figures for m in measured]
    sampled = [sampling_noise(m.parts, m.labels, seed) for m in measured]
    cells = cells_of([m.requested for m in measured])
    beyond = _drift(cells, labels, values, [np.diag(block) for block in sampled])
    for block, own in zip(sampled, labels, strict=True):
        # A machine that is slower in one Run is so for all of its figures.
        moved = np.array([direction(label) * np.sqrt(beyond.get(label[1], 0.0)) for label in own])
        block += np.outer(moved, moved)
    counts = [len(own) for own in labels]
    cell_of = {i: c for c, members in enumerate(cells) for i in members}
    return Targets(
        np.concatenate(values),
        tuple(label for own in labels for label in own),
        np.repeat(np.arange(len(measured)), counts),
        np.repeat([cell_of[i] for i in range(len(measured))], counts),
        tuple(map(tuple, cells)),
        scipy.linalg.block_diag(*sampled),
    )


def _drift(
    cells: Sequence[Sequence[int]],
    labels: Sequence[Sequence[Label]],
    values: Sequence[Floats],
    sampled: Sequence[Floats],
) -> dict[str, float]:
    """Figure to the variance between Runs of the same cell beyond their sampling noise, pooled over cells.

    The moment estimator of a one-way layout with random effects (Searle, Casella and McCulloch, "Variance Components",
    1992, chapter 3). Empty where no cell was measured twice.
    """
    sums: dict[str, list[float]] = {}
    for cell in cells:
        for label in labels[cell[0]]:
            at = [(i, labels[i].index(label)) for i in cell if label in labels[i]]
            if len(at) > 1:
                degrees = len(at) - 1
                variance = float(np.var([values[i][j] for i, j in at], ddof=1))
                expected = float(np.mean([sampled[i][j] for i, j in at]))
                so_far = sums.setdefault(label[1], [0.0, 0.0])
                so_far[0] += degrees * (variance - expected)
                so_far[1] += degrees
    return {name: max(0.0, total / degrees) for name, (total, degrees) in sums.items()}
