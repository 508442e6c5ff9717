from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim.capacity.timeline
from cli import words as phrases
from cli.main import main
from cli.pages import timeline as timeline_page
from cli.pages.page import write_page
from cli.tables.experiments.timeline import millions, opening
from models.ceph.growth import effects, grown, lost_to_reshards, state_figures, steps_until
from models.store import load_spec, spec_of
from sim.capacity.tables import states_table
from sim.capacity.timeline import BATCHES, WARM_UP, StateWindow, TimelinePlan, _figures, simulated, timeline
from sim.parallel.result_cache import ResultFolder
from sim.simulate import simulate
from tests.browser import CHROMIUM, WIDTHS, opened
from tests.cli.pages.test_report import header_of
from tests.paths import EXAMPLES
from tests.runs import run_of
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.workload.generate import generate

EXAMPLE = EXAMPLES / "ceph" / "billion-objects.yaml"

SMALL = {
    "store": "ceph",
    "release": "luminous",
    "workload": {"clients": 8, "duration": "1s", "object_size": "64KiB", "mix": {"GET": 1, "PUT": 1}, "buckets": 4},
    "hosts": {"count": 3, "drives": 2, "cores": 16},
    "device": {"preset": "hdd-7k2", "capacity": "1TB"},
    "db": {"device": "optane", "size": "4GB"},
    "pools": {"data": "ec 2+1", "pg_num": 32},
    "buckets": {"shards": 16},
}
PLAN = TimelinePlan(1e5, 1e7, states=3, window_s=0.3)


def small(*assignments: str):
    return spec_of(override(SMALL, assignments), "small")


def without_times(result):
    return {name: value for name, value in result.to_json().items() if name != "engine"}


@pytest.fixture(scope="module")
def found():
    return timeline(small(), PLAN)


def test_engines_find_the_same(found):
    other = timeline(small(), PLAN, engine="simpy")
    assert same(other, found)
    assert other.engine["visits"] == found.engine["visits"]
    assert found.states[0]["ops"]["GET"]["count"] > 50


def same(one, other) -> bool:
    """Whether two results are equal; quantiles of few requests have intervals of NaN, which no value equals."""
    return json.dumps(without_times(one)) == json.dumps(without_times(other))


@pytest.mark.nightly("processes are those of validations, whose test runs many times a day")
def test_workers_find_the_same(found):
    assert same(timeline(small(), PLAN, workers=2), found)


def test_another_seed_finds_something_else(found):
    other = timeline(small(), PLAN, seed=1)
    assert other.states[0]["ops"] != found.states[0]["ops"]
    assert other.states[0]["spilled_bytes"] == found.states[0]["spilled_bytes"]


def test_a_window_is_what_simulate_gives_of_that_state(found):
    run = simulate(small("stored.objects=1e6", "workload.duration=0.3s"))
    end_s, state = run.column("end_s"), found.states[1]
    assert state["objects"] == 1e6
    for op, number in (("GET", 0), ("PUT", 1)):
        ended = (run.op == number) & (end_s >= 0.3 * WARM_UP) & (end_s <= 0.3)
        assert state["ops"][op]["throughput_ops"] == pytest.approx(ended.sum() / 0.24)
        begun = (run.op == number) & (run.column("arrival_s") >= 0.3 * WARM_UP)
        assert state["ops"][op]["latency_s"]["p99"] == np.quantile(run.latency_s[begun], 0.99)


def test_what_begins_lies_between_its_states_and_changes_them(found):
    spills = [event for event in found.effects if event.name.startswith("spill")]
    assert spills
    for event in found.effects:
        assert PLAN.low < event.objects <= PLAN.high
    first = min(event.objects for event in spills)
    for state in found.states:
        assert (state["spilled_bytes"] > 0) == (state["objects"] >= first)


