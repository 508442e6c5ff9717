"""What metrics say of a store in a window: its requests by operation, its processors, drives and links."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.site.hardware.host_metrics import DRIVES, LINKS, Host, hosts
from models.site.metrics import Estimate, Inner, StoreMetrics
from traces.errors import InputError
from traces.metrics.series import Floats, Histogram, Metrics
from traces.operations import OPS

_LEAST_FRACTION = 1e-3  # of all requests: operations with fewer are left out of a workload
_LEAST_ACCESSES = 0.1  # per s: a drive with fewer is none of the store


@dataclass(frozen=True)
class HostChoice:
    """Which of the scraped hosts, drives and links are those of the store's storage hosts, as regular expressions."""

    instances: str = ".*"
    drives: str = DRIVES
    links: str = LINKS


@dataclass(frozen=True)
class OpMeasured:
    """The requests of an operation.

    Attributes:
        rate_ops: requests per s.
        bytes_each: mean payload in bytes; None: not known.
        latency_s: mean time at the server in s; None: not known.
        first_byte: times at the server until the first byte in s; None: not known.
    """

    rate_ops: float
    bytes_each: float | None
    latency_s: Estimate | None
    first_byte: Histogram | None


@dataclass(frozen=True)
class Measured:
    """What the metrics of a window say.

    Attributes:
        start_s, end_s: of the window, in s since 1970.
        ops: by operation, those of tailcast.
        other_ops: requests per s of other operations, by the store's names.
        edges_s: edges of intervals in s after the start, shape (intervals + 1,).
        rate_ops: requests per s in each interval, shape (intervals,).
        failed_ops: failed requests per s.
        cpu_cores: mean number of cores that the store's processes keep busy; None: not known.
        hosts: storage hosts by name.
        inner: operations inside of the store.
        counts: numbers of parts of the cluster by names of facts.
    """

    start_s: float
    end_s: float
    ops: Mapping[str, OpMeasured]
    other_ops: Mapping[str, float]
    edges_s: Floats
    rate_ops: Floats
    failed_ops: float
    cpu_cores: float | None
    hosts: Mapping[str, Host]
    inner: Sequence[Inner]
    counts: Mapping[str, int]

    @property
    def total_ops(self) -> float:
        """Requests per s of all operations that a workload has."""
        return sum(each.rate_ops for each in self.ops.values())


def measured(metrics: Metrics, store: StoreMetrics, choice: HostChoice, intervals: int) -> Measured:
    """Return what the metrics of a window say.

    Args:
        metrics: of the window.
        store: what the store's metrics mean.
        choice: which hosts, drives and links are the store's.
        intervals: number of intervals of the rate over time.

    Raises:
        InputError: there are no counters of requests with two samples, or none grew.
    """
    requests = store.requests(metrics)
    rates = {op: metrics.rates(series, lambda each: "").get("", 0.0) for op, series in requests.items()}
    total = sum(rates.values())
    if not total:
        raise InputError(
            "the metrics have no counter of the store's requests that grew in the window; expected are names such as "
            f"{store.names[0]}, with at least two samples"
        )
    sizes, latencies, first_bytes = store.bytes_each(metrics), store.latency(metrics), store.first_byte(metrics)
    known = [op for op in OPS if rates.get(op, 0.0) > _LEAST_FRACTION * total]
    if not known:
        raise InputError(f"the metrics have no requests of an operation that is modelled; they have {', '.join(rates)}")
    edges_s = np.linspace(metrics.start_s, metrics.end_s, intervals + 1)
    cpu = [rate for each in store.cpu(metrics) if math.isfinite(rate := each.rate)]
    failed = metrics.rates(store.failed(metrics), lambda each: "").get("", 0.0)
    return Measured(
        metrics.start_s,
        metrics.end_s,
        {op: OpMeasured(rates[op], sizes.get(op), latencies.get(op), first_bytes.get(op)) for op in known},
        {op: rate for op, rate in rates.items() if op not in known and rate > 0},
        edges_s - metrics.start_s,
        metrics.rate_over_time([each for op in known for each in requests[op]], edges_s),
        failed,
        sum(cpu) if cpu else None,
        hosts(metrics, choice.instances, choice.drives, choice.links, _LEAST_ACCESSES),
        store.inner(metrics),
        store.counts(metrics),
    )
