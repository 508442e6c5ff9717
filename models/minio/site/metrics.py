"""What MinIO's metrics mean, of version 2 (`/minio/v2/metrics/cluster`) and of version 3 (`/minio/metrics/v3`).

Names: minio/minio, docs/metrics/prometheus/list.md and docs/metrics/v3.md. Requests are counted when their handler has
finished, those in flight while it runs (cmd/http-tracer and cmd/handler-api of the server).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from models.site.metrics import Estimate, StoreMetrics, by_operation, distinct
from traces.metrics.series import Histogram, Metrics, Series

# Version 3 first: servers keep what version 2 shows for some seconds.
_REQUESTS = {"minio_api_requests_total": "name", "minio_s3_requests_total": "api"}
_IN_FLIGHT = {"minio_api_requests_inflight_total": "name", "minio_s3_requests_inflight_total": "api"}
_FIRST_BYTE = {
    "minio_api_requests_ttfb_seconds_distribution": "name",
    "minio_s3_requests_ttfb_seconds_distribution": "api",
    "minio_s3_ttfb_seconds_distribution": "api",
}
_FAILED = ("minio_api_requests_errors_total", "minio_s3_requests_errors_total")
_SENT = ("minio_api_requests_traffic_sent_bytes", "minio_s3_traffic_sent_bytes")
_RECEIVED = ("minio_api_requests_traffic_received_bytes", "minio_s3_traffic_received_bytes")
_CPU = ("minio_system_process_cpu_total_seconds", "minio_node_process_cpu_total_seconds")
_HOSTS = ("minio_cluster_health_nodes_online_count", "minio_cluster_nodes_online_total")
_DRIVES = ("minio_cluster_health_drives_online_count", "minio_cluster_drive_online_total")

_OPERATIONS: dict[str, str | None] = {
    "getobject": "GET", "putobject": "PUT", "headobject": "HEAD", "deleteobject": "DELETE",
    "listobjectsv1": "LIST", "listobjectsv2": "LIST", "listobjectsv2m": "LIST", "copyobject": "COPY",
}  # fmt: skip


def _of(metrics: Metrics, names: Mapping[str, str]) -> dict[str, list[Series]]:
    """Return series of S3 by operation: of the first name that there is, as both versions count the same requests."""
    for name, label in names.items():
        found = [each for each in metrics.named(name) if each.labels.get("type", "s3") == "s3"]
        if found:
            return by_operation(distinct(found), label, _OPERATIONS)
    return {}


def _first(metrics: Metrics, names: Sequence[str]) -> list[Series]:
    return next((distinct(found) for name in names if (found := metrics.named(name))), [])


def _rates(metrics: Metrics) -> dict[str, float]:
    return {
        op: sum(rate for each in series if math.isfinite(rate := each.rate))
        for op, series in _of(metrics, _REQUESTS).items()
    }


def _bytes_each(metrics: Metrics) -> dict[str, float]:
    """Return mean payloads: MinIO counts all bytes sent and received, of which GETs and PUTs have nearly all.

    The headers of all requests and responses count, too, but not those of the transport.
    """
    rates = _rates(metrics)
    found = {}
    for op, names in (("GET", _SENT), ("PUT", _RECEIVED)):
        moved = [rate for each in _first(metrics, names) if math.isfinite(rate := each.rate)]
        if moved and rates.get(op):
            found[op] = sum(moved) / rates[op]
    return found


def _latency(metrics: Metrics) -> dict[str, Estimate]:
    """Return mean times by Little's law: the mean number of requests in flight over their rate.

    Each scrape is a sample of the number, so the mean of many is uncertain by their deviation over the root of their
    count. Version 3 leaves operations out of which none is in flight, so a scrape without them counts as 0.
    """
    requests, rates = _of(metrics, _REQUESTS), _rates(metrics)
    found = {}
    for op, series in _of(metrics, _IN_FLIGHT).items():
        counted = [each.times_s for each in requests.get(op, ())]
        times_s = np.unique(np.concatenate([*counted, *(each.times_s for each in series)]))
        total = np.zeros(len(times_s))
        for each in series:
            total[np.searchsorted(times_s, each.times_s)] += each.values
        mean = float(total.mean())
        if len(times_s) > 1 and mean > 0 and rates.get(op):
            sd = float(total.std(ddof=1)) / math.sqrt(len(times_s))
            found[op] = Estimate(mean / rates[op], sd / rates[op])
    return found


def _first_byte(metrics: Metrics) -> dict[str, Histogram]:
    found = {op: Histogram.of(series) for op, series in _of(metrics, _FIRST_BYTE).items()}
    return {op: histogram for op, histogram in found.items() if histogram is not None}


def _counts(metrics: Metrics) -> dict[str, int]:
    found = {name: _first(metrics, names) for name, names in (("hosts", _HOSTS), ("all-drives", _DRIVES))}
    return {name: round(float(max(each.values[-1] for each in series))) for name, series in found.items() if series}


METRICS = StoreMetrics(
    (*_REQUESTS, *_IN_FLIGHT, *_FIRST_BYTE, *_FAILED, *_SENT, *_RECEIVED, *_CPU, *_HOSTS, *_DRIVES),
    lambda metrics: _of(metrics, _REQUESTS),
    _bytes_each,
    _latency,
    _first_byte,
    lambda metrics: _first(metrics, _CPU),
    lambda metrics: [each for each in _first(metrics, _FAILED) if each.labels.get("type", "s3") == "s3"],
    _counts,
    {"cores": ("host cpu",), "drives": ("drive", "journal"), "links": ("host network",)},
)
"""The meaning of MinIO's metrics."""
