"""Reads the metrics of a store and its hosts in a window, from files or a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.site.hardware.host_metrics import NAMES
from models.site.metrics import StoreMetrics
from traces.errors import InputError
from traces.metrics.files import read_metrics
from traces.metrics.series import Metrics
from traces.metrics.server import Server

_DEFAULT_S = 3600.0


@dataclass(frozen=True)
class Window:
    """Start and end in s since 1970 and length in s, as far as they are given; start and length never both."""

    start_s: float | None = None
    end_s: float | None = None
    length_s: float | None = None


def from_files(paths: Sequence[Path], meaning: StoreMetrics, window: Window) -> Metrics:
    """Return the metrics of files; what is not given of the window follows from their samples.

    Raises:
        InputError: a file cannot be read or is of no known kind, or there are no samples in the window.
    """
    names = {*meaning.names, *NAMES}
    series = [each for each in read_metrics(paths) if each.name in names]
    start_s, end_s = window.start_s, window.end_s
    if window.length_s is not None and series:
        end_s = max(float(each.times_s[-1]) for each in series) if end_s is None else end_s
        start_s = end_s - window.length_s
    return Metrics.of(series, start_s, end_s)


def from_server(
    server: Server,
    meaning: StoreMetrics,
    window: Window,
    matchers: str = "",
    progress: Callable[[float], None] = lambda fraction: None,
) -> Metrics:
    """Return the metrics of a server; by default of the last hour.

    Args:
        server: a Prometheus.
        meaning: of the store's metrics.
        window: in time.
        matchers: of labels, such as ``job="minio"``; empty: all series.
        progress: called with the fraction done.

    Raises:
        InputError: the window begins in the future, the server refuses, or there are no samples in the window.
    """
    end_s = time.time() if window.end_s is None else window.end_s
    start_s = end_s - (window.length_s or _DEFAULT_S) if window.start_s is None else window.start_s
    if end_s <= start_s:
        raise InputError("the window ends before it begins: its start is in the future")
    return Metrics.of(server.read([*meaning.names, *NAMES], start_s, end_s, matchers, progress), start_s, end_s)
