"""The figures of published tables by name, computed from a simulated Run or from a spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.store import Spec, names, store_named, store_of
from traces.errors import InputError
from traces.run import Run
from validate.reference.server import ServerTimes

Floats = NDArray[np.float64]

SETTLING_FRACTION = 0.3
"""Fraction of the time until the last request is issued that is left out of the figures of a settled store."""

ALL = "all"
"""In place of an operation: the requests of all operations."""

_LATENCY = re.compile(r"latency_(?:p(\d\d(?:_\d+)?)|(min)|(max)|(mean))_(s|ms|us)")
_PER_S = {"s": 1.0, "ms": 1e3, "us": 1e6}
_SERVER = re.compile(r"server_(first_byte_)?(?:p(\d\d(?:_\d+)?)|(mean))_(s|ms|us)")
_SERVER_CPU = "server_cpu_ms"
_UTILIZATION = re.compile(r"([a-z]+(?:_[a-z]+)*)_utilization_percent")
_CORES = {"rgw_cores": "rgw cpu", "osd_cores": "osd host cpu", "host_cores": "host cpu", "client_cores": "client cpu"}
_BYTES = {"bytes": 1.0, "mb": 1e6, "mib": 2.0**20, "gb": 1e9, "gib": 2.0**30}


@dataclass(frozen=True)
class _Sample:
    """The requests of a Run to which a figure applies, as a mask of its rows, and their total time."""

    run: Run
    mine: NDArray[np.bool_]
    took_s: float

    def utilization(self, role: str) -> float:
        """Return the mean utilisation of the stations of a role, in percent; NaN: the store has none."""
        table = self.run.stations
        assert table is not None
        mine = np.array(table.column("role").to_pylist()) == role
        if not mine.any():
            return float("nan")
        busy = float(table.column("utilization").to_numpy()[mine].mean())
        return 100 * busy * self.run.duration_s / len(self.run) * self.ops

    @property
    def bytes_per_s(self) -> float:
        return float(self.run.column("transfer_bytes")[self.mine].sum()) / self.took_s

    @property
    def ops(self) -> float:
        return float(self.mine.sum()) / self.took_s

    @property
    def latency_s(self) -> Floats:
        ordered: Floats = np.sort(self.run.latency_s[self.mine & ~self.run.failed])
        return ordered

    @property
    def first_byte_s(self) -> Floats:
        mine = self.mine & ~self.run.failed
        waited: Floats = (self.run.column("first_byte_s") - self.run.column("arrival_s"))[mine]
        return waited

    def outliers(self) -> tuple[float, float]:
        """Return the percentages of requests that are slow by Tukey's fences: mildly, and severely.

        The fences are 1.5 and 3 interquartile ranges above the third quartile.
        """
        latency = self.latency_s
        low, high = np.quantile(latency, (0.25, 0.75))
        mild, severe = (100 * float((latency > high + k * (high - low)).mean()) for k in (1.5, 3.0))
        return mild - severe, severe

    def quantile_s(self, percent: Fraction) -> float:
        ordered = self.latency_s
        return float(ordered[min(int(percent * len(ordered) / 100), len(ordered) - 1)])

    def throughput(self, unit_bytes: float) -> float:
        return self.bytes_per_s / unit_bytes

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
    **{f"throughput_{name}_per_s": partial(_Sample.throughput, unit_bytes=unit) for name, unit in _BYTES.items()},
    "index_visits": lambda sample: sample.visits("index shard"),
    "first_byte_mean_ms": lambda sample: 1e3 * float(sample.first_byte_s.mean()),
    "mild_outliers_percent": lambda sample: sample.outliers()[0],
    "severe_outliers_percent": lambda sample: sample.outliers()[1],
    **{name: partial(_Sample.cores, role=role) for name, role in _CORES.items()},
}


def is_figure(name: str) -> bool:
    """Whether this is the name of a figure, of a Run or of any store's spec."""
    of_specs = (known for store in names() for known in store_named(store).figures)
    of_run = name in _OF_RUN or _LATENCY.fullmatch(name) is not None or _UTILIZATION.fullmatch(name) is not None
    return of_run or of_server(name) or name in of_specs


def of_server(name: str) -> bool:
    """Whether a figure is one of the server alone, which needs `validate.reference.server.ServerTimes`."""
    return name == _SERVER_CPU or _SERVER.fullmatch(name) is not None


def units_per_request(name: str, mean_bytes: float) -> float:
    """Return a throughput in its unit, such as ``throughput_gb_per_s``, for one request per second of `mean_bytes`."""
    unit = _BYTES.get(name.removeprefix("throughput_").removesuffix("_per_s"))
    return 1.0 if unit is None else mean_bytes / unit


def is_tail(name: str) -> bool:
    """Whether a figure is a latency quantile from p90 on, which depends on the length of a Run more than others."""
    latency = _LATENCY.fullmatch(name)
    return latency is not None and latency[1] is not None and int(latency[1][:2]) >= 90


