"""Failures: events of a MinIO host against arithmetic, and what-ifs before, during and after."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cli.main import main
from cli.pages.failures import failures_page
from cli.pages.page import write_page
from cli.parse.failure import parse_failure
from cli.parse.slo import parse_slo
from cli.tables.experiments.failures import failure_grids, findings
from models.minio.spec.layout import protection
from models.network.scenario import ActionKind
from models.store import Spec, compile_spec, load_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure as Reason
from sim.engine.outcome import Outcome, Program
from sim.engine.reference import engine as simpy_engine
from sim.experiments.failure_result import Failures
from sim.experiments.failure_windows import Times
from sim.experiments.failures import FailureExperiment, failures
from sim.experiments.sweep import Settings
from sim.replication.replicate import Precision, seed_of
from sim.simulate import simulate
from tests.browser import CHROMIUM, WIDTHS, opened
from tests.paths import EXAMPLES
from tests.sim.engine.test_engines import assert_identical
from traces.errors import InputError
from traces.workload.generate import generate
from traces.workload.workload import Workload

EXAMPLE = EXAMPLES / "minio-12-hdd.yaml"
BY_ERRORS = "as a failed request counts as one without an end"


def minio(*events: dict[str, Any], drives: int = 8, **workload: Any) -> dict[str, Any]:
    """Deterministic drives of 1 ms for a read, a write and a commit; hosts and networks that take next to no time."""
    requested = {"rate": 200, "duration": 3, "object_size": "4KiB", "mix": {"GET": 1, "PUT": 1}} | workload
    return {
        "store": "minio",
        "workload": {name: value for name, value in requested.items() if value is not None},
        "network": {"latency": "0.1ms"},
        "hosts": {"cpu": dict.fromkeys(("GET", "PUT", "HEAD", "DELETE", "LIST"), 0)},
        "drives": {"count": drives, "read": "1ms", "write": "1ms", "commit": "1ms"},
        "faults": list(events),
    }


def down(*drives: int, **more: Any) -> list[dict[str, Any]]:
    return [{"kind": "drive_down", "drive": d, "at": "1s", "back_at": "2s"} | more for d in drives]


def run(spec: Spec, engine: Any = compiled_engine) -> Outcome:
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    return engine.run(Program.of(network, requests, 0))


def outcome(*events: dict[str, Any], **more: Any) -> tuple[Outcome, np.ndarray]:
    """A run, and in which second each request began."""
    of_run = run(spec_of(minio(*events, **more), "test"))
    return of_run, of_run.start_s.astype(int)


def requested(data: dict[str, Any], *names: str, slos: tuple[str, ...] = (), **more: Any) -> Failures:
    settings = Settings(replications=more.pop("replications", 2), precision=more.pop("precision", None))
    experiment = FailureExperiment(
        data,
        "store.yaml",
        [parse_failure(n) for n in names],
        slos=[parse_slo(s) for s in slos],
        settings=settings,
        **more,
    )
    return failures(experiment)


def test_quorums_are_those_of_the_source():
    assert [protection(*set_).read_quorum for set_ in ((1, 0), (4, 2), (12, 4), (16, 4))] == [1, 2, 8, 12]
    assert protection(4, 2).write_quorum == 3  # as many data as parity shards: one more than half
    # Parity is raised by one for each drive offline, to half of the set at most.
    assert [protection(16, 4, n).write_quorum for n in (0, 1, 4, 7)] == [12, 11, 9, 9]
    assert [bool(protection(16, 4, n).can_write(n)) for n in (0, 7, 8)] == [True, True, False]
    assert protection(1, 0).can_write(0) and not protection(1, 0, 1).can_write(1)


@pytest.mark.parametrize(
    "events",
    [
        down(1),
        down(1, 6, detected_after="300ms"),
        down(0, 1, 2, 3),
        [{"kind": "host_down", "at": "1s", "back_at": "2s"}],
        [
            {"kind": "slow_drive", "drive": 0, "speed": 0.2, "at": "1s", "until": "2s"},
            {"kind": "noisy_neighbour", "resource": "drives", "fraction": 0.5, "at": "1500ms"},
            {"kind": "noisy_neighbour", "fraction": 0.5, "at": "1s", "until": "2s"},
        ],
    ],
)
@pytest.mark.parametrize("loop", [{}, {"rate": None, "clients": 4, "duration": 2.5, "think_time": "2ms"}])
def test_engines_agree_on_events_of_minio(events, loop):
    spec = spec_of(minio(*events, **loop), "test")
    assert_identical(run(spec), run(spec, simpy_engine))


def test_survivors_do_the_work_of_a_dead_drive():
    # 12 drives, 8 shards wanted: a read takes the first 8 left from where its key begins, so that of 12 beginnings
    # 8 are without drive 0, and each of drives 1 to 8 stands in for it once. The metadata are read from all.
    large = {"object_size": "4MiB", "mix": {"GET": 1}}
    spec = spec_of(minio(*down(0, at=0, back_at="1h"), drives=12, rate=400, **large), "test")
    result = simulate(spec)
    visits = {row["name"]: row["visits"] for row in result.stations.to_pylist() if row["role"] == "drive"}
    n = len(result)
    expected = [0, *[9 / 12] * 8, *[8 / 12] * 3]
    assert visits["drive 0"] == 0
    shares = [0, *(visits[f"drive {d}"] / n - 1 for d in range(1, 12))]
    assert sum(shares) == pytest.approx(8)
    assert shares == pytest.approx(expected, abs=5 * (0.25 / n) ** 0.5)


def test_a_drive_without_parity_is_an_outage():
    result, second = outcome(*down(0), drives=1)
    failed = result.failure > 0
    assert failed[second == 1].all() and not failed[(second == 0) & (result.end_s < 1)].any()
    assert not failed[second == 2].any()


@pytest.mark.parametrize(("lost", "reads", "writes"), [(3, True, True), (4, True, False), (5, False, False)])
def test_what_goes_on_depends_on_the_quorum(lost, reads, writes):
    for op, goes_on in (("GET", reads), ("PUT", writes)):
        result, second = outcome(*down(*range(lost)), mix={op: 1})
        failed = result.failure[second == 1]
        assert (failed == (Reason.NONE if goes_on else Reason.STATION_DOWN)).all(), op
        assert not result.failure[second != 1].any()


def test_requests_wait_for_a_drive_that_hangs_until_it_is_given_up():
    result, second = outcome(*down(0, detected_after="400ms"), mix={"PUT": 1})
    hangs = (second == 1) & (result.start_s < 1.4)
    assert (result.end_s[hangs] > 1.4).all()
    latency_s = (result.end_s - result.start_s)[(second == 1) & (result.start_s > 1.5)]
    assert np.median(latency_s) < 0.01 and not result.failure.any()


@pytest.mark.parametrize("slower", [2, 10])
def test_a_slow_drive_of_one_serves_so_many_times_slower(slower):
    # A request at a time: 0.1 ms to the host, write and commit of 1 ms each, and 0.1 ms back.
    data = minio(drives=1, rate=None, clients=1, duration=3, mix={"PUT": 1})
    result = requested(data, f"slow-drive={slower}")
    during = result.failures[0].during
    assert during.ops["PUT"].latency_s["p50"] == pytest.approx(0.0002 + slower * 0.002)
    assert during.healthy.ops["PUT"].latency_s["p50"] == pytest.approx(0.0022)
    assert during.difference.ops["PUT"].latency_s["p50"].value == pytest.approx((slower - 1) * 0.002)
    assert during.ops["PUT"].throughput_ops == pytest.approx(1 / (0.0002 + slower * 0.002), rel=0.02)


def test_a_neighbour_leaves_the_rest_of_the_speed():
    data = minio(drives=1, rate=None, clients=1, mix={"GET": 1})
    during = requested(data, "noisy-neighbour:drives=0.75").failures[0].during
    assert during.ops["GET"].latency_s["p50"] == pytest.approx(0.0002 + 0.001 / 0.25)


def test_a_run_without_the_failure_is_that_of_the_spec_itself():
    plain = simulate(spec_of(minio(), "test"), seed=3)
    later = simulate(spec_of(minio(*down(0, at=1e9, back_at=2e9)), "test"), seed=3)
    assert plain.requests.equals(later.requests)


def test_before_a_failure_nothing_differs_and_windows_have_every_request():
    data = minio(rate=500)
    result = requested(data, "slow-drive=5", "drive", at_s=0.5, for_s=1.0)
    assert (result.at_s, result.until_s, result.end_s) == (0.5, 1.5, 3)
    slow, dead = result.failures
    # Both have one seed, and so one trace; of one run all requests are in one of its windows.
    total = sum(len(generate(spec_of(data, "test").workload, seed)) for seed in (seed_of(0, 0), seed_of(0, 1)))
    for row in (slow, dead):
        counts = [f.count for window in row.windows.values() for f in window.ops.values()]
        assert sum(counts) == total
        drawn = row.timeline.failing
        widths = np.array(row.timeline.end_s) - row.timeline.start_s
        done = sum(2 * (np.array(drawn[op].throughput_ops) * widths).sum() for op in drawn)
        assert done == pytest.approx(total, abs=20)  # a few end after the last window
    early = slow.windows["before"]
    assert early.ops["GET"].count == early.healthy.ops["GET"].count
    difference = slow.during.difference.ops["PUT"].latency_s["p50"]
    assert difference.low > 0.003


def test_objectives_are_judged_in_each_window_and_failed_requests_take_for_ever():
    result = requested(
        minio(drives=1), "drive", slos=("GET.p90<100ms", "GET.errors<20%", "PUT.throughput>10/s"), replications=6
    )
    verdicts = {name: set(window.slo.values()) for name, window in result.failures[0].windows.items()}
    assert verdicts == {"before": {"pass"}, "during": {"fail"}, "after": {"pass"}}


def test_precision_is_that_of_every_window():
    precision = Precision(0.3, most=6)
    row = requested(minio(rate=300), "slow-drive=3", precision=precision).failures[0]
    assert row.replications in (2, 4, 6) and (row.precise or row.replications == 6)


def test_windows_follow_the_workload():
    def workload(**fields: Any) -> Workload:
        return Workload.model_validate({"object_size": 1} | fields)

    assert Times.of(workload(duration=60)) == Times(20, 40, 60)
    assert Times.of(workload(rate=10, operations=300)) == Times(10, 20, 30)
    assert Times.of(workload(duration=60), at_s=10) == Times(10, 35, 60)
    assert list(Times.of(workload(duration=60), at_s=10, for_s=100).windows) == ["before", "during"]
    with pytest.raises(InputError, match=r"workload\.operations"):
        Times.of(workload(operations=300))


@given(st.floats(1e-3, 0.999), st.floats(1e-3, 2), st.floats(1e-3, 1e6))
def test_bins_tile_the_windows(at, lasts, end):
    times = Times(at * end, at * end + lasts * end, end)
    edges = times.edges_s
    assert edges[0] == 0 and edges[-1] == end and (np.diff(edges) > 0).all()
    for start, stop in times.windows.values():
        assert start in edges and stop in edges


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("drives", "has no drives; did you mean drive?"),
        ("node", "has no node; did you mean host?"),
        ("volcano", "has no volcano; allowed are drive, host, rack, link, slow-drive, slow-link, noisy-neighbour"),
        ("slow-drive=1", "must be above 1"),
        ("slow-drive=fast", "'fast' is not a number"),
        ("noisy-neighbour=1", "above 0 and below 1"),
        ("noisy-neighbour:ram", "allowed are cpu, drives, network"),
        ("drive=3", "takes no value"),
        ("gateway", "a minio store has no gateway"),
        ("host:1", "there is no host 1"),
        ("drive:8", "allowed are 0 to 7"),
        ("noisy-neighbour:network", "give network.bandwidth"),
    ],
)
def test_a_failure_that_cannot_be_is_named(failure, said):
    with pytest.raises(InputError, match="failure") as error:
        requested(minio(), failure)
    assert said in str(error.value)


def test_what_would_never_end_is_refused():
    with pytest.raises(InputError, match=r"takes no time without network\.latency"):
        requested(minio(rate=None) | {"network": {}}, "drive")
    with pytest.raises(InputError, match=r"faults\.0\.kind: host_down .* client\.placement"):
        requested(minio() | {"client": {"placement": "storage_hosts"}}, "host")
    with pytest.raises(InputError, match="up to"):
        requested(minio(rate=None, clients=1000, duration=60), "host")


def ceph(**sections: Any) -> dict[str, Any]:
    return {
        "store": "ceph",
        "workload": {"rate": 100, "duration": 9, "object_size": "16KiB", "mix": {"PUT": 1, "GET": 1}},
        "hosts": {"count": 4, "drives": 2, "cores": 8},
        "gateways": {"count": 2},
        "pools": {"pg_num": 32},
    } | sections


def test_every_failure_of_a_ceph_cluster_is_told_from_the_healthy_one():
    result = requested(ceph(), "drive:3", "gateway", "slow-drive=20", "noisy-neighbour=0.5", replications=1)
    windows = {row.failure: row.windows for row in result.failures}
    for failure in ("drive:3", "slow-drive=20", "noisy-neighbour=0.5"):
        puts = windows[failure]["during"]
        assert puts.difference.ops["PUT"].latency_s["p99"].value > 0, failure
        assert puts.ops["PUT"].errors == 0, failure
    gateway = windows["gateway"]["during"].ops["PUT"]
    assert 0.3 < gateway.errors / gateway.count < 0.7  # every second request goes to the dead one for all 3 s


def test_a_neighbour_on_a_ceph_host_slows_what_is_there():
    neighbours = [
        {"kind": "noisy_neighbour", "host": 1, "resource": what, "fraction": 0.25, "at": 1, "until": 2}
        for what in ("cpu", "drives", "network")
    ]
    spec = spec_of(ceph(faults=neighbours, gateways={"count": 2, "collocated": True, "cores": 1}), "test")
    network, _ = compile_spec(spec, generate(spec.workload, 0))
    slowed = {
        network.stations[a.target].name
        for a in network.scenario
        if (a.kind, a.at_s, a.value) == (ActionKind.SPEED, 1, 0.75)
    }
    drives = {f"osd {osd} {part}" for osd in (2, 3) for part in ("drive", "kv", "latency")}
    assert slowed == {"host 1 cpu", "rgw 1 cpu", "host 1 up", "host 1 down"} | drives


def test_the_only_gateway_is_an_outage_that_ends():
    clients = {"clients": 2, "duration": 24, "think_time": "5ms", "object_size": "16KiB", "mix": {"GET": 1}}
    row = requested(ceph(workload=clients, gateways={"count": 1}), "gateway", replications=1).failures[0].windows
    assert row["during"].ops["GET"].errors == pytest.approx(row["during"].ops["GET"].count, abs=4)
    assert row["after"].ops["GET"].errors == 0


def tailcast(capsys, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return exit_.value.code, out, err


def test_the_command_prints_windows_and_keeps_them(capsys, tmp_path):
    spec = tmp_path / "store.yaml"
    spec.write_text(yaml.safe_dump(minio()))
    code, out, err = tailcast(
        capsys, "failures", spec, "drive", "--workers", 1, "--at", "1s", "--for", "500ms",
        "--replications", 2, "--slo", "GET.p50<1s", "--out", tmp_path / "kept", "--json",
    )  # fmt: skip
    assert code == 0, err
    result = json.loads(out)
    row = result["failures"][0]
    assert row["event"] == {"kind": "drive_down", "drive": 0, "at": 1.0, "back_at": 1.5}
    assert [(w["start_s"], w["end_s"]) for w in row["windows"].values()] == [(0, 1), (1, 1.5), (1.5, 3)]
    assert {w["verdict"] for w in row["windows"].values()} == {"pass"}
    assert result["load"]["status"] in ("healthy", "near saturation")
    assert json.loads((tmp_path / "kept" / "failures.json").read_text()) == result
    assert "\nObjectives: drive 0 is down\n" in tailcast(
        capsys, "failures", spec, "drive", "--workers", 1, "--replications", 1, "--slo", "GET.p99<1s"
    )[1]  # fmt: skip
    code, _, err = tailcast(capsys, "failures", spec, "drive", "--at", "soon")
    assert code == 2 and "--at soon" in err


def test_ctrl_c_says_that_nothing_is_kept(capsys, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sim.experiments.failures.simulate", interrupted)
    out = ("--out", tmp_path / "kept")
    for kept in ((), out):
        code, printed, err = tailcast(capsys, "failures", EXAMPLE, "drive", "--workers", 1, *kept)
        assert (code, printed) == (130, "")
        assert err.splitlines()[-1] == "tailcast: interrupted; nothing is kept; the same command starts over"


def test_tables_and_sentences_say_what_was_found():
    result = requested(minio(drives=1), "drive", slos=("GET.p99<100ms",))
    row = result.failures[0]
    grids = failure_grids(result, row)
    assert [grid.title for grid in grids] == [f"{what}: drive 0 is down" for what in ("GET", "PUT", "Objectives")]
    during = row.during.ops["GET"]
    assert grids[0].rows[1][:3] == ["during", f"{during.count:,}", f"{during.count:,} (100%)"]
    (said,) = findings(result)
    assert said.startswith("While drive 0 is down, all GETs fail and all PUTs fail. Afterwards, GET p99 is")
    assert said.endswith(f" GET.p99<100ms is violated during the failure, {BY_ERRORS}.")
    assert grids[2].rows[1] == ["during", "fail (errors)"]


def test_sentences_are_about_operations_of_all_groups():
    result = requested(minio(drives=1), "drive")
    for window in result.failures[0].windows.values():
        window.ops.update({f"backup.{op}": figures for op, figures in window.ops.items()})
    (said,) = findings(result)
    assert "backup" not in said and "all GETs fail" in said


def test_a_gateway_that_is_back_before_anybody_notices_is_told():
    spec, slos = ceph(), ("GET.p99<1s", "PUT.errors<99%")
    result = requested(spec, "gateway", "drive", slos=slos, replications=1)
    gateway, drive = result.failures
    (note,) = gateway.notes
    assert "6 s (detected_after)" in note and "gateway 0" in note
    assert not drive.notes, "no load balancer looks after drives"
    told = findings(result)
    assert told[0].endswith(f"). GET.p99<1s is violated during the failure, {BY_ERRORS}. {note}.")
    assert re.match(
        r"While gateway 0 is down, \S+ p99 is \S+ \S+ (?:\(few\) )?\(change: .+; \d+\.\d\d% fail\) and ", told[0]
    )
    for window in gateway.windows.values():
        window.slo["GET.p99<1s"] = "fail"
    assert "GET.p99<1s is violated before, during and after the failure" in findings(result)[0]
    spec["workload"]["duration"] = 21
    assert not requested(spec, "gateway", replications=1).failures[0].notes, "it is away for 7 s"
    alone = ceph(gateways={"count": 1})
    assert not requested(alone, "gateway", replications=1).failures[0].notes, "there is nothing to balance"


def test_the_example_can_lose_a_drive():
    spec = load_spec(EXAMPLE, ["workload.duration=3s", "faults=[{kind: drive_down, drive: 0, at: 1s}]"])
    assert not simulate(spec).failed.any()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_page_is_drawn_whole(tmp_path, width):
    result = requested(minio(drives=1), "drive", "slow-drive=5", slos=("GET.p99<100ms",))
    path = tmp_path / "failures.html"
    page = failures_page(result)
    write_page(page, path)
    figures = page.figures
    assert len(figures) == 4 and path.stat().st_size < 6_000_000
    assert all(figure.layout.shapes[0].x0 == 1 and figure.layout.shapes[0].x1 == 2 for figure in figures)
    with opened(path, width, dark=width == 800) as page:
        assert page.errors == []
        assert [url for url in page.fetched if not url.startswith("data:")] == [path.as_uri()]
        assert page.evaluate("[...document.querySelectorAll('.chart')].every((c) => c.querySelector('.trace path'))")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