def test_writes_are_slower_once_metadata_have_spilled():
    plan = TimelinePlan(1e5, 2e8, states=2, window_s=1.0)
    before, after = timeline(small("workload.mix={PUT: 1}", "device.capacity=10TB"), plan).states
    assert before["spilled_bytes"] == 0 < after["spilled_bytes"]
    below = after["ops"]["PUT"]["interval"]["throughput_ops"][1]
    assert below < before["ops"]["PUT"]["interval"]["throughput_ops"][0]


def test_what_is_written_once_and_read_once_has_a_window_for_each():
    spec = small("workload.keys=write_once_read_once", "workload.operations=500", "workload.duration=null",
                 "workload.mix={GET: 1}")  # fmt: skip
    both = simulated(StateWindow(grown(spec, 1e6), 0.3, 0, "compiled"))["ops"]
    keys = "workload.keys={kind: uniform, count: 500}"
    for op in ("PUT", "GET"):
        alone = simulated(StateWindow(grown(small(keys, f"workload.mix={{{op}: 1}}"), 1e6), 0.3, 0, "compiled"))["ops"]
        assert both[op] == alone[op]


# Figures of a window

STATION = {"name": "s", "role": "r", "servers": 1, "utilization": 0.5, "visits": 1, "mean_queue": 0.0}


def test_the_warm_up_is_left_out():
    arrival_s = np.arange(1000) * 0.01  # a window of 10 s, the first 2 s of which are slow
    latency_s = np.where(arrival_s < 1.995, 0.9, 0.001)
    figures = _figures(run_of(latency_s, arrival_s=arrival_s, stations=[STATION]), "GET", 10.0)
    assert figures["count"] == 800
    assert figures["latency_s"]["max"] == pytest.approx(0.001)
    assert figures["interval"]["latency_s"]["p50"] == pytest.approx([0.001, 0.001])
    assert figures["few"] == ["p99", "p99_9"] and all(map(math.isnan, figures["interval"]["latency_s"]["p99"]))
    late = (arrival_s + latency_s >= 2.0).sum()
    assert figures["throughput_ops"] == pytest.approx(late / 8.0)


def test_intervals_are_those_of_batch_means():
    arrival_s = 2.0 + (np.arange(800) + 0.5) * 0.01
    means_s = np.array([1, 2, 3, 4, 5, 5, 4, 3, 2, 1]) * 1e-3
    run = run_of(np.repeat(means_s, 800 // BATCHES), arrival_s=arrival_s, stations=[STATION])
    low, high = _figures(run, "GET", 10.0)["interval"]["latency_s"]["mean"]
    half = 2.262157 * means_s.std(ddof=1) / math.sqrt(10)  # Student's t of 9 degrees of freedom at 97.5 %
    ratio = math.exp(half / 0.003)
    assert [low, high] == pytest.approx([0.003 / ratio, 0.003 * ratio])


def test_too_few_requests_have_no_interval():
    figures = _figures(run_of([0.1], arrival_s=[5.0], stations=[STATION]), "GET", 10.0)
    assert figures["latency_s"]["mean"] == pytest.approx(0.1)
    assert figures["interval"]["latency_s"]["mean"] == [-math.inf, math.inf]


# Plans


@given(st.integers(1, 10**6), st.integers(2, 10**6), st.integers(2, 60))
def test_states_go_from_the_first_to_the_last(low, factor, states):
    objects = np.array(TimelinePlan(low, low * factor, states).objects)
    assert (objects[0], objects[-1], len(objects)) == (low, low * factor, states)
    assert (np.diff(objects) >= 0).all()
    ratio = factor ** (1 / (states - 1))
    assert np.abs(objects[1:] - ratio * objects[:-1]).max() <= 0.5 * ratio + 0.5 + 1e-9 * low * factor
    even = TimelinePlan(low, low * factor, states, "linear").objects
    assert np.ptp(np.diff(even)) <= 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ((10, 10), "10..10; the first number must be at least 0 and below the second"),
        ((-1, 10), "-1..10; the first"),
        ((1, 1e14), "must be at most 1e\\+13"),
        ((math.nan, 10), "nan..10"),
        ((0, 10), "cannot start at 0"),
        ((1, 10, 1), "states is 1; it must be 2 to"),
        ((1, 10, 20, "linear", 0.0), "window is 0 s"),
    ],
)
def test_plans_that_cannot_be_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        TimelinePlan(*wrong)


