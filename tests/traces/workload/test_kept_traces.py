from __future__ import annotations

import pytest

from traces.workload import kept_traces
from traces.workload.generate import generate
from traces.workload.kept_traces import generated
from traces.workload.workload import Workload


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Keep two traces of 400 requests."""
    monkeypatch.setattr(kept_traces, "_MOST", 1000)
    kept_traces._made.clear()
    yield
    kept_traces._made.clear()


def workload(clients: int) -> Workload:
    return Workload.model_validate({"clients": clients, "operations": 400, "object_size": "4KiB", "mix": {"GET": 1}})


def test_traces_are_shared_and_let_go():
    first = generated(workload(1), 0)
    assert first.table == generate(workload(1), 0).table
    assert generated(workload(1), 0) is first
    assert generated(workload(1), 1) is not first
    assert sum(map(len, kept_traces._made.values())) == 800
    generated(workload(2), 0)
    assert sum(map(len, kept_traces._made.values())) == 800, "a third trace of 400 requests is too much"
    again = generated(workload(1), 0)
    assert again is not first
    assert again.table == first.table


def test_fields_of_a_workload_tell_traces_apart():
    first = generated(workload(1), 0)
    changed = workload(1).model_copy(update={"mix": {"PUT": 1.0}})
    assert generated(changed, 0).table == generate(changed, 0).table != first.table
