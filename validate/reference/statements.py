"""Statements of a published series in words, as checks on simulations of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

STEADY = 0.15
"""Largest fraction by which steady figures differ (assumed: those in the documents differ by 10 to 20 %)."""

Values = Mapping[str, float]
"""The result of each variant of a statement, by label."""


@dataclass(frozen=True)
class Variant:
    """Figures of one operation in one variant of a case's spec.

    Attributes:
        assignments: the changes of the spec, as in `traces.spec.spec_file.override`.
        op: the operation.
        figures: names of `validate.reference.figures`; a statement has one.
        spec_name: another spec among the examples; None: that of the case.
    """

    assignments: tuple[str, ...]
    op: str
    figures: tuple[str, ...]
    spec_name: str | None = None


@dataclass(frozen=True)
class Statement:
    """A published statement that the model must reproduce.

    Attributes:
        text: the statement, paraphrased.
        part: the part of the series in which it is made.
        variants: the simulations to run, by label.
        check: returns whether the statement holds, and the evidence as a sentence.
    """

    text: str
    part: str
    variants: Mapping[str, Variant]
    check: Callable[[Values], tuple[bool, str]]


def is_steady(values: Sequence[float]) -> bool:
    """Whether figures differ by at most `STEADY`."""
    return max(values) / min(values) <= 1 + STEADY


def rises(values: Sequence[float]) -> bool:
    """Whether each figure is greater than the one before."""
    return all(low < high for low, high in pairwise(values))


def listed(values: Sequence[float], digits: int = 0) -> str:
    """Format figures for a sentence."""
    return ", ".join(f"{value:.{digits}f}" for value in values)
