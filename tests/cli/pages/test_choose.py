"""Figures of a choice: objectives, states in which no store serves, and bands only where something was drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cli.figures.choose import choice_figures


def row(store: str, **p99_s: float | None) -> Any:
    """A store's row; `p99_s` by state, None: no service."""
    situations = {
        state.replace("_", "-"): SimpleNamespace(ops={} if p99 is None else {"GET": SimpleNamespace(p99_s=p99)})
        for state, p99 in p99_s.items()
    }
    figures = SimpleNamespace(most_ops=100.0, healthy=situations.pop("healthy"), failing=situations)
    return SimpleNamespace(
        candidate=SimpleNamespace(store=store, option=SimpleNamespace(text="replica 3")), figures=figures
    )


@pytest.fixture(scope="module")
def figures() -> list[Any]:
    rows = [row("ceph", healthy=0.01, host=None, drive=0.02), row("minio", healthy=0.02, host=None, drive=None)]
    workload = SimpleNamespace(rate=2.0, ops=["GET"])
    file = SimpleNamespace(workload=workload, objectives=("GET.p99<500ms", "PUT.p99<1s", "GET.mean<1s"))
    return choice_figures(SimpleNamespace(rows=rows, ranking=None), file)  # type: ignore[arg-type]


def test_without_draws_a_rate_has_no_band_and_the_title_names_the_dashed_line(figures):
    rates = figures[0]
    assert rates.data[0].error_y.array is None
    assert "dashed: the workload's 2/s" in rates.layout.title.text and not rates.layout.annotations


def test_only_states_with_a_latency_are_in_the_legend(figures):
    assert [trace.name for trace in figures[1].data] == ["healthy", "a drive down"]


def test_latencies_have_their_unit_and_the_line_of_their_own_objective(figures):
    latencies = figures[1]
    assert latencies.layout.yaxis.title.text == "p99 (ms)"
    assert [each.text for each in latencies.layout.annotations] == ["GET.p99&lt;500ms"]
    assert [shape.y0 for shape in latencies.layout.shapes] == [500]