def test_a_store_without_growing_state_is_refused():
    with pytest.raises(InputError, match="store bob: its model has no growth"):
        timeline(load_spec(EXAMPLES / "bob" / "one-host.yaml"), PLAN)


# Growth

ONE_BUCKET = (
    "workload.buckets=1", "buckets.shards=16", "buckets.resharding.dynamic=true",
    "buckets.resharding.batch_latency=0.1",
)  # fmt: skip


def test_a_published_bucket_is_resharded_from_16_to_512_shards():
    # Red Hat's test of dynamic resharding: 16 shards at 0.8 M objects, 512 at 30 M.
    spec = small(*ONE_BUCKET)
    assert grown(spec, 8e5).buckets.shards == 16
    assert grown(spec, 3e7).buckets.shards == 512
    assert [step.objects for step in steps_until(spec, 3e7)] == [100_000 * 16 * 2**i + 1 for i in range(5)]
    trace = generate(spec.workload, 0)
    reshards = [event.name for event in effects(spec, trace, 8e5, 1e7) if event.name.startswith("reshard")]
    assert reshards == ["reshard to 32", "reshard to 64", "reshard to 128"]


@given(st.integers(1, 50), st.integers(1, 1999), st.sampled_from(["luminous", "reef", "tentacle"]))
def test_no_bucket_that_is_resharded_has_too_full_shards(buckets, shards, release):
    spec = small(*ONE_BUCKET, f"workload.buckets={buckets}", f"buckets.shards={shards}", f"release={release}")
    for objects in (1e5, 3e6, 2e8, 1e10):
        now = grown(spec, objects).buckets.shards
        assert now >= shards
        assert now == 1999 or objects / buckets <= now * 100_000


def test_shards_that_are_not_resharded_stay_and_are_told():
    spec = small("workload.buckets=1")
    assert grown(spec, 1e9).buckets.shards == 16
    names = [event.name for event in effects(spec, generate(spec.workload, 0), 8e5, 1e7)]
    assert "index shards" in names
    resharded = small(*ONE_BUCKET)
    names = [event.name for event in effects(resharded, generate(spec.workload, 0), 8e5, 1e7)]
    assert "index shards" not in names


def test_below_the_gateways_there_is_no_index():
    spec = small(*ONE_BUCKET, "access.kind=rados")
    assert grown(spec, 1e9).buckets.shards == 16
    for dynamic in ("true", "false"):
        spec = small(*ONE_BUCKET, "access.kind=rados", f"buckets.resharding.dynamic={dynamic}")
        names = {event.name for event in effects(spec, generate(spec.workload, 0), 1e5, 1e9)}
        assert "full" in names
        assert not any("shard" in name for name in names)


def test_a_filestore_has_no_effects_of_bluestore():
    spec = small("osd.backend=filestore")
    names = {event.name for event in effects(spec, generate(spec.workload, 0), 1e5, 1e9)}
    assert {"nearfull", "full", "index shards"} <= names
    assert not any("cache" in name or "spill" in name for name in names)


def test_time_lost_to_a_reshard_by_hand():
    # Found half a scan (300 s) after 1.6 M entries at 5,000 a second: 3.1 M, copied at 64 x 128 in 0.1 s each.
    copy_s = (1_600_001 + 5_000 * 300) / (64 * 128 / 0.1)
    waits_s = math.ceil(copy_s / 5) * 5
    assert lost_to_reshards(small(*ONE_BUCKET), 1.5e6, 2e6, 5000) == pytest.approx(waits_s / 100)
    assert lost_to_reshards(small(*ONE_BUCKET), 1.7e6, 2e6, 5000) == 0
    assert lost_to_reshards(small(*ONE_BUCKET), 1.5e6, 2e6, 0) == 0
    assert lost_to_reshards(small(*ONE_BUCKET, "workload.rate=100/s"), 1.5e6, 2e6, 5000) == 0
    two_phase = lost_to_reshards(small(*ONE_BUCKET, "release=tentacle"), 1.5e6, 2e6, 5000)
    assert 0 < two_phase < waits_s / 100


