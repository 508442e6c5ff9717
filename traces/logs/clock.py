"""Detect the clock resolution of a log, and spread arrivals over the ticks of its clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.random_streams import stream_id, uniforms
from traces.tables import with_column

TICKS_NS = (1_000_000_000, 4_000_000, 1_000_000, 1_000, 1)
"""Clock ticks found in logs: 1 s of access logs, 4 or 1 ms of coarse kernel clocks (CONFIG_HZ 250 or 1000), finer."""

_KERNEL_TICKS_NS = (4_000_000, 1_000_000)
_SAME_NS = 1000  # times closer than this are equal but for rounding
_NEAR_NS = 100_000_000  # longer gaps are ignored: a kernel clock drifts against calendar time
_SLACK = 500  # a gap may deviate by 1/500 of a tick
_LEAST_GAPS = 20  # fewer are no evidence: each matches by chance with probability 2 / _SLACK


class LogClock:
    """The tick of a log's clock, detected from its times.

    It is the largest of `TICKS_NS` that divides all times. The coarse kernel clock (CLOCK_REALTIME_COARSE, used by
    RADOS gateways for logging) does not tick at multiples of its period; it is detected from the gaps between times,
    which are multiples of the tick.
    """

    def __init__(self, slack_ns: int = 0) -> None:
        """`slack_ns`: allowed deviation of a time from a multiple of a tick of 1 ms or more."""
        self._slack_ns = slack_ns
        self._whole = list(TICKS_NS)
        self._of_gaps = list(_KERNEL_TICKS_NS)
        self._gaps = 0

    def see(self, times_ns: NDArray[np.int64]) -> None:
        """Take times of a log into account, in any order."""
        self._whole = [tick for tick in self._whole if self._fits(times_ns, tick)]
        if not self._of_gaps:
            return
        ordered = np.sort(times_ns)
        gaps = ordered[1:] - ordered[:-1]
        gaps = gaps[(gaps > _SAME_NS) & (gaps < _NEAR_NS)]
        self._gaps += len(gaps)
        self._of_gaps = [tick for tick in self._of_gaps if _are_ticks(gaps, tick)]

    def _fits(self, times_ns: NDArray[np.int64], tick: int) -> bool:
        return _near(times_ns, tick, self._slack_ns if tick >= _KERNEL_TICKS_NS[-1] else 0)

    @property
    def tick_ns(self) -> int:
        """The detected tick, nanoseconds."""
        of_gaps = self._of_gaps[:1] if self._gaps >= _LEAST_GAPS else []
        return max([self._whole[0], *of_gaps])


def _are_ticks(gaps_ns: NDArray[np.int64], tick: int) -> bool:
    return bool((gaps_ns >= tick // 2).all()) and _near(gaps_ns, tick, tick // _SLACK)


def _near(times_ns: NDArray[np.int64], tick: int, slack_ns: int) -> bool:
    """Whether all times are multiples of the tick, within the slack."""
    return bool(((times_ns + slack_ns) % tick <= 2 * slack_ns).all())


def spread(blocks: Iterator[pa.Table], tick_ns: int, seed: int) -> Iterator[pa.Table]:
    """Spread rows with the same `time_ns` uniformly over the tick that starts there, in their order.

    Args:
        blocks: rows in order of `time_ns`.
        tick_ns: tick of the clock.
        seed: seed of the random numbers.
    """
    stream, first, held = stream_id("import.spread"), 0, None
    for block in blocks:
        rows = block if held is None else pa.concat_tables([held, block])
        time = rows.column("time_ns").to_numpy()
        whole = int(np.searchsorted(time, time[-1])) if len(time) else 0
        held = rows.slice(whole)  # the last tick may continue in the next block
        if whole:
            yield _spread(rows.slice(0, whole), int(time[-1]), tick_ns, uniforms(seed, stream, first, whole))
            first += whole
    if held is not None and len(held):
        end = int(held.column("time_ns")[-1].as_py()) + tick_ns
        yield _spread(held, end, tick_ns, uniforms(seed, stream, first, len(held)))


def _spread(rows: pa.Table, end_ns: int, tick_ns: int, draws: NDArray[np.float64]) -> pa.Table:
    """Spread rows that are followed by one at `end_ns`; the next time ends a tick early."""
    time = rows.column("time_ns").to_numpy()
    following = np.append(time, end_ns)[np.searchsorted(time, time, side="right")]
    later = (draws * np.minimum(tick_ns, following - time)).astype(np.int64)
    later = later[np.lexsort((later, time))]
    return with_column(rows, "time_ns", [pa.array(time + later)])
