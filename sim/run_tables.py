"""Convert an engine's outcome to the tables of a Run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.network.demand_sheet import Requests, sources
from models.network.network import Network
from models.network.station import NOWHERE
from sim.engine.column import Column
from sim.engine.outcome import Failure, Kept, Outcome, RequestOutcomes
from traces.run import CRITICAL_PATH_SCHEMA, EARLIER_ATTEMPTS, STATION_SCHEMA, Run, StationRow
from traces.tables import label
from traces.trace import Trace, optional_columns

_RESPONSES: dict[Failure, tuple[int, str | None]] = {
    Failure.NONE: (200, None),
    Failure.QUEUE_FULL: (503, "the queue was full"),
    Failure.GATE_SHUT: (504, "the gate stayed shut"),
    Failure.STATION_DOWN: (0, "the station was down"),
    Failure.NO_MEMBER: (503, "no member of the group was present"),
    Failure.TIMEOUT: (0, "timed out"),
    Failure.CONFLICT: (503, "its transaction conflicted with others each time"),
}
"""HTTP status (0: no response) and error message by outcome."""


def request_table(trace: Trace, requests: Requests, outcome: Outcome) -> pa.Table:
    """Return a row of `RUN_SCHEMA` for each request that ended."""
    ended = _rows_of(outcome.ended)
    rows = TraceRows(requests)(outcome.client)[ended]
    start_s, first_byte_s = outcome.start_s[ended], outcome.first_byte_s[ended]
    named = ["op", "bucket", "key", "size_bytes", *optional_columns(trace.table)]
    requested = trace.table.select(named).take(pa.array(rows))
    is_open = outcome.client[ended] < 0
    return pa.table({
        "arrival_s": np.where(is_open, trace.arrival_s[rows], start_s) if is_open.any() else start_s,
        "start_s": start_s,
        "first_byte_s": pa.array(first_byte_s, mask=np.isnan(first_byte_s)),
        "end_s": outcome.end_s[ended],
        **{name: requested.column(name) for name in requested.column_names},
        "transfer_bytes": trace.transfer_bytes[rows],
        "client": _clients(trace, outcome, ended, rows),
        "status": np.array([_RESPONSES[failure][0] for failure in Failure], np.int16)[outcome.failure[ended]],
        "attempts": outcome.attempts[ended],
        "winner": outcome.winner[ended],
        "error": pa.array([_RESPONSES[failure][1] for failure in Failure]).take(pa.array(outcome.failure[ended])),
    })  # fmt: skip


class TraceRows:
    """The row of a Trace of each request begun, chunk after chunk of the requests."""

    def __init__(self, requests: Requests):
        self._requests = requests
        self._sources = sources(requests) if requests.pacing.loop == "mixed" else ()
        self._begun = [0] * max(1, len(self._sources))  # of each source

    def __call__(self, client: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the rows of the next requests, given their clients, below 0 in an open loop; shape (requests,)."""
        if not self._sources:
            row = self._next(0, len(client))
            return row % len(self._requests) if len(self._requests) else row
        row, end = np.empty(len(client), np.int64), 0
        for i, source in enumerate(self._sources):
            if source.pacing.loop == "open":
                mine = client < 0
            else:
                mine, end = (client >= end) & (client < end + source.pacing.clients), end + source.pacing.clients
            row[mine] = source.rows[self._next(i, int(mine.sum())) % max(len(source.rows), 1)]
        return row

    def _next(self, source: int, count: int) -> NDArray[np.int64]:
        first = self._begun[source]
        self._begun[source] += count
        return np.arange(first, first + count)


def _clients(trace: Trace, outcome: Outcome, ended: _Rows, rows: NDArray[np.int64]) -> pa.Array:
    if trace.pacing.loop != "open":
        return pa.array(outcome.client[ended])
    return trace.table.column("client").fill_null(0).combine_chunks().take(pa.array(rows))


def station_table(network: Network, outcome: Outcome) -> pa.Table:
    """Return a row of `STATION_SCHEMA` for each station."""
    clock_s = outcome.clock_s or 1.0
    servers = [None if s.discipline.infinite else s.servers for s in network.stations]
    columns = [
        [s.name for s in network.stations],
        [s.role for s in network.stations],
        servers,
        outcome.visits,
        outcome.busy_s / clock_s / np.array([s or 1 for s in servers]),
        outcome.waiting_s / clock_s,
    ]
    return pa.table(columns, schema=STATION_SCHEMA)


def visited_stations(run: Run) -> list[StationRow]:
    """Return the rows of the stations that requests visited, without what stands for a part that a visit lacks."""
    return [row for row in run.station_rows if row["visits"] and row["role"] != NOWHERE.role]


class CriticalPaths:
    """Takes the critical paths of requests as these end, and keeps rows of roles that took time: most took none.

    Attributes:
        kept: the other results of the requests.
    """

    def __init__(self, network: Network):
        self.kept = Kept()
        self._roles = network.roles
        self._columns = [Column(np.empty(0, kind)) for kind in (np.int64, np.int32, np.float64, np.float64)]
        self._ended = 0

    def __call__(self, chunk: RequestOutcomes) -> None:
        """Take the results of the next requests."""
        path_s = chunk.path_s[_rows_of(chunk.ended)]
        waiting_s = np.column_stack([path_s[:, 0], path_s[:, 1::2]])
        service_s = np.column_stack([np.zeros(len(path_s)), path_s[:, 2::2]])
        row, role = np.nonzero((waiting_s > 0) | (service_s > 0))
        found: list[NDArray[Any]] = [
            row + self._ended, role.astype(np.int32), waiting_s[row, role], service_s[row, role]
        ]  # fmt: skip
        for column, values in zip(self._columns, found, strict=True):
            column.append(values)
        self._ended += len(path_s)
        self.kept(replace(chunk, path_s=chunk.path_s[:0]))

    def table(self) -> pa.Table:
        """Return a row of `CRITICAL_PATH_SCHEMA` for each successful request and each role where it spent time."""
        request, role, waiting_s, service_s = (column.array() for column in self._columns)
        names = label(role, [EARLIER_ATTEMPTS, *self._roles])
        return pa.table([request, names, waiting_s, service_s], schema=CRITICAL_PATH_SCHEMA)


_Rows = slice | NDArray[np.int64]


def _rows_of(chosen: NDArray[np.bool_]) -> _Rows:
    """Return the rows that are chosen; as a slice, which copies no column, if all are."""
    return slice(None) if chosen.all() else np.flatnonzero(chosen)
