"""Forecasts of the settings of a spec, each simulated once: what the page shows, without the page."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from cli.explore.knobs import Knob, knobs_of
from cli.figures.route_boxes import forks_of
from cli.tables.grid import Grid
from cli.words import LABELS, seconds
from models.network.descendants import by_route
from models.store import Spec, compile_spec, spec_of
from sim.experiments.measures import Measures, difference
from sim.experiments.sweep import PointTask, Settings, sweep
from sim.forecast import Forecast
from sim.replication.objectives import outcomes
from sim.replication.slo import Slo
from sim.replication.summaries import Interval, Replication, Replications
from sim.run_tables import visited_stations
from sim.saturation.capacity import capacity_of
from sim.simulate import simulate
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.verdict import LoadVerdict, verdict_on_run
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import override

PAIRED = 5
"""Replications of each of two settings that are compared."""
_KEPT = 64  # settings whose forecasts are kept
_QUANTILES = ("mean", "p50", "p99")

Setting = tuple[str, ...]
"""The assignments by which a setting differs from the spec."""


@dataclass(frozen=True)
class Shown:
    """A forecast of a setting.

    Attributes:
        forecast: of one run, with a verdict that does not know the capacity, which takes longer (`Explorer.verdict`).
        roles: station roles in the order in which requests visit them.
        took_s: wall-clock time.
        requests: number of simulated requests.
        is_cut: whether the run has fewer requests than the workload.
    """

    forecast: Forecast
    roles: Sequence[str]
    took_s: float
    requests: int
    is_cut: bool


class Explorer:
    """A spec with its main values, and forecasts of their settings.

    Args:
        data: mapping of the spec, with the values of `--profile` and `--set`.
        file: name of its file.
        assignments: what was set in the command line, for the command of a setting.
        slos: objectives, and `objectives` as they were written.
        most_requests: greatest number of requests of a run.

    Raises:
        InputError: the spec is not valid.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        file: str,
        options: Sequence[str] = (),
        slos: Sequence[Slo] = (),
        seed: int = 0,
        most_requests: int = 10_000,
    ) -> None:
        self.data, self.file, self.options = dict(data), file, list(options)
        self.slos, self.seed, self.most_requests = slos, seed, most_requests
        self.knobs: list[Knob] = knobs_of(data, file)
        self.shown = lru_cache(_KEPT)(self._shown)
        self.verdict = lru_cache(_KEPT)(self._verdict)
        self._measured = lru_cache(_KEPT)(self._measures)

    def setting(self, indices: Sequence[int]) -> Setting:
        """Return the setting of a value of each knob."""
        chosen = (knob.assignment(index) for knob, index in zip(self.knobs, indices, strict=True))
        return tuple(assignment for assignment in chosen if assignment is not None)

    def _spec(self, setting: Setting) -> tuple[Spec, bool]:
        """Return the spec of a setting, with at most `most_requests`, and whether it was cut to them."""
        spec = spec_of(override(self.data, setting), self.file)
        requests = self._expected(spec)
        if requests is None or requests <= self.most_requests or spec.workload.groups:
            return spec, False
        workload = spec.workload.model_copy(update={"operations": self.most_requests})
        return spec.model_copy(update={"workload": workload}), True

    @staticmethod
    def _expected(spec: Spec) -> float | None:
        """Return the number of requests of a workload; None: it depends on the responses."""
        workload = spec.workload
        by_rate = workload.rate * workload.duration if workload.rate and workload.duration else None
        known = [each for each in (workload.operations, by_rate) if each]
        return min(known) if known else float("inf")

    def _shown(self, setting: Setting) -> Shown:
        began_s = time.perf_counter()
        spec, is_cut = self._spec(setting)
        run = simulate(spec, seed=self.seed, critical_path=True)
        done = Replications((Replication.of(run, self.seed, load_of(run)),))
        met = outcomes(self.slos, Measures.of(done)) if self.slos else []
        found = Forecast(spec, done, verdict_on_run(run, None), met, spec.workload.ends, run)
        is_cut = is_cut and len(run) >= self.most_requests
        return Shown(found, _roles(spec, run), time.perf_counter() - began_s, len(run), is_cut)

    def _verdict(self, setting: Setting) -> LoadVerdict | None:
        """Return the verdict on a load, with what saturates first; None: nothing was requested."""
        found = self.shown(setting).forecast
        run = found.run
        assert run is not None and run.trace is not None
        capacity = capacity_of(found.spec, run.trace, True, last_end_s([load_of(run)]))
        return verdict_on_run(run, capacity)

    def _measures(self, setting: Setting) -> Measures:
        spec, _ = self._spec(setting)
        (point,) = sweep([PointTask(spec, Settings(self.seed, PAIRED))])
        if isinstance(point, InputError):
            raise point
        return point

    def paired(self, before: Setting, after: Setting) -> Grid:
        """Return a table of two settings and their paired differences, from `PAIRED` replications of each.

        Raises:
            InputError: a setting cannot be simulated.
        """
        base, other = self._measured(before), self._measured(after)
        rows = []
        for op, differences in difference(base, other).ops.items():
            for name in _QUANTILES:
                pair = [seconds(each.figure(op, name).value) for each in (base, other)]
                rows.append([op, LABELS[name], *pair, *_change(differences.latency_s[name], seconds)])
            pair = [_rate(each.figure(op, "throughput_ops").value) for each in (base, other)]
            rows.append([op, "op/s", *pair, *_change(differences.throughput_ops, _rate)])
        columns = ["op", "figure", "kept", "present", "difference", "95% interval", ""]
        return Grid(f"Paired difference, {PAIRED} replications with common random numbers", columns, rows, labels=2)

    def command(self, setting: Setting) -> str:
        """Return the command that prints the forecast of a setting."""
        more = list(setting)
        if self._spec(setting)[1]:
            more.append(f"workload.operations={self.most_requests}")
        words = ["tailcast", "simulate", self.file, *self.options]
        words += [word for assignment in more for word in ("--set", assignment)]
        return shlex.join([*words, "--seed", str(self.seed)] if self.seed else words)

    def text(self, setting: Setting) -> str:
        """Return the spec of a setting as YAML."""
        note = f"# {self.file}" + (f" with {', '.join(setting)}" if setting else "")
        return f"{note}\n{yaml.safe_dump(override(self.data, setting), sort_keys=False, allow_unicode=True)}"


