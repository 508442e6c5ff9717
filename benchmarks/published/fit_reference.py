"""Fits the specs of the reference cases to the published rows marked for it, and prints the errors of all rows.

    python benchmarks/published/fit_reference.py [CASE ...] [--size F]

Least squares over the logarithms of the rows' durations, an operation after the other, robust against single rows
that are off (a soft L1 loss: the tables' own repetitions differ by 5 to 10 %, some rows by more). Every simulation
takes the same random numbers, and a search starts in the middle of its bounds. The specs hold the values found,
rounded; what is not named here is explained there. The tail case needs no fit: its law is the published quantiles.
Takes some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy import optimize

from models.spec.spec_values import value_at
from models.store import spec_of
from sim.simulate import simulate
from traces.spec.spec_file import load_mapping, override
from validate.calibration.parameters import Parameter
from validate.reference.cases import DATA, UserTable, case_named
from validate.reference.figures import figure
from validate.reference.forecast import forecast
from validate.reference.rows import DURATION, Row

Floats = NDArray[np.float64]

SEEDS = (1, 2, 3)
USUAL_ERROR = 0.05  # beyond it the loss grows no faster than linearly
EVALUATIONS = 30  # of a stage at most
STEP = 0.1  # of slopes, in the logarithm of a parameter


class Stage(NamedTuple):
    """What is fitted to one operation's rows, given what the stages before it found.

    `same` are paths that take the value of another one.
    """

    op: str
    parameters: Sequence[Parameter]
    same: Mapping[str, str]


STAGES = {
    "minio-s3bench": (
        Stage(
            "GET",
            (
                Parameter("network.latency", 1e-5, 5e-4),
                Parameter("hosts.inline_cpu.GET.constant", 5e-5, 2e-3),
                # At the inline limit an object inside xl.meta is no slower to read than one with a file of its own.
                Parameter("hosts.inline_cpu.GET.per_byte", 1e-9, 5.3e-9),
                Parameter("hosts.cpu.GET.constant", 5e-5, 2e-3),
                Parameter("hosts.cpu.GET.per_byte", 1e-9, 2e-8),
            ),
            {},
        ),
        Stage(
            "PUT",
            (
                Parameter("hosts.cpu.PUT.constant", 5e-5, 2e-3),
                Parameter("hosts.inline_cpu.PUT.per_byte", 1e-9, 2e-8),
                Parameter("hosts.cpu.PUT.per_byte", 1e-9, 2e-8),
                Parameter("hosts.cpu.PUT.later_byte_factor", 0.05, 1.0),
                Parameter("drives.commit.constant", 2e-4, 5e-3),
                Parameter("drives.commit_member", 1e-5, 1e-3),
            ),
            {"hosts.inline_cpu.PUT.constant": "hosts.cpu.PUT.constant"},
        ),
    ),
    "minio-hdd-s3bench": (
        Stage(
            "GET",
            (
                Parameter("hosts.cpu.GET.constant", 1e-4, 1e-2),
                Parameter("hosts.cpu.GET.per_byte", 1e-11, 1e-8),
                Parameter("hosts.cpu_caches.cold_penalty", 1e-3, 0.1),
            ),
            {},
        ),
        Stage(
            "PUT",
            (
                Parameter("hosts.cpu.PUT.constant", 1e-4, 1e-2),
                Parameter("drives.commit.constant", 1e-3, 1e-1),
                Parameter("drives.commit_member", 1e-5, 1e-2),
            ),
            {},
        ),
    ),
}
"""The stages of each case, in order."""


def values_at(stage: Stage, point: Floats) -> dict[str, float]:
    """The value of each path of a stage at log-parameters."""
    values = {p.path: float(np.exp(x)) for p, x in zip(stage.parameters, point, strict=True)}
    return values | {path: values[other] for path, other in stage.same.items()}


def assigned(values: Mapping[str, float]) -> list[str]:
    """Values as ``--set`` takes them."""
    return [f"{path}={value!r}" for path, value in values.items()]


def log_errors(data: dict[str, Any], rows: Sequence[Row], source: str) -> Floats:
    """The logarithm of simulated / published duration of each row, the mean over the seeds."""
    errors = []
    for row in rows:
        spec = spec_of(override(data, row.assignments), source)
        mean_s = np.mean([figure(simulate(spec, seed=seed), row.op, DURATION) for seed in SEEDS])
        errors.append(np.log(mean_s / row.measured[DURATION]))
    return np.array(errors)


def fitted(data: dict[str, Any], stage: Stage, case: UserTable, evaluations: int) -> dict[str, float]:
    """The values of a stage's paths with which the fitted rows come out best, of a limited number of points."""
    rows = [row for row in case.rows if row.used_in_fit and row.op == stage.op]
    source = str(case.spec)

    def errors(point: Floats) -> Floats:
        return log_errors(override(data, assigned(values_at(stage, point))), rows, source)

    def slopes(point: Floats) -> Floats:
        steps = STEP * np.eye(len(point))
        return np.stack([(errors(point + s) - errors(point - s)) / (2 * STEP) for s in steps], axis=1)

    low, high = np.log([[p.low, p.high] for p in stage.parameters]).T
    found = optimize.least_squares(
        errors, (low + high) / 2, jac=slopes, bounds=(low, high), loss="soft_l1", f_scale=USUAL_ERROR, xtol=1e-3,
        ftol=1e-4, max_nfev=evaluations,
    )  # fmt: skip
    return values_at(stage, found.x)


def thinned(name: str, size: float) -> UserTable:
    """A case with a fraction of the rows of each operation that are fitted, and of those that are not."""
    case, kept = case_named(name), set[int]()
    for kind in {(row.op, row.used_in_fit) for row in case.rows}:
        rows = [n for n, row in enumerate(case.rows) if (row.op, row.used_in_fit) == kind]
        kept |= {rows[n] for n in np.linspace(0, len(rows) - 1, max(1, int(len(rows) * size))).astype(int)}
    return UserTable(case.spec, case.data, DATA / f"{name}.csv", tuple(case.rows[n] for n in sorted(kept)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(STAGES)} (default: all)", metavar="CASE")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of rows and evaluations (default: %(default)s)",
    )
    out = Console(highlight=False)
    given = parser.parse_args()
    if unknown := set(given.cases) - STAGES.keys():
        parser.error(f"no fit of {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    for case in (thinned(name, given.size) for name in given.cases or STAGES):
        data, values = load_mapping(case.spec), dict[str, float]()
        for stage in STAGES[case.name]:
            out.print(f"{case.name}: fitting {stage.op}")
            values |= fitted(override(data, assigned(values)), stage, case, max(1, int(EVALUATIONS * given.size)))
        spec = spec_of(data, str(case.spec))
        for path, value in values.items():
            out.print(f"  {path}: {value:.4g}  (spec: {value_at(spec, path):.4g})")
        for name, given in (("fitted", assigned(values)), ("spec", [])):
            error = forecast(case, assignments=given).error
            for part, of in (("used_in_fit", error.used_in_fit), ("held_out", error.held_out)):
                worst = f"{of.median:.1%} (median), {of.worst:.1%} (worst)"
                out.print(f"  {name} values, {of.rows} rows {part}: off by {worst}")


if __name__ == "__main__":
    main()
