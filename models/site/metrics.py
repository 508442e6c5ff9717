"""What the metrics of a store mean: which counters are those of its requests, their bytes, times and processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from traces.metrics.series import Histogram, Metrics, Series

_SCRAPE_LABELS = ("instance", "job")


@dataclass(frozen=True)
class Estimate:
    """A measured value with its standard deviation, in the same unit."""

    value: float
    sd: float


@dataclass(frozen=True)
class Inner:
    """Operations inside of a store, such as those of its storage daemons.

    Attributes:
        name: of the operation, such as ``OSD read``.
        rate_ops: of them per s, on all daemons together.
        bytes_each: mean payload in bytes; None: not known.
        latency_s: mean time in s; None: not known.
    """

    name: str
    rate_ops: float
    bytes_each: float | None
    latency_s: float | None


def _no_estimates(metrics: Metrics) -> Mapping[str, Estimate]:
    return {}


def _no_histograms(metrics: Metrics) -> Mapping[str, Histogram]:
    return {}


@dataclass(frozen=True)
class StoreMetrics:
    """What a store's metrics mean; each function takes the metrics of a window.

    Attributes:
        names: of the metrics that the functions use.
        requests: returns the counters of successful requests by operation; those of operations that tailcast does not
            know under their own names.
        bytes_each: returns the mean payload of a request in bytes, by operation, as far as it is known.
        latency: returns the mean time in s of a request at the server, by operation, as far as it is known.
        first_byte: returns the times at the server until the first byte of a response, by operation.
        cpu: returns the counters of CPU time in s of the store's processes.
        failed: returns the counters of failed requests, of all operations.
        counts: returns numbers of parts of the cluster by the names of facts, such as ``hosts``.
        roles: roles of stations in the store's model that stand for cores, drives and links of the storage hosts.
        inner: returns operations inside of the store.
    """

    names: tuple[str, ...]
    requests: Callable[[Metrics], Mapping[str, Sequence[Series]]]
    bytes_each: Callable[[Metrics], Mapping[str, float]]
    latency: Callable[[Metrics], Mapping[str, Estimate]] = _no_estimates
    first_byte: Callable[[Metrics], Mapping[str, Histogram]] = _no_histograms
    cpu: Callable[[Metrics], Sequence[Series]] = lambda metrics: ()
    failed: Callable[[Metrics], Sequence[Series]] = lambda metrics: ()
    counts: Callable[[Metrics], Mapping[str, int]] = lambda metrics: {}
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inner: Callable[[Metrics], Sequence[Inner]] = lambda metrics: ()


def distinct(series: Iterable[Series]) -> list[Series]:
    """Return series without those that differ only in who was scraped: one of each, that with the most samples.

    A member of a cluster that answers for all of them is often scraped next to the others.
    """
    best: dict[tuple[str, tuple[tuple[str, str], ...]], Series] = {}
    for each in series:
        labels = sorted((name, value) for name, value in each.labels.items() if name not in _SCRAPE_LABELS)
        known = best.get(key := (each.name, tuple(labels)))
        if known is None or len(each.values) > len(known.values):
            best[key] = each
    return list(best.values())


def by_operation(series: Iterable[Series], label: str, operations: Mapping[str, str | None]) -> dict[str, list[Series]]:
    """Return series by the operations that a label names, in any case; others by the value of the label.

    Args:
        operations: operations by values of the label in lower case; None: the requests are part of others.
    """
    found: dict[str, list[Series]] = {}
    for each in series:
        value = each.labels.get(label, "")
        op = operations.get(value.lower(), value)
        if op:
            found.setdefault(op, []).append(each)
    return found
