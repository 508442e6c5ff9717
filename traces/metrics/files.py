"""Reads metrics from files: saved responses of Prometheus's HTTP API, and snapshots in its text format.

Responses are those of `query_range` and `query` (https://prometheus.io/docs/prometheus/latest/querying/api/): a matrix
or a vector. A snapshot whose samples have no times is of the time at which its file was last changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from traces.errors import InputError
from traces.metrics.exposition import is_exposition, samples
from traces.metrics.series import Series
from traces.spec.text_file import text_of

_MOST_BYTES = 1 << 30

_Key = tuple[str, tuple[tuple[str, str], ...]]


def read_metrics(paths: Sequence[Path]) -> list[Series]:
    """Return the series of files; those of several files with the same name and labels are joined.

    Raises:
        InputError: a file cannot be read, is of no such kind, or is broken.
    """
    return joined(series for path in paths for series in _read(path))


def joined(series: Iterable[Series]) -> list[Series]:
    """Return series with their samples in order of time, one for each name and set of labels, without NaN."""
    parts: dict[_Key, list[Series]] = {}
    for each in series:
        parts.setdefault((each.name, tuple(sorted(each.labels.items()))), []).append(each)
    found = []
    for same in parts.values():
        times_s = np.concatenate([each.times_s for each in same])
        values = np.concatenate([each.values for each in same])
        times_s, first = np.unique(times_s, return_index=True)
        values = values[first]
        known = np.isfinite(values)
        if known.any():
            found.append(Series(same[0].name, same[0].labels, times_s[known], values[known]))
    return found


def _read(path: Path) -> list[Series]:
    text = text_of(path, _MOST_BYTES)
    try:
        if text.lstrip()[:1] in ("{", "["):
            return list(series_of(json.loads(text)))
        if is_exposition(text):
            changed_s = path.stat().st_mtime
            return [
                Series(name, labels, np.array([changed_s if time_s is None else time_s]), np.array([value]))
                for name, labels, time_s, value in samples(text)
            ]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: is no response of Prometheus and no snapshot of metrics: {error}") from error
    raise InputError(
        f"{path}: its kind is not recognised; read are responses of Prometheus in JSON (query, query_range) and "
        "metrics in its text format"
    )


def series_of(response: Any) -> Iterator[Series]:
    """Yield the series of a response of the API, or of a list of responses.

    Raises:
        ValueError: it reports an error, or is neither a matrix nor a vector. TypeError, LookupError: it is broken.
    """
    if isinstance(response, list):
        for each in response:
            yield from series_of(each)
        return
    if response.get("status", "success") != "success":
        raise ValueError(f"Prometheus reports {response.get('errorType')}: {response.get('error')}")
    data = response.get("data", response)
    if data.get("resultType") not in ("matrix", "vector"):
        raise ValueError("it is neither a matrix nor a vector")
    for each in data["result"]:
        pairs = each["values"] if "values" in each else [each["value"]]
        yield _series(each["metric"], pairs)


def _series(metric: Mapping[Any, Any], pairs: Sequence[Sequence[Any]]) -> Series:
    labels = {str(label): str(value) for label, value in metric.items() if label != "__name__"}
    if "__name__" not in metric:
        raise ValueError(f"a series has no name: {labels}; ask for metrics, not for functions of them")
    times_s = np.array([float(time_s) for time_s, _ in pairs])
    return Series(str(metric["__name__"]), labels, times_s, np.array([float(value) for _, value in pairs]))


def saved(series: Iterable[Series]) -> str:
    """Return series as JSON that `read_metrics` reads, in the form of a response of the API."""
    result = [
        {
            "metric": {"__name__": each.name} | dict(each.labels),
            "values": [[round(t, 3), f"{v:.15g}"] for t, v in zip(each.times_s.tolist(), each.values, strict=True)],
        }
        for each in series
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}, separators=(",", ":"))
