"""The targets of a calibration: the log-figures of measured Runs, and their noise from one Run to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from validate.calibration.published import PublishedRow
from validate.compare.figures import Floats, Label, direction, sampling_noise
from validate.compare.measured import Measured
from validate.forecast.configurations import configurations_of


@dataclass(frozen=True)
class Targets:
    """The figures to fit, Run after Run, then published row after row.

    Attributes:
        values: log-figures, shape (figures,).
        labels: operation and name of each figure.
        run, configuration: index of the Run or row, and of the configuration of each figure, shape (figures,). Rows are
            counted after the Runs.
        configurations: the Runs or rows of each configuration; with the same workload, one simulation serves them all.
        covariance: covariance of the log-figures from one Run to the next, shape (figures, figures).
    """

    values: Floats
    labels: tuple[Label, ...]
    run: NDArray[np.int64]
    configuration: NDArray[np.int64]
    configurations: tuple[tuple[int, ...], ...]
    covariance: Floats

    def of(self, configuration: int) -> tuple[Label, ...]:
        """Return the figures that any Run of a configuration has."""
        return tuple(dict.fromkeys(self.labels[i] for i in np.flatnonzero(self.configuration == configuration)))

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Index of each figure in `of` its configuration, shape (figures,)."""
        labels = [self.of(c) for c in range(len(self.configurations))]
        return np.array([labels[c].index(label) for c, label in zip(self.configuration, self.labels, strict=True)])

    @cached_property
    def same_figure(self) -> Floats:
        """1 if two figures are the same one of the same configuration, else 0, shape (figures, figures)."""
        same: Floats = (
            (self.configuration[:, None] == self.configuration) & (self.place[:, None] == self.place)
        ).astype(np.float64)
        return same

    @property
    def noise(self) -> dict[str, float]:
        """Standard deviation of the log-figure from one Run to the next, over operations and Runs, by figure."""
        variance = np.diag(self.covariance)
        names = np.array([name for _, name in self.labels])
        return {name: float(np.sqrt(variance[names == name].mean())) for name in dict.fromkeys(names.tolist())}


def targets_of(measured: Sequence[Measured], seed: int, published: Sequence[PublishedRow] = ()) -> Targets:
    """Return the figures of Runs, with noise from block-bootstrap resamples and from repeated configurations.

    Args:
        seed: seed of the bootstrap.
        published: rows whose figures follow, with assumed noise.
    """
    labels, values = [m.labels for m in measured], [m.figures for m in measured]
    noise = [sampling_noise(m.parts, m.labels, seed) for m in measured]
    configurations = configurations_of([m.requested for m in measured])
    beyond = _drift(configurations, labels, values, [np.diag(block) for block in noise])
    for block, own in zip(noise, labels, strict=True):
        # A machine that is slower during a Run affects all figures of that Run.
        moved = np.array([direction(label) * np.sqrt(beyond.get(label[1], 0.0)) for label in own])
        block += np.outer(moved, moved)
    by_settings: dict[tuple[str, bool], list[int]] = {}
    for i, row in enumerate(published, len(measured)):
        by_settings.setdefault((row.settings, row.steady), []).append(i)
    configurations += by_settings.values()
    labels += [row.labels for row in published]
    values += [row.figures for row in published]
    noise += [row.noise for row in published]
    counts = [len(own) for own in labels]
    configuration_of = {i: c for c, members in enumerate(configurations) for i in members}
    return Targets(
        np.concatenate(values),
        tuple(label for own in labels for label in own),
        np.repeat(np.arange(len(labels)), counts),
        np.repeat([configuration_of[i] for i in range(len(labels))], counts),
        tuple(map(tuple, configurations)),
        scipy.linalg.block_diag(*noise),
    )


def _drift(
    configurations: Sequence[Sequence[int]],
    labels: Sequence[Sequence[Label]],
    values: Sequence[Floats],
    sampled: Sequence[Floats],
) -> dict[str, float]:
    """Return the variance between Runs of a configuration beyond sampling noise, pooled over configurations, by figure.

    This is the moment estimator of a one-way layout with random effects (Searle, Casella and McCulloch, "Variance
    Components", 1992, chapter 3). Empty if no configuration was repeated.
    """
    sums: dict[str, list[float]] = {}
    for configuration in configurations:
        for label in labels[configuration[0]]:
            at = [(i, labels[i].index(label)) for i in configuration if label in labels[i]]
            if len(at) > 1:
                degrees = len(at) - 1
                variance = float(np.var([values[i][j] for i, j in at], ddof=1))
                expected = float(np.mean([sampled[i][j] for i, j in at]))
                so_far = sums.setdefault(label[1], [0.0, 0.0])
                so_far[0] += degrees * (variance - expected)
                so_far[1] += degrees
    return {name: max(0.0, total / degrees) for name, (total, degrees) in sums.items()}
