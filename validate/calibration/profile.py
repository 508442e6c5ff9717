"""The Profile: the result of a calibration, as a YAML file whose values can be applied to a spec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field, PositiveFloat, model_validator

from models.spec.origins import Written
from models.store import spec_of
from traces.errors import InputError
from traces.provenance import CodeVersion
from traces.spec.spec_file import load_mapping, replaced, validated
from traces.tables import atomic_file
from traces.workload.distributions import Strict


class Estimate(Strict):
    """A fitted parameter, in the spec's unit (seconds for durations).

    Attributes:
        value: the fitted value.
        low, high: its confidence interval.
        identified: whether the Runs determine the value; otherwise, it is little more than the first guess.
        guess: the first guess, from the staged estimates or else from the spec.
        bounds: lower and upper bound of the search.
    """

    value: PositiveFloat
    low: PositiveFloat
    high: PositiveFloat
    identified: bool
    guess: PositiveFloat
    bounds: tuple[PositiveFloat, PositiveFloat]

    @model_validator(mode="after")
    def _inside(self) -> Estimate:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"value is {self.value:g}; it must be between low {self.low:g} and high {self.high:g}")
        return self


class FittedRun(Strict):
    """A fitted Run: name of its folder, label of its configuration, start time and number of requests."""

    name: str
    configuration: str
    started_at: str
    requests: int


class FittedRow(Strict):
    """A fitted row of a published table: file and line, and its settings."""

    name: str
    settings: str


class Residual(Strict):
    """A figure of an operation in a Run or a published row, measured and fitted.

    Figures of Runs are in seconds or operations per second, those of rows in the unit of their name.

    Attributes:
        run: name of the Run or row.
        log_ratio: ln(fitted / measured).
        noise: standard deviation of ln(measured) from one Run to the next.
    """

    run: str
    op: str
    figure: str
    measured: float
    fitted: float
    log_ratio: float
    noise: float


class Profile(Strict):
    """The result of a calibration.

    Attributes:
        store: the store of the spec.
        spec: the file name of the fitted spec.
        confidence: confidence level of the intervals.
        parameters: the estimates by path in the spec, as in `traces.spec.spec_file.override`.
        runs, rows: the fitted Runs, and rows of published tables.
        residuals: the residuals by figure.
        noise: standard deviation of the log-figure from one Run to the next over all Runs, by figure.
        discrepancy: standard deviation of log-residuals that the noise does not explain: the model discrepancy.
        rms_log_error: root mean square of the log-residuals.
        notes: quality issues of Runs and other observations, as sentences.
        together: parameters that the Runs do not determine, in groups of which they determine a combination only.
        seed: seed of the simulations.
        simulations: number of simulations.
        versions: versions of the software.
        tailcast: the version that fitted them; None: unknown.
        spec_hash: of the fitted spec (`traces.provenance.hash_of_spec`); None: unknown.
    """

    store: str
    spec: str
    confidence: Annotated[float, Field(gt=0, lt=1)]
    parameters: Annotated[dict[str, Estimate], Field(min_length=1)]
    runs: tuple[FittedRun, ...]
    rows: tuple[FittedRow, ...] = ()
    residuals: tuple[Residual, ...]
    noise: dict[str, float]
    discrepancy: float
    rms_log_error: float
    notes: tuple[str, ...]
    together: tuple[tuple[str, ...], ...] = ()
    seed: int
    simulations: int
    versions: dict[str, str]
    tailcast: CodeVersion | None = None
    spec_hash: str | None = None

    @staticmethod
    def read(path: Path) -> Profile:
        """Read a file written by `write`.

        Raises:
            InputError: the file is missing or invalid; the message names line or field.
        """
        return validated(Profile, load_mapping(path), str(path))

    def write(self, path: Path) -> None:
        """Write the profile as YAML, atomically.

        Raises:
            InputError: the file cannot be written.
        """
        text = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, width=120)
        with atomic_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @property
    def values(self) -> dict[str, float]:
        """The fitted values by path."""
        return {path: estimate.value for path, estimate in self.parameters.items()}

    def written(self, name: str) -> tuple[Written, ...]:
        """Return the fitted values as values written over those of a spec; `name` names the profile."""
        return tuple(
            Written(path, estimate.value, "profile", name, estimate.low, estimate.high)
            for path, estimate in self.parameters.items()
        )

    def applied_to(self, data: dict[str, Any], source: str) -> dict[str, Any]:
        """Return a copy of a spec's mapping with the fitted values; `source` names the spec in messages.

        Raises:
            InputError: the spec is of another store, or the path of a parameter leads through a plain value.
        """
        if data.get("store") != self.store:
            raise InputError(f"{source}: store is {data.get('store')!r}; the profile is for {self.store!r}")
        for path in self.parameters:
            sections = path.split(".")[:-1]
            if not _leads_through_mappings(data, sections):
                data = _opened(data, spec_of(data, source), sections)
        return replaced(data, self.values)


def _leads_through_mappings(data: Any, sections: Sequence[str]) -> bool:
    for name in sections:
        if not isinstance(data, dict) or not isinstance(data.get(name), dict):
            return False
        data = data[name]
    return True


def _opened(data: dict[str, Any], spec: Any, sections: Sequence[str]) -> dict[str, Any]:
    """Return the mapping with short forms of sections on the path (bare duration, device preset) written in full."""
    if not sections:
        return data
    name, *rest = sections
    section = spec.get(name) if isinstance(spec, dict) else getattr(spec, name, None)
    inner = data.get(name)
    if not isinstance(inner, dict):
        if isinstance(section, BaseModel):
            inner = section.model_dump(mode="json", exclude_unset=True)
        elif inner is None:
            inner = {}
        else:
            return data  # setting a value there raises the error that it has no fields
    return data | {name: _opened(inner, section, rest)}
