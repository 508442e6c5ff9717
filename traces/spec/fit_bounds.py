"""How a calibration may choose the value of a field: `Fit` stands on the field itself.

wake: Annotated[Seconds, Fit(1e-7, 0.01, unit="s")] = Field(0.0, description="...")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from traces.spec.spec_file import models_at

Estimated = Literal["mean", "spread", "tail fraction", "tail factor"]
"""What of measured latencies gives a value's first guess.

``mean``: CPU and mean latency, which are linear in it. ``spread``: the middle half of the latencies. ``tail fraction``
and ``tail factor``: how many requests a slow mode takes, and by how much it is slower.
"""


@dataclass(frozen=True)
class Fit:
    """Marks a field that a calibration may fit, on a logarithmic scale.

    Attributes:
        low, high: the widest bounds that a store was seen with, in the spec's unit; both above 0.
        unit: what the value is measured in, as ``s`` or ``s/B``; empty: a plain number.
        estimated: what gives its first guess; None: the spec's own value does.
    """

    low: float
    high: float
    unit: str = ""
    estimated: Estimated | None = None

    @property
    def tail(self) -> bool:
        """Whether it says what the slowest requests take."""
        return self.estimated in ("tail fraction", "tail factor")


def fit_of(model: type[BaseModel], name: str) -> Fit | None:
    """How a field is fitted; None where it is not, or there is none of that name."""
    field = model.model_fields.get(name)
    return None if field is None else next((m for m in field.metadata if isinstance(m, Fit)), None)


def declared_fit(model: type[BaseModel], path: Sequence[str]) -> Fit | None:
    """How the field at a path below a model is fitted; of a union, the first member that says it."""
    found = (fit_of(m, path[-1]) for m in models_at(model, path[:-1]))
    return next((fit for fit in found if fit is not None), None)
