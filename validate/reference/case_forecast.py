"""The forecast of a reference case: its rows with their errors, and its statements."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.basis.uncertainty import Unknown
from sim.experiments.discrepancy import DISCREPANCY, DiscrepancyScale
from sim.json_form import IN_JSON_IF_KNOWN


@dataclass(frozen=True)
class RowForecast:
    """A published row with its prediction.

    Attributes:
        table, op, set, used_in_fit, unseen, remark, measured: of the row (`validate.reference.rows.Row`).
        predicted: each figure, the median over the replications.
        range: their 5 and 95 % quantiles.
        noise: standard error of the logarithm of each; None for one replication.
        ratio: predicted / measured.
        measured_s, simulated_s: lengths of measurement and simulation; None if not published, or not simulated.
        doubling: by what factor a quantile from p90 on grows from the first half of the simulation to all of it.
        band: the ends of the band of each figure over the draws; the upper one of a tail that still grows is that of
            up to twice the length; None: there are none.
        covered: whether the published figure is in its band; None: there are no bands.
    """

    table: str
    op: str
    set: dict[str, str]
    used_in_fit: bool
    unseen: bool
    remark: str
    measured: dict[str, float]
    predicted: dict[str, float]
    range: dict[str, list[float]]
    noise: dict[str, float | None]
    ratio: dict[str, float]
    measured_s: float | None
    simulated_s: float | None
    doubling: dict[str, float]
    band: dict[str, tuple[float, float]] | None = field(default=None, metadata=IN_JSON_IF_KNOWN)
    covered: dict[str, bool] | None = field(default=None, metadata=IN_JSON_IF_KNOWN)


@dataclass(frozen=True)
class RowErrors:
    """Errors of the evaluated figures of rows, exp(|log ratio|) - 1; None without rows."""

    rows: int
    median: float | None
    worst: float | None


@dataclass(frozen=True)
class CaseErrors:
    """Errors of all rows, of those to which values of the spec were fitted, and of the others.

    Attributes:
        figure: the evaluated figure; None: there are several.
    """

    figure: str | None
    all: RowErrors
    used_in_fit: RowErrors
    held_out: RowErrors


@dataclass(frozen=True)
class CheckedStatement:
    """A published statement, whether it holds for the predictions, and the figures that show it."""

    text: str
    part: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class BandCoverage:
    """How many published figures the bands cover.

    Attributes:
        level: fraction of the draws that a band contains.
        draws: their number.
        covered: number of figures inside, of the evaluated ones of the rows that were not fitted.
        figures: number of these.
        unknowns: the values that were drawn.
        discrepancy: of the model, which the bands contain as well.
    """

    level: float
    draws: int
    covered: int
    figures: int
    unknowns: list[Unknown]
    discrepancy: DiscrepancyScale = DISCREPANCY


@dataclass(frozen=True)
class CaseForecast:
    """The forecast of a case, or of a user's table.

    Attributes:
        name, source: of the case.
        spec: name of its file.
        replications: number of simulations per row.
        rows: in the order of the table.
        error: of the rows.
        statements: of the case.
        notes: published throughputs that need more than the NICs of the spec.
        uncertainty: of the bands; None: there are none.
    """

    name: str
    source: str
    spec: str
    replications: int
    rows: list[RowForecast]
    error: CaseErrors
    statements: list[CheckedStatement]
    notes: list[str]
    uncertainty: BandCoverage | None = field(default=None, metadata=IN_JSON_IF_KNOWN)