def test_of_many_buckets_a_reshard_catches_only_who_writes_there():
    many = small(*ONE_BUCKET, "workload.buckets=1000", "workload.clients=60")
    # 5 writes a second and bucket: 19.5 s of copying catch 97.7, so all 60 clients; a tenth of the rate catches 9.6.
    fast, slow = (lost_to_reshards(many, 1.5e9, 1.7e9, rate) for rate in (5000, 500))
    assert fast == pytest.approx(1000 * 60 * 20 / (60 * 2e8 / 5000))
    copied = 1_600_000 + 0.001 + 0.5 * 300
    assert slow == pytest.approx(1000 * 0.5 * copied / 81920 * 20 / (60 * 2e8 / 500))


def test_the_published_billion():
    spec = load_spec(EXAMPLE)
    state = state_figures(grown(spec, 1_014_912_090), generate(spec.workload, 0))
    assert state["spilled_bytes"] > 80e9  # figure 4 of the source
    assert state["allocated_bytes"] / state["stored_bytes"] == pytest.approx(6)  # 64 KiB units of 16 KiB chunks
    assert 0.85 < state["fill_fraction"] < 0.95


# Folders


def test_windows_that_are_done_are_found_again(tmp_path, found, monkeypatch):
    def until_two(done):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timeline(small(), PLAN, cache=ResultFolder(tmp_path / "t"), progress=until_two)
    assert len(list((tmp_path / "t" / "finished").iterdir())) == 2
    requested = []
    monkeypatch.setattr(
        sim.capacity.timeline, "simulated", lambda window: requested.append(window) or simulated(window)
    )
    resumed = timeline(small(), PLAN, cache=ResultFolder(tmp_path / "t"))
    assert len(requested) == 1
    assert same(resumed, found)


@pytest.mark.parametrize("change", ["seed", "engine", "window_s", "spec"])
def test_a_window_of_anything_else_is_not_found(tmp_path, change):
    folder = ResultFolder(tmp_path / "t")
    mine = StateWindow(small(), 1.0, 0, "compiled")
    folder.keep(mine.key, {"objects": 1.0})
    assert folder.find(mine.key) == {"objects": 1.0}
    others = {"seed": 1, "engine": "simpy", "window_s": 2.0, "spec": small("stored.objects=3")}
    assert folder.find(StateWindow(**(vars(mine) | {change: others[change]})).key) is None


