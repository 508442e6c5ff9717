from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from traces.operations import OPS
from traces.spec.spec_file import validated
from traces.statistics.describe import WINDOWS, describe
from traces.trace import TRACE_SCHEMA, Pacing, Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload


def by_hand(rows: list[tuple[float, str, str, str, int]], pacing: Pacing | None = None) -> Trace:
    names = ("arrival_s", "op", "bucket", "key", "size_bytes")
    given = dict(zip(names, zip(*rows, strict=True), strict=True))
    filled = {"think_s": 0.0, "phase": 0} | dict.fromkeys(("range_start_bytes", "range_bytes", "client"))
    columns: dict[str, Any] = {k: list(v) for k, v in given.items()} | {k: [v] * len(rows) for k, v in filled.items()}
    return Trace.of(pa.table({name: columns[name] for name in TRACE_SCHEMA.names}), pacing or Pacing())


def described(seed: int = 1, **fields: Any) -> dict[str, Any]:
    workload = validated(Workload, {"object_size": "4KiB", "operations": 50_000} | fields, "w")
    return describe(generate(workload, seed))


def test_figures_of_a_trace_made_by_hand() -> None:
    figures = describe(
        by_hand([
            (0.0, "PUT", "a", "x", 100),
            (1.0, "GET", "a", "x", 100),
            (1.5, "GET", "b", "x", 300),
            (3.0, "LIST", "a", "pre", 0),
            (4.0, "HEAD", "a", "y", 50),
        ])
    )  # fmt: skip
    assert (figures["requests"], figures["transfer_bytes"], figures["buckets"], figures["phases"]) == (5, 500, 2, 1)
    assert list(figures["ops"]) == ["GET", "PUT", "HEAD", "LIST"]
    get = figures["ops"]["GET"]
    assert get["count"] == 2
    assert get["size_bytes"] == {"mean": 200, "min": 100, "p50": 200, "p90": 280, "p99": 298, "max": 300}
    assert figures["keys"] == {"distinct": 3, "top_fraction": 0.5, "one_hit_fraction": pytest.approx(2 / 3)}
    assert (figures["arrivals"]["span_s"], figures["arrivals"]["rate_ops"]) == (4, 1)
    assert figures["arrivals"]["gap_scv"] == pytest.approx(np.var([1, 0.5, 1.5, 1]))
    assert figures["arrivals"]["dispersion"] is None
    assert figures["clients"] is None


def test_poisson_arrivals_have_dispersion_1() -> None:
    arrivals = described(rate=500)["arrivals"]
    assert arrivals["rate_ops"] == pytest.approx(500, rel=3.3 / math.sqrt(50_000))
    assert arrivals["gap_scv"] == pytest.approx(1, abs=0.04)
    assert abs(arrivals["dispersion"] - 1) < 3.3 * math.sqrt(2 / (WINDOWS - 1))
    assert arrivals["window_s"] == arrivals["span_s"] / WINDOWS


def test_constant_arrivals_have_none_and_bursts_much() -> None:
    constant = described(rate=500, arrivals="constant")["arrivals"]
    assert constant["gap_scv"] < 1e-12
    assert constant["dispersion"] < 0.01
    assert described(rate=500, arrivals="mmpp2")["arrivals"]["dispersion"] > 20


def test_a_closed_loop_has_clients_and_no_arrivals() -> None:
    figures = described(clients=3, stagger="1ms", operations=10)
    assert (figures["loop"], figures["clients"], figures["stagger_s"], figures["arrivals"]) == (
        "closed",
        3,
        0.001,
        None,
    )


def test_the_top_key_of_a_zipf_law() -> None:
    weights = np.arange(1, 1001) ** -1.2
    keys = described(keys={"kind": "zipf", "count": 1000, "exponent": 1.2})["keys"]
    assert keys["top_fraction"] == pytest.approx(weights[0] / weights.sum(), rel=0.05)
    assert keys["distinct"] <= 1000


def test_write_once_read_once_has_no_one_hit_objects() -> None:
    figures = described(keys="write_once_read_once", operations=100)
    assert figures["phases"] == 2
    assert figures["keys"] == {"distinct": 100, "top_fraction": 2 / 200, "one_hit_fraction": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"rate": 1e-6, "duration": 1e-6, "operations": None},
        {"rate": 1, "operations": 1},
        {"mix": {"LIST": 1}, "operations": 3},
        {"mix": dict.fromkeys(OPS, 1), "buckets": 3, "rate": 10, "operations": 500},
    ],
)
def test_figures_are_json(fields: dict[str, Any]) -> None:
    figures = described(**fields)
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures


def test_requests_that_come_all_at_once_have_no_rate() -> None:
    arrivals = describe(by_hand([(2.0, "GET", "a", "x", 1)] * 300))["arrivals"]
    assert (arrivals["span_s"], arrivals["rate_ops"], arrivals["gap_scv"], arrivals["dispersion"]) == (
        0,
        None,
        None,
        None,
    )