def quantile_of(name: str) -> float | None:
    """Return the quantile of a latency, of clients or of the server, 0 of the minimum; None: it is none."""
    if is_mean(name):
        return None
    if latency := _LATENCY.fullmatch(name):
        percent, _, largest, _, _ = latency.groups()
        return 1.0 if largest else _quantile(percent)
    server = _SERVER.fullmatch(name)
    return None if server is None else _quantile(server[2])


def is_mean(name: str) -> bool:
    """Whether a figure is a mean latency, of clients or of the server."""
    latency, server = _LATENCY.fullmatch(name), _SERVER.fullmatch(name)
    return bool((latency and latency[4]) or (server and server[3]))


def latency_per_s(name: str) -> float:
    """Return the number of units of a latency in a second; 0: the figure is no latency of clients."""
    latency = _LATENCY.fullmatch(name)
    return _PER_S[latency[5]] if latency else 0.0


def of_rate(name: str) -> bool:
    """Whether a figure is a rate of requests, or in proportion to it."""
    return name.startswith("throughput_") or name in _CORES


def first_half(run: Run, op: str) -> Run:
    """Return the requests of an operation that were issued in the first half of the time in which it was requested."""
    arrival_s, mine = run.column("arrival_s"), _of(run, op)
    middle_s = (float(arrival_s[mine].min()) + float(arrival_s[mine].max())) / 2
    kept = run.requests.filter(pa.array(mine & (arrival_s <= middle_s)))
    return replace(run, requests=kept, stations=None, critical_path=None)


def _quantile(percent: str | None) -> float:
    return 0.0 if percent is None else float(percent.replace("_", ".")) / 100


def of_stations(name: str) -> bool:
    """Whether a figure needs the stations of a Run."""
    return name in _CORES or name == "index_visits" or _UTILIZATION.fullmatch(name) is not None


def figure_names() -> tuple[str, ...]:
    """Return the names of the figures of a Run, with some of the latencies, which may be of any quantile."""
    return (*_OF_RUN, *(f"latency_{name}_ms" for name in ("mean", "min", "p50", "p90", "p95", "p99", "p99_9", "max")))


def figure(run: Run, op: str, name: str, steady: bool = False, server: ServerTimes | None = None) -> float:
    """Return a figure of an operation in a Run, by its name in a `Row`.

    ``duration_s``: from the first start to the last end; ``throughput_ops``; ``throughput_bytes_per_s``, also with
    ``mb``, ``mib``, ``gb`` or ``gib``; ``latency_mean_ms``, ``latency_min_ms``, ``latency_p25_ms``,
    ``latency_p99_9_ms`` and so on, ``latency_max_ms``, also with ``_s`` or ``_us``; ``first_byte_mean_ms``;
    ``mild_outliers_percent``, ``severe_outliers_percent``: Tukey's classes of slow requests; ``rgw_cores``,
    ``osd_cores``, ``host_cores`` and ``client_cores``: busy cores of all stations of a role; ``index_visits``: visits
    per request to bucket index shards. The last five are for Runs of one operation. Of the server alone, as its own
    metrics tell: ``server_mean_ms`` and ``server_p99_ms`` of the time until its handler has finished,
    ``server_first_byte_p99_ms`` until the first byte of the response, ``server_cpu_ms`` of its processes per request of
    any operation. ``drive_utilization_percent``, and so on for any role of stations: their mean utilisation.

    The quantile p of n latencies is defined as in s3bench: the one of rank floor(p n), counted from 0, so that p99 of
    256 is the third largest.

    Args:
        op: the operation, also of a group such as ``backup.PUT``; `ALL`: those of all operations.
        steady: use only requests that end after the store has settled and before clients run out of requests.
        server: times at the server; None: the figure needs none.

    Raises:
        InputError: the Run has no request of the operation, or is too short to settle.
    """
    sample = _steady(run, op) if steady else _whole(run, op)
    if of_server(name):
        assert server is not None
        return _figure_of_server(sample, server, name)
    if role := _UTILIZATION.fullmatch(name):
        return sample.utilization(role[1].replace("_", " "))
    latency = _LATENCY.fullmatch(name)
    if latency is None:
        return _OF_RUN[name](sample)
    percent, least, greatest, _, unit = latency.groups()
    if percent or least or greatest:
        rank = Fraction(percent.replace("_", ".")) if percent else Fraction(0 if least else 100)
        return sample.quantile_s(rank) * _PER_S[unit]
    return float(sample.latency_s.mean()) * _PER_S[unit]


def _figure_of_server(sample: _Sample, server: ServerTimes, name: str) -> float:
    match = _SERVER.fullmatch(name)
    if match is None:
        return 1e3 * server.cpu_s
    first_byte, percent, _, unit = match.groups()
    of_all = server.first_byte_s if first_byte else server.took_s
    times_s = np.sort(of_all[sample.mine & np.isfinite(of_all)])
    if not len(times_s):
        return float("nan")
    if not percent:
        return float(times_s.mean()) * _PER_S[unit]
    place = int(Fraction(percent.replace("_", ".")) * len(times_s) / 100)
    return float(times_s[min(place, len(times_s) - 1)]) * _PER_S[unit]


def _of(run: Run, op: str) -> NDArray[np.bool_]:
    mine: NDArray[np.bool_] = np.ones(len(run), bool) if op == ALL else run.has(op)
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
