from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tests.small_traces import reads, trace_of
from traces.errors import InputError
from traces.origin import Origin
from traces.spec.spec_file import validated
from traces.statistics.burstiness import dispersion
from traces.statistics.popularity import objects_of
from traces.statistics.reuse_distance import reuse_distances
from traces.trace import Pacing, Trace
from traces.transform.edit import cut, merge, sample_keys
from traces.transform.scale import scale
from traces.workload.generate import generate
from traces.workload.workload import Workload

CLOSED = Pacing("closed", clients=2)


def made(**fields: Any) -> Trace:
    base = {"object_size": "4KiB", "rate": 100, "duration": 300}
    return generate(validated(Workload, base | fields, "w"), 1)


def begun(trace: Trace, at: str) -> Trace:
    return replace(trace, origin=Origin(("x",), ("x.log",), at, 1e-6))


def names(trace: Trace) -> list[str]:
    return trace.table.column("key").to_pylist()


def test_a_window_becomes_a_trace_of_its_own() -> None:
    part = cut(begun(reads(10, 1.0), "2024-05-01T00:00:00+00:00"), 3.0, 6.0)
    assert names(part) == ["k3", "k4", "k5"]
    assert part.arrival_s.tolist() == [0, 1, 2]
    assert part.pacing.duration_s == 3
    assert part.origin is not None
    assert part.origin.started_at == "2024-05-01T00:00:03+00:00"
    assert cut(reads(10, 1.0), 8.0).pacing.duration_s is None


def test_windows_side_by_side_are_the_whole() -> None:
    whole = made(duration=20)
    parts = [cut(whole, a, b) for a, b in ((0, 7), (7, 13.5), (13.5, 20))]
    assert sum(map(len, parts)) == len(whole)
    assert [k for part in parts for k in names(part)] == names(whole)


