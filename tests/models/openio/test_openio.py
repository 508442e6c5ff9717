"""OpenIO's model: what each request visits and waits for, where chunks and bases are, and what failures do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.openio.growth import FULL, GROWTH, knob
from models.openio.places import sets_of_drives
from models.openio.store import doubts
from models.store import compile_spec, load_spec, spec_of
from sim.analysis.bounds import bounds, bounds_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.workload.generate import generate

MIB = 1 << 20
GATEWAY_S, RAWX_S, READ_S, PROXY_S, LOOK_UP_S, UPDATE_S, COPY_S = 1e-3, 2e-3, 5e-3, 0.1e-3, 3e-3, 4e-3, 6e-3
HOP_S, WAY_S = 0.5e-3, 1e-3
CPUS = dict.fromkeys(("GET", "PUT", "HEAD", "DELETE", "LIST"), GATEWAY_S)
BASE: dict[str, Any] = {
    "store": "openio",
    "workload": {"rate": "1/s", "operations": 1, "object_size": "4KiB", "keys": {"kind": "uniform", "count": 1000}},
    "network": {"latency": WAY_S, "payload_fraction": 1},
    "gateways": {"cpu": CPUS, "cores": 64},
    "hosts": {
        "count": 6, "cores": 64, "cpu": dict.fromkeys(("GET", "PUT", "DELETE"), RAWX_S), "internode": {"latency": HOP_S}
    },
    "drives": {"count": 2, "read": READ_S, "write": 0},
    "directory": {"proxy": PROXY_S, "read": LOOK_UP_S, "write": UPDATE_S, "replicate": COPY_S, "list": "7ms"},
}  # fmt: skip
REQUEST_S = 2 * WAY_S + GATEWAY_S
UPDATED_S = PROXY_S + 2 * HOP_S + UPDATE_S + 2 * HOP_S + COPY_S
STORED_S = PROXY_S + 2 * HOP_S + 2 * HOP_S + RAWX_S  # a metachunk: prepared, connected, written
FETCHED_S = 4 * HOP_S + RAWX_S + READ_S


def cluster(**sections: Any):
    data = dict(BASE)
    for name, value in sections.items():
        data[name] = {**data.get(name, {}), **value} if isinstance(value, dict) else value
    return spec_of(data, "spec")


def ran(spec, op: str, n: int = 60, size: int = 4096, gap_s: float = 1.0, engine=compiled_engine):
    """Requests one after the other: latencies, failures, visits by role, and the outcome."""
    trace = trace_of([op] * n, [f"k{i}" for i in range(n)], size_bytes=size, arrival_s=np.arange(n) * gap_s)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    visits: dict[str, int] = {}
    for station, count in zip(network.stations, outcome.visits.tolist(), strict=True):
        visits[station.role] = visits.get(station.role, 0) + count
    return outcome.end_s - np.arange(n) * gap_s, outcome.failure > 0, visits, outcome


# What a lone request waits for


@pytest.mark.parametrize(
    ("op", "expected_s"),
    [
        ("PUT", REQUEST_S + STORED_S + UPDATED_S),
        ("GET", REQUEST_S + PROXY_S + 2 * HOP_S + LOOK_UP_S + FETCHED_S),
        ("HEAD", REQUEST_S + PROXY_S + 2 * HOP_S + LOOK_UP_S),
        ("DELETE", REQUEST_S + UPDATED_S),
        ("LIST", REQUEST_S + PROXY_S + 2 * HOP_S + 7e-3),
    ],
)
def test_a_lone_request_takes_the_sum_of_its_steps(op, expected_s):
    assert ran(cluster(), op)[0] == pytest.approx(np.full(60, expected_s))


def test_metachunks_follow_one_another():
    """25 MiB are three chunks of 10 MiB, but one metachunk of an erasure code with four data chunks."""
    three = REQUEST_S + 3 * STORED_S + UPDATED_S
    assert ran(cluster(), "PUT", size=25 * MIB)[0] == pytest.approx(np.full(60, three))
    of_reads = REQUEST_S + PROXY_S + 2 * HOP_S + LOOK_UP_S + 3 * FETCHED_S
    assert ran(cluster(), "GET", size=25 * MIB)[0] == pytest.approx(np.full(60, of_reads))
    coded = cluster(chunks={"erasure": {"data": 4, "parity": 2}})
    assert ran(coded, "PUT", size=25 * MIB)[0] == pytest.approx(np.full(60, three - 2 * STORED_S), abs=25 * MIB * 1e-9)


def test_a_read_takes_k_chunks_and_a_write_all():
    coded = cluster(chunks={"erasure": {"data": 4, "parity": 2}}, gateways={"coding": 0})
    assert ran(coded, "GET")[2]["drive"] == 60 * 4
    assert ran(coded, "PUT")[2]["drive"] == 60 * 6
    assert ran(cluster(), "DELETE", size=25 * MIB)[2]["host cpu"] == 60 * (3 + 3 * 3)


# Arithmetic


def harmonic(n: int) -> float:
    return sum(1 / k for k in range(1, n + 1))


@pytest.mark.parametrize(
    ("chunks", "width"), [({"replicas": 3}, 3), ({"erasure": {"data": 4, "parity": 2}}, 6), ({"replicas": 1}, 1)]
)
def test_a_put_waits_for_the_slowest_of_all_chunks_and_not_for_a_quorum(chunks, width):
    """The largest of n exponential times has the mean of one times the n-th harmonic number."""
    times = {"constant": 0.1, "distribution": {"kind": "exponential"}}
    spec = cluster(hosts={"cpu": {"PUT": times}}, chunks=chunks, gateways={"coding": 0})
    latency_s = ran(spec, "PUT", n=20_000)[0]
    expected_s = REQUEST_S + STORED_S - RAWX_S + UPDATED_S + 0.1 * harmonic(width)
    assert latency_s.mean() == pytest.approx(expected_s, rel=0.02)
    quorum = spec.protection.write_quorum
    if quorum < width:
        assert latency_s.mean() > 1.2 * (expected_s - 0.1 * harmonic(width - quorum))


def closed(op: str, containers: int = 1, clients: int = 64, **sections: Any) -> float:
    workload = {
        "rate": None, "clients": clients, "duration": "20s", "operations": None, "object_size": "4KiB", "mix": {op: 1},
        "keys": {"kind": "uniform", "count": 10_000},
    }  # fmt: skip
    directory = {"containers_per_bucket": containers, **sections.pop("directory", {})}
    spec = cluster(workload=workload, directory=directory, **sections)
    run = simulate(spec, generate(spec.workload, 0), seed=0)
    assert not run.failed.any()
    return float((run.requests.column("end_s").to_numpy() < 20).sum()) / 20


def test_a_container_serves_one_update_at_a_time():
    """The master keeps its base until both other copies have the update, and no base is synced."""
    kept_s = UPDATE_S + 2 * HOP_S + COPY_S
    assert closed("DELETE") == pytest.approx(1 / kept_s, rel=0.01)
    assert closed("PUT") == pytest.approx(1 / kept_s, rel=0.01)
    assert closed("DELETE", directory={"replicas": 1}) == pytest.approx(1 / UPDATE_S, rel=0.01)
    assert closed("DELETE", containers=16, clients=256) > 10 / kept_s


def test_look_ups_are_spread_over_two_copies():
    assert closed("HEAD", clients=256) == pytest.approx(2 / LOOK_UP_S, rel=0.02)


@pytest.mark.parametrize(("chunks", "bytes_out"), [({"replicas": 3}, 3), ({"erasure": {"data": 4, "parity": 2}}, 1.5)])
def test_links_bound_the_bytes_that_collocated_gateways_take(chunks, bytes_out):
    """A host receives each byte as a gateway, and the chunks of all gateways but its own."""
    nic, hosts = 1.25e9, 6
    spec = cluster(
        hosts={"nic": nic}, gateways={"collocated": True}, chunks=chunks,
        workload={"rate": None, "clients": 100, "operations": 5000, "object_size": "1MiB", "mix": {"PUT": 1}},
        drives={"write": 0}, directory={"containers_per_bucket": 64},
    )  # fmt: skip
    found = bounds(*compile_spec(spec, generate(spec.workload, 0)))
    each = nic / (1 + bytes_out * (hosts - 1) / hosts)
    assert found.max_throughput_ops * MIB / hosts == pytest.approx(each, rel=0.05)


def test_pages_that_are_not_written_back_hold_writes_up():
    write = {"write": {"per_byte": 1e-7}, "count": 1}
    slow = cluster(drives={**write, "dirty_limit": 12 * MIB}, hosts={"count": 3})
    unlimited = cluster(drives=write, hosts={"count": 3})
    latencies = [ran(each, "PUT", n=60, size=MIB, gap_s=0.02)[0] for each in (unlimited, slow)]
    assert latencies[0] == pytest.approx(np.full(60, latencies[0][0]))
    assert np.diff(latencies[1][30:]) == pytest.approx(np.full(29, MIB * 1e-7 - 0.02), rel=1e-6)


# Places


@pytest.mark.parametrize(("hosts", "per_host", "width"), [(6, 12, 9), (35, 12, 9), (4, 3, 6), (3, 1, 3), (1, 4, 3)])
def test_chunks_are_on_as_many_hosts_as_possible_and_evenly(hosts, per_host, width):
    chosen = sets_of_drives(hosts, per_host, width)[:, :width]
    assert all(len(set(row)) == width for row in chosen.tolist())
    on_host = [np.bincount(row // per_host, minlength=hosts).max() for row in chosen]
    assert max(on_host) == -(-width // hosts)
    counts = np.bincount(chosen.ravel(), minlength=hosts * per_host)
    assert counts.max() - counts.min() <= 1


# Growth, and what is probably not meant


def test_drives_fill_and_bases_grow_with_the_objects():
    spec = cluster(
        hosts={"count": 6}, drives={"count": 12, "capacity": "8TB"}, chunks={"erasure": {"data": 6, "parity": 3}},
        stored={"objects": 1e8, "object_size": "1MiB"}, directory={"containers_per_bucket": 40},
    )  # fmt: skip
    trace = generate(spec.workload, 0)
    state = GROWTH.state(spec, trace)
    assert state["fill_fraction"] == pytest.approx(1e8 * MIB * 1.5 / (72 * 8e12))
    assert state["objects_per_container"] == pytest.approx(1e8 / 40)
    found = {effect.name: effect.objects for effect in GROWTH.effects(spec, trace, 1e6, 1e9)}
    assert set(found) == {"base", "full"}
    assert GROWTH.state(GROWTH.grown(spec, found["full"]), trace)["fill_fraction"] == pytest.approx(FULL)
    assert GROWTH.full(0.79) is None and "80% full" in str(GROWTH.full(0.8))
    wider = spec.model_copy(update={"directory": spec.directory.model_copy(update={"containers_per_bucket": 80})})
    later = {effect.name: effect.objects for effect in GROWTH.effects(wider, trace, 1e6, 1e9)}
    assert later["full"] == found["full"] and later["base"] == pytest.approx(2 * found["base"])
    more = knob(spec, "base")
    assert more is not None and (more.path, more.now) == ("directory.containers_per_bucket", 40)
    full = knob(spec, "full")
    assert full is not None and full.path == "drives.count"


def test_a_host_with_more_chunks_than_the_parity_is_doubtful():
    coded = {"erasure": {"data": 6, "parity": 2}}
    (doubt,) = doubts(cluster(hosts={"count": 3}, drives={"count": 4}, chunks=coded))
    assert doubt.path == "chunks.erasure" and "3 of 8 chunks are on one of 3 hosts" in doubt.text
    assert not list(doubts(cluster(hosts={"count": 4}, drives={"count": 4}, chunks=coded)))
    full = {"objects": 1e12, "object_size": "1MiB"}
    assert [each.path for each in doubts(cluster(stored=full))] == ["stored.objects"]


# Failures; they begin at 100 s and end at 200 s


def failed_at(op: str, fault: dict[str, Any], n: int = 300, containers: int = 1, **sections: Any):
    """Requests before, during and after a fault: latencies, failures, and the outcome."""
    directory = {"containers_per_bucket": containers}
    spec = cluster(faults=[{"at": 100, "back_at": 200} | fault], directory=directory, **sections)
    latency_s, failed, _, outcome = ran(spec, op, n)
    return np.split(latency_s, [100, 200]), np.split(failed, [100, 200]), outcome


HUNG = {"kind": "rawx_hung", "drive": 3, "detected_after": 50}


def test_a_rawx_that_hangs_costs_a_write_its_timeout_until_its_score_is_0():
    (before, during, after), failed, _ = failed_at("PUT", HUNG, containers=1000)
    assert not np.concatenate(failed).any()
    slow = during > 1
    assert slow[:50].mean() == pytest.approx(3 / 12, abs=0.12) and not slow[50:].any()
    assert during[:40][slow[:40]] == pytest.approx(60 + before[0] - 2 * HOP_S - RAWX_S)
    assert after == pytest.approx(before[0] * np.ones(100))


def test_its_return_ends_the_wait():
    (before, during, _), failed, _ = failed_at("PUT", HUNG | {"back_at": 130}, containers=1000)
    waited = during[:30] > 1
    assert waited.any() and not np.concatenate(failed).any()
    until = 30 - np.arange(30)[waited]
    assert np.all(np.abs(during[:30][waited] - until) < before[0])


def test_a_write_that_hangs_in_too_many_places_fails_after_the_timeout():
    two = [{"at": 100, "kind": "rawx_hung", "drive": drive, "detected_after": 100} for drive in (0, 1)]
    spec = cluster(faults=two, hosts={"count": 3}, drives={"count": 1}, directory={"replicas": 3})
    latency_s, failed, _, _ = ran(spec, "PUT", 150)
    assert not failed[:100].any() and failed[100:].all()
    assert np.all(latency_s[100:] > 60) and np.all(latency_s[100:] < 60.1)


def test_a_read_replaces_what_hangs_after_its_timeout():
    (before, during, _), failed, _ = failed_at("GET", HUNG)
    slow = during > 1
    assert not np.concatenate(failed).any()
    assert 0 < slow[:50].sum() < 12 and not slow[50:].any()  # it is first of three in one set of four
    assert during[:40][slow[:40]] == pytest.approx(60 + before[0])


def test_a_rawx_that_is_killed_costs_nothing():
    for op in ("GET", "PUT"):
        (before, during, _), failed, _ = failed_at(op, {"kind": "rawx_down", "drive": 3})
        assert not np.concatenate(failed).any()
        assert during.max() == pytest.approx(before.max())


def test_a_host_without_power_costs_connections_their_timeout():
    fault = {"kind": "host_down", "host": 1, "detected_after": 50, "elected_after": 0}
    (before, during, _), failed, _ = failed_at("PUT", fault, containers=1000)
    assert not np.concatenate(failed).any()
    slow = during[:50] > 1
    assert slow.mean() == pytest.approx(1 / 2, abs=0.15)  # three of six hosts have a chunk
    assert during[:50][slow] == pytest.approx(10 + before[0] - 2 * HOP_S)
    assert during[50:].max() == pytest.approx(before[0])


def test_updates_wait_for_an_election_and_look_ups_do_not():
    fault = {"kind": "meta2_down", "host": 0, "elected_after": 15}  # host 0 has the master of the only container
    (before, during, _), failed, _ = failed_at("DELETE", fault)
    assert not np.concatenate(failed).any()
    assert during[:15] == pytest.approx(15 - np.arange(15) + before[0], abs=0.6)
    assert during[20:] == pytest.approx(np.full(80, before[0]))
    (before, during, _), failed, _ = failed_at("HEAD", fault)
    assert during.max() == pytest.approx(before.max()) and not np.concatenate(failed).any()


def test_updates_give_up_after_20_s():
    (_, during, _), failed, _ = failed_at("DELETE", {"kind": "meta2_down", "host": 0, "elected_after": 30})
    assert failed[1][:10].all() and not failed[1][11:].any()
    assert during[:9] == pytest.approx(np.full(9, 20), abs=0.1)


def test_no_majority_of_copies_refuses_updates_alone():
    two = [{"at": 100, "kind": "meta2_down", "host": host} for host in (0, 1)]
    for op, fails in (("DELETE", True), ("HEAD", False)):
        failed = ran(cluster(faults=two), op, 150)[1]
        assert not failed[:100].any() and failed[125:].all() == fails


def test_an_erasure_code_reads_without_the_parity_and_not_without_more():
    coded = {"chunks": {"erasure": {"data": 4, "parity": 2}}, "drives": {"count": 1}}
    for lost, fails in ((2, False), (3, True)):
        faults = [{"at": 100, "kind": "rawx_down", "drive": drive} for drive in range(lost)]
        assert ran(cluster(faults=faults, **coded), "GET", 150)[1][100:].all() == fails
    one = [{"at": 100, "kind": "rawx_down", "drive": 0}]
    two = [*one, {"at": 100, "kind": "rawx_down", "drive": 1}]
    assert not ran(cluster(faults=one, **coded), "PUT", 150)[1].any()  # five of six chunks are the quorum
    assert ran(cluster(faults=two, **coded), "PUT", 150)[1][100:].all()


def test_a_gateway_that_fails_is_left_out_after_a_while():
    fault = {"kind": "gateway_down", "gateway": 1, "detected_after": 20}
    failed = failed_at("HEAD", fault, gateways={"count": 2})[1]
    assert failed[1][:20].mean() == pytest.approx(0.5) and not failed[1][20:].any()


# What was published


def test_the_rate_of_2019_is_that_of_links():
    """1.372 Tbit/s on some 350 servers are 490 MB/s a server."""
    path = EXAMPLES / "openio" / "2019-servers.yaml"
    few, spec = (load_spec(path, changes) for changes in (
        ["workload.duration=null", "workload.operations=2000"], ["workload.duration=60s"]
    ))  # fmt: skip
    most_ops, servers = bounds_of(few, generate(few.workload, 0)).max_throughput_ops, spec.hosts.count
    assert most_ops is not None
    assert most_ops * 240 * MIB / servers == pytest.approx(
        spec.network.payload * 1.25e9 / (1 + 1.5 * 34 / 35), rel=1e-6
    )
    run = simulate(spec, generate(spec.workload, 0), seed=0)
    end_s = run.requests.column("end_s").to_numpy()
    rate_ops = ((end_s > 20) & (end_s <= 60)).sum() / 40
    assert not run.failed.any()
    assert rate_ops * 240 * MIB / servers == pytest.approx(490e6, rel=0.07)


# Both engines

FAULTS = (
    {"kind": "rawx_hung", "drive": 3, "at": 0.2, "back_at": 0.9},
    {"kind": "rawx_down", "drive": 5, "at": 0.1},
    {"kind": "host_down", "host": 2, "at": 0.4, "back_at": 1.5, "elected_after": 0.3, "detected_after": 0.2},
    {"kind": "meta2_down", "host": 0, "at": 0.3, "elected_after": 0.4},
    {"kind": "slow_drive", "drive": 1, "speed": 0.1, "at": 0.5},
    {"kind": "noisy_neighbour", "host": 4, "resource": "network", "fraction": 0.5, "at": 0.6},
)


@pytest.mark.parametrize("size", ["64KiB", "25MiB"])
@pytest.mark.parametrize("collocated", [False, True])
@pytest.mark.parametrize("chunks", [{}, {"erasure": {"data": 4, "parity": 2}, "timeout": "0.5s"}])
def test_engines_agree(size, collocated, chunks):
    times = {"constant": 2e-4, "per_byte": 1e-10, "distribution": {"kind": "exponential"}}
    spec = cluster(
        workload={
            "rate": None, "clients": 20, "operations": 400, "object_size": size, "buckets": 3,
            "mix": {"GET": 4, "PUT": 4, "HEAD": 1, "DELETE": 1, "LIST": 1},
        },
        client={"machines": 2, "nic": "10Gbit/s", "timeout": "2s", "retry": {"retries": 1, "backoff": "10ms"}},
        gateways={"collocated": collocated, "count": 2, "nic": 2e9},
        hosts={"nic": 1e9, "cpu": {"GET": times, "PUT": times, "DELETE": times}, "page_cache": {"hit_ratio": 0.3}},
        drives={"read": times, "write": times, "dirty_limit": 50 * MIB},
        directory={"containers_per_bucket": 2}, chunks=chunks, faults=list(FAULTS),
    )  # fmt: skip
    program = Program.of(*compile_spec(spec, generate(spec.workload, 1)), 1)
    fast, slow = compiled_engine.run(program), simpy_engine.run(program)
    assert len(fast.end_s) and np.array_equal(fast.end_s, slow.end_s)
    assert np.array_equal(fast.failure, slow.failure) and np.array_equal(fast.visits, slow.visits)


# Mistakes


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"chunks": {"replicas": 10}, "hosts": {"count": 3}}, r"chunks\.replicas: 10 chunks of an object need as many"),
        ({"chunks": {"erasure": {"data": 10, "parity": 4}}}, r"chunks\.erasure: 14 chunks .* there are 12"),
        ({"hosts": {"count": 2}}, r"directory\.replicas is 3; there are 2 hosts"),
        ({"client": {"placement": "storage_hosts"}}, r"client\.placement: clients on storage hosts are not modelled"),
        ({"client": {"multipart": {}}}, r"client\.multipart: is not modelled for OpenIO"),
        ({"faults": [{"kind": "rawx_hung", "drive": 12, "at": 1}]}, r"faults\.0\.drive: there is no drive 12"),
        ({"faults": [{"kind": "gateway_down", "gateway": 1, "at": 1}]}, r"faults\.0\.gateway: there is no gateway 1"),
        ({"faults": [{"kind": "rawx_dead", "at": 1}]}, r"faults\.0"),
        ({"gateways": {"preset": "openio"}}, r"gateways: preset is 'openio'; allowed are openio-gateway"),
        ({"directory": {"replicas": 0}}, r"directory\.replicas: is 0"),
    ],
)
def test_mistakes_are_named(sections, said):
    with pytest.raises(InputError, match=said) as raised:
        cluster(**sections)
    assert "\n" not in str(raised.value)