def _roles(spec: Spec, run: Run) -> list[str]:
    """Return the roles of visited stations in the order in which requests come to them, the others after these."""
    assert run.trace is not None
    visited = [row["role"] for row in visited_stations(run)]
    network, requests = compile_spec(spec, run.trace)
    load: dict[str, float] = {}
    roles: list[str] = []
    for route in dict.fromkeys(requests.route.tolist()):
        sizes = requests.size_bytes[requests.route == route][:1]
        for each, of_each, _ in by_route(network, route, sizes):
            for fork in forks_of(network, each, of_each, load):
                boxes = (box for branches in fork.branches for box in branches.boxes)
                roles += [network.stations[box.stations[0]].role for box in boxes if box.stations]
    return [role for role in dict.fromkeys([*roles, *visited]) if role in set(visited)]


def _rate(value: float) -> str:
    return f"{value:,.4g}/s"


def _change(of: Interval, text: Any) -> list[str]:
    known = of.low == of.low and abs(of.low) != float("inf")
    between = f"{_signed(of.low, text)} to {_signed(of.high, text)}" if known else "not known"
    return [_signed(of.value, text), between, "differs" if known and (of.low > 0 or of.high < 0) else ""]


def _signed(value: float, text: Any) -> str:
    return f"{'-' if value < 0 else '+'}{text(abs(value))}" if value else text(0.0)