@pytest.mark.parametrize(
    ("trace", "window", "words"),
    [
        (reads(10, 1.0), (5.0, 5.0), "5 s.* 5 s"),
        (reads(10, 1.0), (50.0, 60.0), "50 to 60 s"),
        (trace_of(["GET"], ["a"], CLOSED), (0.0, 1.0), "closed loop"),
    ],
)
def test_a_window_without_requests_is_refused(trace: Trace, window: tuple[float, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        cut(trace, *window)


def objects(trace: Trace) -> list[tuple[str, str]]:
    return list(zip(*(trace.table.column(c).to_pylist() for c in ("bucket", "key")), strict=True))


def test_a_sample_keeps_whole_histories() -> None:
    whole = made(keys={"kind": "zipf", "count": 2000, "exponent": 0.4}, buckets=3)
    part = sample_keys(whole, 0.25)
    chosen = set(objects(part))
    assert objects(part) == [pair for pair in objects(whole) if pair in chosen]
    assert len(chosen) == pytest.approx(len(set(objects(whole))) / 4, rel=0.2)
    assert sample_keys(part, 0.25).table.equals(part.table)  # the same are chosen again
    medians = [np.median(reuse_distances(objects_of(t))) for t in (part, whole)]
    assert medians[0] / medians[1] == pytest.approx(0.25, rel=0.2)  # SHARDS: distances shrink by the share


def test_a_sample_of_everything_and_of_nothing() -> None:
    trace = reads(50, 1.0)
    assert sample_keys(trace, 1.0).table.equals(trace.table)
    for fraction in (0.0, 1.5):
        with pytest.raises(InputError, match="keys is"):
            sample_keys(trace, fraction)
    with pytest.raises(InputError, match="1 objects"):
        sample_keys(trace_of(["GET"], ["a"]), 1e-9)


def test_merged_requests_come_in_order_of_time_with_clients_apart() -> None:
    a = trace_of(["GET", "GET"], ["a0", "a1"], arrival_s=[0.0, 2.0], client=[0, 1])
    b = trace_of(["PUT", "PUT"], ["b0", "b1"], arrival_s=[1.0, 3.0], client=[0, 0])
    both = merge([a, b])
    assert names(both) == ["a0", "b0", "a1", "b1"]
    assert both.table.column("client").to_pylist() == [0, 2, 1, 2]
    assert both.origin is None
    late = merge([begun(a, "2024-05-01T00:00:00+00:00"), begun(b, "2024-05-01T01:00:10+01:00")], "clock")
    assert late.arrival_s.tolist() == [0, 2, 11, 13]
    assert late.origin is not None
    assert late.origin.started_at == "2024-05-01T00:00:00+00:00"


def test_a_merge_by_the_clock_needs_one() -> None:
    with pytest.raises(InputError, match=r"trace 2 .*align their starts"):
        merge([begun(reads(3, 1.0), "2024-05-01T00:00:00+00:00"), reads(3, 1.0)], "clock")
    with pytest.raises(InputError, match="closed loop"):
        merge([trace_of(["GET"], ["a"], CLOSED)])


@examples(40)
@given(st.lists(st.lists(st.floats(0, 100), min_size=1, max_size=20), min_size=1, max_size=4))
def test_a_merge_loses_nothing(times: list[list[float]]) -> None:
    traces = [
        trace_of(["GET"] * len(t), [f"{i}-{j}" for j in range(len(t))], arrival_s=sorted(t))
        for i, t in enumerate(times)
    ]
    both = merge(traces)
    assert sorted(names(both)) == sorted(k for t in traces for k in names(t))
    assert both.arrival_s.tolist() == sorted(x for t in times for x in t)


BURSTS = {"kind": "mmpp2", "burst_factor": 5, "burst_fraction": 0.1, "burst_duration": 2}


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("arrivals", [BURSTS, {"kind": "diurnal", "period": 300, "amplitude": 0.8}])
def test_another_rate_keeps_the_variance_of_the_rate(arrivals: dict[str, Any], factor: float) -> None:
    """(IDC - 1) / mean count is the rate's variance over its squared mean, at each window."""
    trace = made(arrivals=arrivals)
    scaled = scale(trace, factor, seed=7)
    assert len(scaled) / len(trace) == pytest.approx(factor, rel=0.03)
    before = dispersion(trace.arrival_s)
    long = before.window_s[before.idc > 10]  # below, chance decides
    before, after = (dispersion(t.arrival_s, long) for t in (trace, scaled))
    assert (after.idc - 1) / after.mean == pytest.approx((before.idc - 1) / before.mean, rel=0.15)


@pytest.mark.parametrize("factor", [0.4, 2.0])
def test_a_poisson_process_stays_one(factor: float) -> None:
    counts = dispersion(scale(made(), factor).arrival_s)
    assert (abs(counts.idc - 1) < 4.5 * counts.noise).all()


def test_the_course_of_the_rate_stays() -> None:
    trace = made(arrivals={"kind": "diurnal", "period": 300, "amplitude": 0.8})
    counts = [np.histogram(t.arrival_s, bins=20, range=(0, 300))[0] for t in (trace, scale(trace, 3.0))]
    assert counts[1] / counts[0] == pytest.approx(3, rel=0.1)


def test_compressed_time_keeps_the_gaps_and_all_rows() -> None:
    trace = made(arrivals=BURSTS)
    fast = scale(trace, 2.0, "compress")
    assert names(fast) == names(trace)
    assert fast.pacing.duration_s == 150
    assert np.diff(fast.arrival_s) == pytest.approx(np.diff(trace.arrival_s) / 2, abs=1e-9)


def test_copies_are_of_other_objects() -> None:
    trace = made(duration=20)
    keys = names(scale(trace, 2.0))
    originals, copies = [k for k in keys if "~" not in k], [k for k in keys if "~" in k]
    assert originals == names(trace)
    assert sorted(k.removesuffix("~1") for k in copies) == sorted(originals)
    assert scale(trace, 1.0).table.equals(trace.table)


def test_a_rate_that_cannot_be() -> None:
    with pytest.raises(InputError, match="rate is 0"):
        scale(reads(5, 1.0), 0.0)
    with pytest.raises(InputError, match="closed loop"):
        scale(trace_of(["GET"], ["a"], CLOSED), 2.0)
    with pytest.raises(InputError, match="3 requests"):
        scale(reads(3, 1.0), 1e-9)
