"""Whether the clients of a log waited for a response before they issued their next request (a closed loop)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.fitting.closed_loop import Loop, loop_of_requests
from traces.logs.external_sort import ExternalSort

_MOST_ROWS = 1 << 18  # from which the loop is detected

COLUMNS = ("time_ns", "latency_ns", "client")


def waiting_clients(records: ExternalSort, known: bool) -> Loop | None:
    """Return the closed loop of the first requests of a log; None if clients did not wait, or are not logged.

    Args:
        records: rows of `traces.logs.tables.NUMBERED`, sorted by time.
        known: whether all formats are of benchmarks whose clients wait, so that little evidence is enough.
    """
    parts, rows = list[pa.Table](), 0
    for block in records.blocks(COLUMNS):
        parts.append(block)
        rows += len(block)
        if rows >= _MOST_ROWS:
            break
    table = pa.concat_tables(parts)
    if not rows or table.column("client").null_count or table.column("latency_ns").null_count:
        return None
    start_s = (table.column("time_ns").to_numpy() - table.column("time_ns")[0].as_py()) / 1e9
    end_s = start_s + table.column("latency_ns").to_numpy() / 1e9
    return loop_of_requests(table.column("client").to_numpy(), start_s, end_s, known)


class ThinkTimes:
    """The pauses between a response and the next request of the same client."""

    def __init__(self) -> None:
        self._end_ns = np.empty(0, np.int64)  # by client; -1 before the first request

    def of(self, rows: pa.Table) -> NDArray[np.float64]:
        """Return the pause before each request, seconds, shape (rows,); 0 before the first one of a client.

        Args:
            rows: records in order of time that follow those of the calls before.
        """
        client = rows.column("client").fill_null(-1).to_numpy()
        start_ns = rows.column("time_ns").to_numpy()
        end_ns = start_ns + rows.column("latency_ns").fill_null(0).to_numpy()
        known = int(client.max(initial=-1)) + 1
        if known > len(self._end_ns):
            self._end_ns = np.append(self._end_ns, np.full(known - len(self._end_ns), -1))
        order = np.argsort(client, kind="stable")
        of, starts, ends = client[order], start_ns[order], end_ns[order]
        first = np.append(True, of[1:] != of[:-1])[: len(of)]
        before_ns = np.where(first, np.where(of < 0, -1, self._end_ns[of]), np.append(0, ends[:-1])[: len(of)])
        pause_ns = np.where((before_ns < 0) | (of < 0), 0, np.maximum(starts - before_ns, 0))
        last = np.append(first[1:], True)[: len(of)] & (of >= 0)
        self._end_ns[of[last]] = ends[last]
        think_s = np.empty(len(of))
        think_s[order] = pause_ns / 1e9
        return think_s
