"""What Ceph's metrics mean: performance counters of gateways and OSDs, of the manager's `prometheus` or ceph-exporter.

Names: ceph/ceph, src/rgw/rgw_perf_counters.cc. Up to Quincy a gateway counts GETs and PUTs; later ones count each
operation, for a while with `global` in the names. The latency of a GET lasts until its data have been read, that of a
PUT until it is complete. OSDs count the operations that primaries get from clients and gateways
(src/osd/osd_perf_counters.cc); without gateways they are the requests: a read a GET, a write a PUT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from models.site.metrics import Estimate, Inner, StoreMetrics, distinct
from traces.metrics.series import Metrics, Series

_NEW = {"get_obj": "GET", "put_obj": "PUT", "del_obj": "DELETE", "list_obj": "LIST", "copy_obj": "COPY"}
_PREFIXES = ("ceph_rgw_op_", "ceph_rgw_op_global_", "ceph_rgw_")

_REQUESTS: dict[str, list[str]] = {op: [f"{prefix}{name}_ops" for prefix in _PREFIXES] for name, op in _NEW.items()}
_BYTES: dict[str, list[str]] = {op: [f"{prefix}{name}_bytes" for prefix in _PREFIXES] for name, op in _NEW.items()}
_LATENCY: dict[str, list[str]] = {op: [f"{prefix}{name}_lat" for prefix in _PREFIXES] for name, op in _NEW.items()}
for _op, _old in (("GET", "ceph_rgw_get"), ("PUT", "ceph_rgw_put")):
    _REQUESTS[_op].append(_old)
    _BYTES[_op].append(f"{_old}_b")
    _LATENCY[_op].append(f"{_old}_initial_lat")

_OSD = {
    "read": ("GET", "ceph_osd_op_r", "_out_bytes"),
    "write": ("PUT", "ceph_osd_op_w", "_in_bytes"),
    "read and write": ("", "ceph_osd_op_rw", "_in_bytes"),
}
"""Operations of OSDs: of a client without gateways (empty: none), name of their counter, and what its bytes add."""

_ALL = "ceph_rgw_req"
_FAILED = "ceph_rgw_failed_req"
_OSDS = "ceph_osd_up"
_LEAST_ERROR = 0.02  # of a mean: a counter is read at other times than that of the requests; assumed


def _first(metrics: Metrics, names: list[str]) -> list[Series]:
    return next((distinct(found) for name in names if (found := metrics.named(name))), [])


def _requests(metrics: Metrics) -> dict[str, list[Series]]:
    found = {op: found for op, names in _REQUESTS.items() if (found := _first(metrics, names))}
    return found or {op: each for op, name, _ in _OSD.values() if op and (each := distinct(metrics.named(name)))}


def _inner(metrics: Metrics) -> list[Inner]:
    """Return the operations of OSDs, with their mean bytes and times."""
    found = []
    for kind, (_, name, moved) in _OSD.items():
        names = name, f"{name}{moved}", f"{name}_latency_sum", f"{name}_latency_count"
        rate, bytes_per_s, spent, counted = (_rate(metrics, distinct(metrics.named(each))) for each in names)
        if rate:
            size, time_s = (bytes_per_s / rate if bytes_per_s else None), (spent / counted if counted else None)
            found.append(Inner(f"OSD {kind}", rate, size, time_s))
    return found


def _rate(metrics: Metrics, series: list[Series]) -> float:
    return metrics.rates(series, lambda each: "").get("", 0.0)


def _by_osds(metrics: Metrics) -> bool:
    """Whether the requests are those of OSDs, as there are no gateways."""
    return not any(metrics.named(name) for names in _REQUESTS.values() for name in names)


def _bytes_names(op: str, series: list[Series]) -> list[str]:
    """Return the counters of an operation's bytes, given those of its requests."""
    of_osds = [f"{name}{moved}" for _, name, moved in _OSD.values() if series[0].name == name]
    return of_osds or _BYTES[op]


def _bytes_each(metrics: Metrics) -> dict[str, float]:
    found = {}
    for op, series in _requests(metrics).items():
        moved, requests = _rate(metrics, _first(metrics, _bytes_names(op, series))), _rate(metrics, series)
        if moved and requests:
            found[op] = moved / requests
    return found


def _latency(metrics: Metrics) -> dict[str, Estimate]:
    """Return the mean of each operation: the sum of its latencies over their number."""
    found = {}
    by_osd = {op: [f"{name}_latency"] for op, name, _ in _OSD.values() if op} if _by_osds(metrics) else {}
    for op, names in {**_LATENCY, **by_osd}.items():
        spent = _rate(metrics, _first(metrics, [f"{name}_sum" for name in names]))
        counted = _rate(metrics, _first(metrics, [f"{name}_count" for name in names]))
        if spent and counted:
            found[op] = Estimate(spent / counted, _LEAST_ERROR * spent / counted)
    return found


def _counts(metrics: Metrics) -> Mapping[str, int]:
    osds = distinct(metrics.named(_OSDS))
    return {"all-drives": sum(each.values[-1] > 0 for each in osds)} if osds else {}


def _names() -> Iterator[str]:
    for names in (*_REQUESTS.values(), *_BYTES.values()):
        yield from names
    for names in _LATENCY.values():
        yield from (f"{name}_{part}" for name in names for part in ("sum", "count"))
    for _, name, moved in _OSD.values():
        yield from (name, f"{name}{moved}", f"{name}_latency_sum", f"{name}_latency_count")
    yield from (_ALL, _FAILED, _OSDS)


METRICS = StoreMetrics(
    tuple(_names()),
    _requests,
    _bytes_each,
    _latency,
    failed=lambda metrics: distinct(metrics.named(_FAILED)),
    counts=_counts,
    inner=_inner,
    roles={"cores": ("osd host cpu",), "drives": ("drive",), "links": ("network",)},
)
"""The meaning of Ceph's metrics."""
