"""What a change of the model made better or worse, beyond the noise of the predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from validate.reference.forecast import LEAST
from validate.scoreboard.lines import Line
from validate.scoreboard.summary import kind_of

SIGNIFICANT = 4.0
"""A change of more standard errors than this is not noise: of 1,000 unchanged figures less than one exceeds it."""

_ROUNDING = 1e-4
"""Boards are written with six digits."""


@dataclass(frozen=True)
class PredictionChange:
    """A figure that two boards predict differently.

    Attributes:
        before, now: the lines of the earlier board and of this one.
        noise: standard error of the logarithm of the ratio of both predictions.
    """

    before: Line
    now: Line
    noise: float

    @property
    def log_ratio(self) -> float:
        """Logarithm of the present prediction over the earlier one."""
        return math.log(max(self.now.predicted, LEAST) / max(self.before.predicted, LEAST))

    @property
    def is_significant(self) -> bool:
        """Whether the predictions differ by more than noise."""
        return abs(self.log_ratio) > max(SIGNIFICANT * self.noise, _ROUNDING)

    @property
    def is_worse(self) -> bool:
        """Whether the error grew by more than noise."""
        return self.is_significant and self.now.error > self.before.error


@dataclass(frozen=True)
class Changes:
    """Two boards compared.

    Attributes:
        compared: number of figures that both have.
        changed: those whose predictions differ by more than noise, the greatest increase of an error first.
        noisy: number of those that differ within noise.
        missing: lines of the earlier board that are not in this one; of a sample empty.
        new: lines of this board that are not in the earlier one.
    """

    compared: int
    changed: tuple[PredictionChange, ...]
    noisy: int
    missing: tuple[Line, ...]
    new: tuple[Line, ...]

    @property
    def worse(self) -> tuple[PredictionChange, ...]:
        """What became worse."""
        return tuple(change for change in self.changed if change.is_worse)


def changes_of(before: Sequence[Line], now: Sequence[Line], sample: bool = False) -> Changes:
    """Compare a board with an earlier one.

    The noise of a prediction is its standard error over replications or, if that is more, the root mean square of those
    of its case and kind of figure: of three replications, a single one's may be small by chance.

    Args:
        before, now: the lines of the boards.
        sample: whether `now` has only some of the rows.
    """
    earlier = {line.key: line for line in before}
    noise = [_pooled(before), _pooled(now)]
    pairs = [(earlier[line.key], line) for line in now if line.key in earlier]
    changes = [
        PredictionChange(old, new, math.hypot(_noise(old, noise[0]), _noise(new, noise[0] if sample else noise[1])))
        for old, new in pairs
    ]
    changed = [change for change in changes if change.is_significant]
    present = {line.key for line in now}
    return Changes(
        len(pairs),
        tuple(sorted(changed, key=lambda change: change.before.error - change.now.error)),
        sum(abs(change.log_ratio) > _ROUNDING for change in changes) - len(changed),
        () if sample else tuple(line for line in before if line.key not in present),
        tuple(line for line in now if line.key not in earlier),
    )


def _pooled(lines: Sequence[Line]) -> dict[tuple[str, str], float]:
    """Return the root mean square of the noise of each kind of figure in each case."""
    squares: dict[tuple[str, str], list[float]] = {}
    for line in lines:
        if line.noise is not None and math.isfinite(line.noise):
            squares.setdefault((line.case, kind_of(line.figure)), []).append(line.noise**2)
    return {key: math.sqrt(float(np.mean(values))) for key, values in squares.items()}


def _noise(line: Line, pooled: dict[tuple[str, str], float]) -> float:
    return max(line.noise or 0.0, pooled.get((line.case, kind_of(line.figure)), 0.0))
