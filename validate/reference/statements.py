"""Shapes that a published series describes in words, as checks on simulations of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

STEADY = 0.15
"""By what share figures differ and are still called steady (assumed: the documents differ by 10 to 20 %)."""

Values = Mapping[str, float]
"""What each variant of a statement gave, by the variant's label."""


@dataclass(frozen=True)
class Wanted:
    """Figures of one operation in one variant of a case's spec.

    Attributes:
        assignments: the variant, as `traces.spec_file.override` takes it.
        op: the operation.
        figures: names of `validate.reference.figures`; a statement takes one.
        spec_name: another spec among the examples; None: the case's.
    """

    assignments: tuple[str, ...]
    op: str
    figures: tuple[str, ...]
    spec_name: str | None = None


@dataclass(frozen=True)
class Statement:
    """A shape that the model must show.

    Attributes:
        text: what is said, in our words.
        part: of the series that says it.
        variants: what is simulated for it, by label.
        judge: whether it holds, and the numbers that say so.
    """

    text: str
    part: str
    variants: Mapping[str, Wanted]
    judge: Callable[[Values], tuple[bool, str]]


def is_steady(values: Sequence[float]) -> bool:
    """Whether figures differ by no more than `STEADY`."""
    return max(values) / min(values) <= 1 + STEADY


def rises(values: Sequence[float]) -> bool:
    """Whether each is more than the one before."""
    return all(low < high for low, high in pairwise(values))


def listed(values: Sequence[float], digits: int = 0) -> str:
    """Figures for a sentence."""
    return ", ".join(f"{value:.{digits}f}" for value in values)
