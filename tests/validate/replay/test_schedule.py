from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from validate.replay.schedule import kept_sentence, schedule_of


def table(arrival_s: object, start_s: object, end_s: object) -> pa.Table:
    return pa.table({"arrival_s": np.asarray(arrival_s), "start_s": np.asarray(start_s), "end_s": np.asarray(end_s)})


DUE_S = np.arange(1000) / 100


def test_a_kept_schedule() -> None:
    found = schedule_of(table(DUE_S, DUE_S + 0.001, DUE_S + 0.035), "open")
    assert found["kept"] and found["late_share"] == 0 and found["in_flight_max"] == 4
    assert found["intended_ops"] == pytest.approx(100) and found["rate_ratio"] == pytest.approx(1)
    assert kept_sentence(found).startswith("the schedule was kept: 100.0 of 100.0 op/s, starts lagged 1.00 ms at p99")


def test_a_few_late_starts_do_not_matter_and_more_do() -> None:
    for late, kept in ((9, True), (30, False)):
        lag_s = np.where(np.arange(1000) < late, 0.02, 0.001)
        assert schedule_of(table(DUE_S, DUE_S + lag_s, DUE_S + 0.5), "open")["kept"] == kept


def test_a_rate_that_was_not_reached_is_not_kept() -> None:
    stretched_s = DUE_S * 1.03
    found = schedule_of(table(DUE_S, stretched_s, stretched_s), "open")
    assert not found["kept"] and found["rate_ratio"] == pytest.approx(1 / 1.03)


def test_a_closed_loop_intends_no_rate() -> None:
    found = schedule_of(table(DUE_S, DUE_S, DUE_S + 0.01), "closed")
    assert found["intended_ops"] is None and found["rate_ratio"] is None and found["kept"]
    assert "op/s" not in kept_sentence(found)


def test_nothing_issued() -> None:
    found = schedule_of(table([], [], []), "open")
    assert found == {"requests": 0} and kept_sentence(found) == "nothing was issued"
