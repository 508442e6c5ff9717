"""The figures of published tables by name, computed from a simulated Run or from a spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.store import Spec, store_of
from traces.errors import InputError
from traces.run import Run
from traces.tables import OPS

Floats = NDArray[np.float64]

SETTLING_FRACTION = 0.3
"""Fraction of the time until the last request is issued that is left out of the figures of a settled store."""

_QUANTILE = re.compile(r"latency_(?:p(\d\d)|(min)|(max))_ms")
_CORES = {"rgw_cores": "rgw cpu", "osd_cores": "osd host cpu"}


@dataclass(frozen=True)
class _Sample:
    """The requests of a Run to which a figure applies, as a mask of its rows, and their total time."""

    run: Run
    mine: NDArray[np.bool_]
    took_s: float

    @property
    def bytes_per_s(self) -> float:
        return float(self.run.column("transfer_bytes")[self.mine].sum()) / self.took_s

    @property
    def ops(self) -> float:
        return float(self.mine.sum()) / self.took_s

    @property
    def latency_ms(self) -> Floats:
        ordered: Floats = np.sort(self.run.latency_s[self.mine & ~self.run.failed]) * 1000
        return ordered

    def quantile_ms(self, percent: int) -> float:
        ordered = self.latency_ms
        return float(ordered[min(percent * len(ordered) // 100, len(ordered) - 1)])

    def cores(self, role: str) -> float:
        """Return CPU time per request on stations of a role, times requests per second."""
        table = self.run.stations
        assert table is not None
        mine = np.array(table.column("role").to_pylist()) == role
        busy = (table.column("utilization").to_numpy() * table.column("servers").to_numpy())[mine].sum()
        return float(busy) * self.run.duration_s / len(self.run) * self.ops

    def visits(self, role: str) -> float:
        """Return visits per request to stations of a role."""
        table = self.run.stations
        assert table is not None
        mine = np.array(table.column("role").to_pylist()) == role
        return float(table.column("visits").to_numpy()[mine].sum()) / len(self.run)


_OF_RUN: Mapping[str, Callable[[_Sample], float]] = {
    "duration_s": lambda sample: sample.took_s,
    "throughput_ops": lambda sample: sample.ops,
    "throughput_mib_per_s": lambda sample: sample.bytes_per_s / 2**20,
    "throughput_gb_per_s": lambda sample: sample.bytes_per_s / 1e9,
    "index_visits": lambda sample: sample.visits("index shard"),
    "latency_mean_ms": lambda sample: float(sample.latency_ms.mean()),
    **{name: partial(_Sample.cores, role=role) for name, role in _CORES.items()},
}


def figure(run: Run, op: str, name: str, steady: bool = False) -> float:
    """Return a figure of an operation in a Run, by its name in a `Row`.

    ``duration_s``: from the first start to the last end; ``throughput_ops``, ``throughput_mib_per_s``,
    ``throughput_gb_per_s`` (1e9 bytes); ``latency_mean_ms``, ``latency_min_ms``, ``latency_p25_ms`` and so on,
    ``latency_max_ms``; ``rgw_cores`` and ``osd_cores``: busy cores of all gateways and of all OSDs; ``index_visits``:
    visits per request to bucket index shards. The last three are for Runs of one operation.

    The quantile p of n latencies is defined as in s3bench: the one of rank floor(p n), counted from 0, so that p99 of
    256 is the third largest.

    Args:
        steady: use only requests that end after the store has settled and before clients run out of requests.

    Raises:
        InputError: the Run has no request of the operation, or is too short to settle.
    """
    sample = _steady(run, op) if steady else _whole(run, op)
    quantile = _QUANTILE.fullmatch(name)
    if quantile:
        return sample.quantile_ms(0 if quantile[2] else 100 if quantile[3] else int(quantile[1]))
    return _OF_RUN[name](sample)


def _of(run: Run, op: str) -> NDArray[np.bool_]:
    mine: NDArray[np.bool_] = run.op == OPS.index(op)
    if not mine.any():
        raise InputError(f"the workload has no {op}; with keys: write_once_read_once it has PUT and GET")
    return mine


def _whole(run: Run, op: str) -> _Sample:
    mine = _of(run, op)
    return _Sample(run, mine, float(run.column("end_s")[mine].max() - run.column("arrival_s")[mine].min()))


def _steady(run: Run, op: str) -> _Sample:
    mine, end_s = _of(run, op), run.column("end_s")
    requested_s = run.column("arrival_s")[mine]
    begun_s, last_s = float(requested_s.min()), float(requested_s.max())
    first_s = begun_s + SETTLING_FRACTION * (last_s - begun_s)
    settled = mine & ~run.failed & (end_s > first_s) & (end_s <= last_s)
    if not settled.any():
        raise InputError(f"{mine.sum()} {op}: too few for the store to settle; more workload.operations are needed")
    return _Sample(run, settled, last_s - first_s)


def figures_of_spec(spec: Spec, names: tuple[str, ...]) -> dict[str, float]:
    """Return the figures that follow from the spec without simulation, as far as the store defines them."""
    known = store_of(spec).figures
    return {name: known[name](spec) for name in names if name in known}
