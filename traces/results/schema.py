"""The table of results: one row per measured operation, and per phase where a tool has several.

A cell is null where the tool does not report the value; nothing is assumed. Figures that follow from reported ones by
definition (operations per second from a count and a duration) are computed where that is more precise than what is
printed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import pyarrow as pa

from traces.errors import InputError
from traces.results.credentials import without_credentials
from traces.tables import metadata_of, with_metadata

QUANTILES = ("p25", "p50", "p60", "p75", "p80", "p90", "p95", "p99", "p99_9", "p99_99")
"""The quantiles with a column; p99_9 is 99.9 %."""

_STATISTICS = ("mean", "stddev", "min", *QUANTILES, "max")


def percent_of(quantile: str) -> float:
    """Return 99.9 for ``p99_9``."""
    return float(quantile.removeprefix("p").replace("_", "."))


def _latency_columns(prefix: str) -> list[pa.Field]:
    return [pa.field(f"{prefix}_{name}_s", pa.float64()) for name in _STATISTICS]


RESULTS = pa.schema([
    pa.field("tool", pa.string(), nullable=False),
    pa.field("tool_version", pa.string()),
    pa.field("name", pa.string()),  # of the job or benchmark: its label
    pa.field("run", pa.int64(), nullable=False),  # in the file, from 1; operations of a run and phase ran together
    pa.field("phase", pa.string()),  # stage, loop or mode; "preparation" for what is not the benchmark itself
    pa.field("started_at", pa.string()),  # as the tool writes it
    pa.field("op", pa.string(), nullable=False),  # GET, PUT, HEAD, DELETE, LIST; else the tool's own name
    pa.field("clients", pa.int64()),  # concurrent clients (threads, workers, connections), of all hosts
    pa.field("client_hosts", pa.int64()),  # machines or processes that generate the load
    pa.field("queue_depth", pa.int64()),  # outstanding requests of each client, if it may have several
    pa.field("object_size_bytes", pa.int64()),  # mean, if objects differ; of a block benchmark: the block
    pa.field("part_size_bytes", pa.int64()),  # size of the parts in which an object is transferred
    pa.field("object_count", pa.int64()),  # objects that exist or are written
    pa.field("objects_per_request", pa.float64()),  # batch deletes, listings
    pa.field("read_fraction", pa.float64()),  # of the requests of a mixed load
    pa.field("duration_s", pa.float64()),  # from the first start to the last end
    pa.field("requests", pa.int64()),  # with failed ones
    pa.field("errors", pa.int64()),
    pa.field("ops_per_s", pa.float64()),
    pa.field("bytes_per_s", pa.float64()),
    *_latency_columns("latency"),
    pa.field("latency_basis", pa.string()),  # what the latency and its quantiles are of
    *_latency_columns("first_byte"),  # time to the first byte of the response
    pa.field("settings", pa.string(), nullable=False),  # JSON: what else the file has of its configuration
    pa.field("more_figures", pa.string(), nullable=False),  # JSON: figures without a column, with units in their names
])  # fmt: skip
"""The columns of results, with units in their names."""

KIND = "results"
"""The kind that the metadata of a written table states."""


@dataclass(frozen=True)
class Latency:
    """Statistics of a latency in seconds; None or absent if not reported.

    Attributes:
        quantiles_s: by the names in `QUANTILES`.
    """

    mean_s: float | None = None
    stddev_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    quantiles_s: Mapping[str, float | None] = field(default_factory=dict)

    def columns(self, prefix: str) -> dict[str, float | None]:
        """Return the values by the names of their columns."""
        known = {"mean": self.mean_s, "stddev": self.stddev_s, "min": self.min_s, "max": self.max_s}
        return {f"{prefix}_{name}_s": value for name, value in (known | dict(self.quantiles_s)).items()}


@dataclass(frozen=True)
class Result:
    """A row of `RESULTS`; the fields have the names of the columns.

    Attributes:
        latency: of the whole request.
        first_byte: time to the first byte.
        settings: further settings; credentials in them are replaced.
        more_figures: further figures, None if not reported.
    """

    tool: str
    op: str
    tool_version: str | None = None
    name: str | None = None
    run: int = 1
    phase: str | None = None
    started_at: str | None = None
    clients: int | None = None
    client_hosts: int | None = None
    queue_depth: int | None = None
    object_size_bytes: int | None = None
    part_size_bytes: int | None = None
    object_count: int | None = None
    objects_per_request: float | None = None
    read_fraction: float | None = None
    duration_s: float | None = None
    requests: int | None = None
    errors: int | None = None
    ops_per_s: float | None = None
    bytes_per_s: float | None = None
    latency: Latency = Latency()
    latency_basis: str | None = None
    first_byte: Latency = Latency()
    settings: Mapping[str, Any] = field(default_factory=dict)
    more_figures: Mapping[str, Any] = field(default_factory=dict)

    def columns(self) -> dict[str, Any]:
        """Return the values by the names of their columns."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name in RESULTS.names}
        own |= {"settings": _json(self.settings), "more_figures": _json(self.more_figures)}
        return own | self.latency.columns("latency") | self.first_byte.columns("first_byte")


@dataclass(frozen=True)
class Results:
    """What a file holds.

    Attributes:
        rows: the measured operations, in order.
        notes: what the file holds beyond them, and what they do not tell.
    """

    rows: tuple[Result, ...]
    notes: tuple[str, ...] = ()


def table_of(rows: Iterable[Result], notes: Sequence[str] = (), where: str = "results") -> pa.Table:
    """Return a table of `RESULTS` with its notes.

    Args:
        where: the file, for messages.

    Raises:
        InputError: an operation has no name, or a figure that follows from others is out of range.
    """
    columns = [row.columns() for row in rows]
    for i, values in enumerate(columns, 1):
        if not values["op"]:
            raise InputError(f"{where}: operation {i} has no name")
        for name, value in values.items():
            if not _in_range(value):
                raise InputError(f"{where}: operation {i}: {name} is {value:.6g}, which is out of range")
    return with_metadata(pa.Table.from_pylist(columns, RESULTS), {"kind": KIND, "notes": list(notes)})


def notes_of(table: pa.Table) -> tuple[str, ...]:
    """Return the notes of a table: what its files hold beyond it."""
    return tuple(metadata_of(table).get("notes", ()))


def rate(amount: float | None, duration_s: float | None) -> float | None:
    """Return an amount per second; None if either is unknown or the duration is 0."""
    return None if amount is None or not duration_s else amount / duration_s


def mean_size(total_bytes: float | None, requests: float | None) -> int | None:
    """Return the bytes per request; None if unknown, or if the requests carry no payload."""
    return round(total_bytes / requests) if total_bytes and requests else None


def _json(values: Mapping[str, Any]) -> str:
    known = {
        name: value
        for name, value in without_credentials(values).items()
        if value not in (None, "", {}, []) and _in_range(value)
    }
    return json.dumps(known, sort_keys=True, default=str)


def _in_range(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63
