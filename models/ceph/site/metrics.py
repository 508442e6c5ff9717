"""What Ceph's metrics mean: performance counters of gateways, of the manager's module `prometheus` or ceph-exporter.

Names: ceph/ceph, src/rgw/rgw_perf_counters.cc. Up to Quincy a gateway counts GETs and PUTs; later ones count each
operation, for a while with `global` in the names. The latency of a GET lasts until its data have been read, that of a
PUT until it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from models.site.metrics import Estimate, StoreMetrics, distinct
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

_ALL = "ceph_rgw_req"
_FAILED = "ceph_rgw_failed_req"
_OSDS = "ceph_osd_up"
_LEAST_ERROR = 0.02  # of a mean: a counter is read at other times than that of the requests; assumed


def _first(metrics: Metrics, names: list[str]) -> list[Series]:
    return next((distinct(found) for name in names if (found := metrics.named(name))), [])


def _requests(metrics: Metrics) -> dict[str, list[Series]]:
    return {op: found for op, names in _REQUESTS.items() if (found := _first(metrics, names))}


def _rate(metrics: Metrics, series: list[Series]) -> float:
    return metrics.rates(series, lambda each: "").get("", 0.0)


def _bytes_each(metrics: Metrics) -> dict[str, float]:
    found = {}
    for op, series in _requests(metrics).items():
        moved, requests = _rate(metrics, _first(metrics, _BYTES[op])), _rate(metrics, series)
        if moved and requests:
            found[op] = moved / requests
    return found


def _latency(metrics: Metrics) -> dict[str, Estimate]:
    """Return the mean of each operation: the sum of its latencies over their number."""
    found = {}
    for op, names in _LATENCY.items():
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
    yield from (_ALL, _FAILED, _OSDS)


METRICS = StoreMetrics(
    tuple(_names()),
    _requests,
    _bytes_each,
    _latency,
    failed=lambda metrics: distinct(metrics.named(_FAILED)),
    counts=_counts,
    roles={"cores": ("osd host cpu",), "drives": ("drive",), "links": ("network",)},
)
"""The meaning of Ceph's metrics."""