def test_what_is_no_timeline_is_not_overwritten(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds no results"):
        ResultFolder(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        ResultFolder(tmp_path / "mine.txt" / "t")


def test_the_table_has_a_row_for_each_state_and_operation(found):
    rows = states_table(found).to_pylist()
    assert [(row["objects"], row["op"]) for row in rows[:2]] == [(1e5, "GET"), (1e5, "PUT")]
    assert len(rows) == 6
    assert rows[0]["latency_p99_s"] == found.states[0]["ops"]["GET"]["latency_s"]["p99"]
    assert rows[0]["throughput_ops_low"] < rows[0]["throughput_ops"] < rows[0]["throughput_ops_high"]


# The command


def tailcast(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["timeline", *arguments])
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


BRIEF = ("--states", "3", "--window", "0.05s", "--workers", "1")


@pytest.mark.usefixtures("few_requests")
def test_the_command_prints_writes_and_draws(capsys, tmp_path):
    out, page = tmp_path / "t", tmp_path / "t.html"
    requested = (str(EXAMPLE), "--objects", "1e8..1e9", *BRIEF, "--out", str(out))
    code, text, _ = tailcast(capsys, *requested, "--json", "--report", str(page))
    result = json.loads(text)
    assert code == 0
    assert [state["objects"] for state in result["states"]] == [1e8, 316227766, 1e9]
    assert "spill L4" in [event["name"] for event in result["events"]]
    assert set(result["engine"]) == {"name", "wall_s", "visits"}
    assert json.loads((out / "timeline.json").read_text()) == result
    assert pq.read_table(out / "timeline.parquet").num_rows == 6
    assert "spill L4" in page.read_text(encoding="utf-8")
    code, text, _ = tailcast(capsys, *requested)
    assert code == 0
    lines = text.splitlines()
    begins = next(i for i, line in enumerate(lines) if "spill L4" in line)
    assert "100 M" in "".join(lines[begins - 2 : begins])  # a cell with a mark may take two lines
    assert "316.2 M" in lines[begins + 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--objects", "1e6"], "--objects 1e6: write it like 1e6..1e9"),
        (["--objects", "a..2"], "write it like"),
        (["--objects", "2..1"], "objects are 2..1; the first number"),
        (["--objects", "1..2", "--window", "3 parsecs"], "unknown unit"),
        (["--objects", "1..2", "--states", "1"], "states is 1"),
        (["--states", "3"], "'--objects'"),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, said):
    code, out, err = tailcast(capsys, str(EXAMPLE), *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_a_store_that_does_not_grow_is_one_line(capsys):
    example = EXAMPLES / "bob" / "one-host.yaml"
    code, _, err = tailcast(capsys, str(example), "--objects", "1..2")
    assert code == 2
    assert "store bob: its model has no growth" in err


def test_what_reshards_cost_is_drawn(found):
    assert {line.name for line in timeline_page.throughput(found).data} == {"GET", "PUT"}
    lossy = replace(found, states=tuple(state | {"lost_to_reshards": 0.25} for state in found.states))
    lines = {line.name: np.array(line.y) for line in timeline_page.throughput(lossy).data}
    assert lines["PUT with reshards"] == pytest.approx(0.75 * lines["PUT"])


def test_the_page_begins_with_what_was_asked_what_was_found_and_how_sure(tmp_path, found):
    write_page(timeline_page.timeline_page(found, "t"), tmp_path / "page.html")
    requested, response, sure = header_of(tmp_path / "page.html")
    first, last = found.states[0], found.states[-1]
    assert requested.startswith(
        f"How throughput and latency change from {millions(first['objects'])} to {millions(last['objects'])}"
    )
    assert f"PUT throughput goes from {phrases.number(first['ops']['PUT']['throughput_ops'])} to " in response
    earliest = min(found.effects, key=lambda event: event.objects, default=None)
    assert earliest is None or f"the first effect is {earliest.name}, at " in response
    assert sure.startswith(f"Each of {len(found.states)} states ")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", WIDTHS)
def test_charts_are_drawn(tmp_path, found, width):
    path = tmp_path / "page.html"
    write_page(timeline_page.timeline_page(found, "small as it fills"), path)
    with opened(path, width, dark=width == 800) as page:
        assert page.errors == []
        assert page.fetched == [path.as_uri()]
        assert page.evaluate("document.querySelectorAll('.main-svg').length") == 3 * 4
        assert page.evaluate("[...document.querySelectorAll('.chart')].every((c) => c.querySelector('.trace path'))")
        names = page.evaluate("document.querySelector('.chart').querySelectorAll('.annotation-text').length")
        assert names == len(found.effects)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_opening_says_what_hedges_cost():
    result = timeline(small("client.hedge={after: 0.1ms}"), PLAN)
    assert result.states[-1]["extra"]["hedges"] and result.states[-1]["extra"]["per_request"] > 0
    assert any(line.startswith("Of this load, hedges add ") for line in opening(result))
    assert not any("hedges" in line for line in opening(timeline(small(), PLAN)))
