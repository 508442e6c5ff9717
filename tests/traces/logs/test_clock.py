from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from traces.logs.clock import TICKS_NS, LogClock, spread

SECOND, MILLI = 10**9, 10**6
DAY = 1795255200 * SECOND


def tick_of(*logs: np.ndarray) -> int:
    clock = LogClock()
    for times in logs:
        clock.see(times.astype(np.int64))
    return clock.tick_ns


@pytest.mark.parametrize("tick", TICKS_NS)
def test_a_clock_that_ticks_on_whole_numbers(tick: int) -> None:
    steps = np.random.default_rng(1).integers(0, 50, 200)
    assert tick_of(DAY + tick * np.cumsum(steps)) == tick


def test_a_kernels_coarse_clock_ticks_anywhere_and_drifts() -> None:
    rng = np.random.default_rng(1)
    steps = rng.integers(0, 30, 2000)
    drifting = DAY + 658_779 + (4 * MILLI + 160) * np.cumsum(steps)  # 40 ppm
    other = DAY + 91_000 + 4 * MILLI * np.cumsum(steps)
    assert tick_of(drifting // 1000 * 1000, other) == 4 * MILLI
    assert tick_of(rng.permutation(drifting)) == 4 * MILLI
    assert tick_of(drifting, other + rng.integers(0, 10**6, len(other))) == 1


def test_few_or_distant_times_tell_no_coarse_clock() -> None:
    few = DAY + 658_779 + 4 * MILLI * np.arange(15)
    distant = DAY + 658_779 + 4 * MILLI * 100 * np.arange(500)
    assert tick_of(few) == tick_of(distant) == 1
    fine = DAY + np.cumsum(np.random.default_rng(1).integers(0, 10 * MILLI, 500))
    assert tick_of(fine) == 1


def test_slack_is_for_decimal_fractions_of_ticks() -> None:
    latencies = np.array([0, 12_000_001, 8_000_000, 3_999_999])
    clock = LogClock(slack_ns=1000)
    clock.see(latencies)
    assert clock.tick_ns == 4 * MILLI


def test_spreading_keeps_the_order_where_ticks_are_short_and_blocks_cut_them() -> None:
    time = np.sort(np.random.default_rng(2).integers(0, 40, 1000)) * (4 * MILLI - 7000)
    table = pa.table({"time_ns": time, "row": np.arange(1000)})
    blocks = [table.slice(0, 3), table.slice(3, 0), table.slice(3, 600), table.slice(603)]
    whole = pa.concat_tables(list(spread(iter([table]), 4 * MILLI, 5)))
    parts = pa.concat_tables(list(spread(iter(blocks), 4 * MILLI, 5)))
    assert parts.column("row").to_pylist() == list(range(1000))
    for spread_out in (whole, parts):
        later = spread_out.column("time_ns").to_numpy()
        assert (np.diff(later) >= 0).all()
        assert ((later - time >= 0) & (later - time < 4 * MILLI)).all()
    assert len(np.unique(whole.column("time_ns").to_numpy())) > 950
    assert whole.equals(parts)
