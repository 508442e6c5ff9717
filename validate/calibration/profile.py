"""The Profile: what a calibration found, as a YAML file that puts its values back into a spec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field, PositiveFloat, model_validator

from models.store import spec_of
from traces.errors import InputError
from traces.spec_file import load_mapping, replaced, validated
from traces.tables import atomic_file
from traces.workload.distributions import Strict


class Estimate(Strict):
    """A fitted parameter, in the spec's unit (seconds for durations).

    Attributes:
        value: the fitted one.
        low, high: its confidence interval.
        identified: the Runs say what it is; else its value is little more than the first guess.
        guess: the first guess, from the staged estimates or else from the spec.
        bounds: between which it was sought.
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
    """A Run that was fitted: its folder's name, when it began, how many requests it had, and its cell.

    The cell says what was asked: Runs of one cell repeat each other.
    """

    name: str
    cell: str
    started_at: str
    requests: int


class Residual(Strict):
    """A figure of a Run's operation, measured and fitted, in seconds or operations a second.

    Attributes:
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
        store: which store's specs it is for.
        spec: the file name of the spec that was fitted.
        confidence: that of the intervals.
        parameters: by their path in the spec, as in `traces.spec_file.override`.
        runs: what was fitted.
        residuals: what is left over, figure by figure.
        noise: figure to the standard deviation of its logarithm from one Run to the next, over all Runs.
        misfit: standard deviation of log-residuals beyond what the noise explains: what the model lacks.
        rms_log_error: root mean square of the log-residuals.
        findings: what the staged estimates saw that is no parameter, in words.
        seed: of the simulations.
        simulations: how many Runs were simulated.
        versions: of the software.
    """

    store: str
    spec: str
    confidence: Annotated[float, Field(gt=0, lt=1)]
    parameters: Annotated[dict[str, Estimate], Field(min_length=1)]
    runs: Annotated[tuple[FittedRun, ...], Field(min_length=1)]
    residuals: tuple[Residual, ...]
    noise: dict[str, float]
    discrepancy: float
    rms_log_error: float
    findings: tuple[str, ...]
    seed: int
    simulations: int
    versions: dict[str, str]

    @staticmethod
    def read(path: Path) -> Profile:
        """Read what `write` wrote.

        Raises:
            InputError: the file is missing or is no profile; line or field are named.
        """
        return validated(Profile, load_mapping(path), str(path))

    def write(self, path: Path) -> None:
        """Write as YAML, whole or not at all.

        Raises:
            InputError: the file cannot be written.
        """
        text = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, width=120)
        with atomic_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @property
    def values(self) -> dict[str, float]:
        """The fitted value of each parameter's path."""
        return {path: estimate.value for path, estimate in self.parameters.items()}

    def applied_to(self, data: dict[str, Any], source: str) -> dict[str, Any]:
        """A copy of a spec's mapping with the fitted values in it; `source` is what a message calls the spec.

        Raises:
            InputError: the spec is of another store, or a parameter's path leads through a value of the spec.
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
    """The mapping with what is short for a section written out on the way: a bare duration, or a device's preset."""
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
            return data  # putting a value there tells that it has no fields
    return data | {name: _opened(inner, section, rest)}
