"""Swift's model: which accesses and waits each request has, hedged reads, and what failures do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from models.store import compile_spec, spec_of
from models.swift.cluster.epochs import epochs_of
from models.swift.cluster.ring import orders_of, placed
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.small_traces import trace_of
from traces.errors import InputError

KIB, MIB = 1 << 10, 1 << 20
ACCESS_S, PROXY_S, SERVER_S, UPDATE_S = 8e-3, 4e-3, 2e-3, 1e-3

BASE: dict[str, Any] = {
    "store": "swift",
    "workload": {"rate": "1/s", "operations": 1, "object_size": "4KiB"},
    "network": {"latency": "1ms", "payload_fraction": 1},
    "proxies": {"cores": 1, "cpu": dict.fromkeys(("GET", "PUT", "HEAD", "DELETE", "LIST"), PROXY_S)},
    "hosts": {
        "count": 3, "zones": 3, "servers_per_port": 1, "update_cpu": UPDATE_S,
        "cpu": dict.fromkeys(("GET", "PUT", "HEAD", "DELETE", "LIST"), SERVER_S),
    },
    "drives": {
        "read": ACCESS_S, "write": ACCESS_S, "sync": ACCESS_S, "read_size": "64KiB", "write_size": "64KiB",
    },
    "ring": {"part_power": 6},
}  # fmt: skip


def cluster(**sections: Any):
    data = dict(BASE)
    for name, value in sections.items():
        data[name] = {**data.get(name, {}), **value} if isinstance(value, dict) else value
    return spec_of(data, "spec")


def ran(spec, op: str, n: int = 1, size: int = 4 * KIB, gap_s: float = 1.0, engine=compiled_engine):
    """Requests one after the other: latencies, failures, and visits by role."""
    trace = trace_of([op] * n, [f"k{i}" for i in range(n)], size_bytes=size, arrival_s=np.arange(n) * gap_s)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    visits: dict[str, int] = {}
    for station, count in zip(network.stations, outcome.visits.tolist(), strict=True):
        visits[station.role] = visits.get(station.role, 0) + count
    return outcome.end_s - np.arange(n) * gap_s, outcome.failure > 0, visits, outcome


# Accesses, as logged by drives under a real Swift 2.30.1


@pytest.mark.parametrize(
    ("op", "size", "accesses", "drives"),
    [
        ("PUT", 4 * KIB, 6, 3), ("PUT", MIB, 21, 3), ("GET", 4 * KIB, 1, 1), ("GET", MIB, 16, 1), ("HEAD", KIB, 0, 1),
        ("DELETE", 4 * KIB, 3, 3), ("LIST", 4 * KIB, 0, 0),
    ],
)  # fmt: skip
def test_accesses_of_each_operation(op, size, accesses, drives):
    _, failed, visits, _ = ran(cluster(), op, size=size)
    assert not failed.any()
    assert visits["drive"] == accesses * drives


def test_an_overwrite_makes_no_directories_and_a_known_suffix_one():
    assert ran(cluster(overwrites=1), "PUT")[2]["drive"] == 4 * 3
    assert ran(cluster(stored={"objects": 1e9}), "PUT")[2]["drive"] == 5 * 3


def test_latencies_of_lone_requests():
    ways_s = 2e-3
    assert ran(cluster(), "GET")[0] == pytest.approx(ways_s + PROXY_S + SERVER_S + ACCESS_S)
    assert ran(cluster(), "PUT")[0] == pytest.approx(ways_s + PROXY_S + SERVER_S + 6 * ACCESS_S + UPDATE_S)


@pytest.mark.parametrize("nic", [1e6, 100e6])
def test_bytes_of_a_get_are_sent_while_the_next_ones_are_read(nic):
    """The slower of both counts, and the last 64 KiB of 1 MiB are sent after they have been read."""
    latency_s = ran(cluster(proxies={"nic": nic}), "GET", size=MIB)[0]
    reads_s, sent_s = SERVER_S + 16 * ACCESS_S, MIB / nic
    both_s = 2e-3 + PROXY_S + max(reads_s, sent_s * 15 / 16) + sent_s / 16
    assert latency_s == pytest.approx(both_s, rel=0.01)


def test_a_page_cache_collects_what_is_written():
    visits = ran(cluster(drives={"write_size": 0}), "PUT", size=MIB)[2]
    assert visits["drive"] == 5 * 3  # the data, three syncs of directories, one of the file


def test_one_process_serves_one_drive_at_a_time():
    """With one worker process for three drives, reads of different drives wait for each other."""
    own, shared = (
        ran(cluster(hosts=hosts, drives={"count": 3}), "GET", n=60, gap_s=1e-4)[0].max()
        for hosts in ({"count": 1, "zones": 1}, {"count": 1, "zones": 1, "servers_per_port": 0, "workers": 1})
    )
    assert shared > 60 * (ACCESS_S + SERVER_S) > 1.5 * own


def test_fragments_of_an_erasure_code():
    spec = cluster(hosts={"count": 6, "zones": 6}, ring={"part_power": 6, "erasure": {"data": 4, "parity": 2}})
    assert ran(spec, "GET", size=MIB)[2]["drive"] == 4 * 4
    assert ran(spec, "PUT", size=MIB)[2]["drive"] == 6 * (4 + 5 + 1)  # a sync more: the rename after the second round


def test_replicas_are_spread_over_zones_and_drives():
    host = np.arange(12, dtype=np.int32) // 2
    ring = placed("objects", 256, 3, host, (host % 3).astype(np.int32))
    assert all(len(set(host[row[:3]] % 3)) == 3 for row in ring)
    loads = np.bincount(ring[:, :3].ravel(), minlength=12)
    assert loads.max() - loads.min() <= 2
    assert all(sorted(row) == list(range(12)) for row in ring.tolist())


@pytest.mark.parametrize("replicas", [1, 2, 3, 5, 12])
def test_each_replica_is_tried_first_as_often(replicas):
    orders = orders_of(replicas)
    assert len(set(np.bincount(orders[:, 0], minlength=replicas))) == 1
    assert all(sorted(order) == list(range(replicas)) for order in orders.tolist())


# Hedged reads

SLOW = {"kind": "slow_drive", "drive": 1, "speed": 0.1, "at": 0}


def test_hedged_reads_cut_the_tail_of_a_slow_drive():
    normal_s = 2e-3 + PROXY_S + SERVER_S + ACCESS_S
    plain = ran(cluster(faults=[SLOW]), "GET", n=300)
    hedge = {"concurrent_gets": True, "concurrency_timeout": "20ms"}
    hedged = ran(cluster(faults=[SLOW], proxies=hedge), "GET", n=300)
    slow = plain[0] > 2 * normal_s
    assert slow.mean() == pytest.approx(1 / 3, abs=0.08)
    assert plain[0][slow] == pytest.approx(normal_s + 9 * ACCESS_S)
    assert hedged[0][slow] == pytest.approx(0.02 + normal_s)
    assert hedged[0][~slow] == pytest.approx(normal_s)
    assert hedged[2]["drive"] == 300 + slow.sum()  # the slow read is still done, and one more


def test_a_hedge_counts_until_the_first_bytes():
    """A large object takes longer than the timeout, but its first bytes do not."""
    hedge = {"concurrent_gets": True, "concurrency_timeout": "50ms"}
    _, _, visits, outcome = ran(cluster(proxies=hedge), "GET", size=MIB)
    assert visits["drive"] == 16
    assert outcome.first_byte_s[0] < 0.05 < outcome.end_s[0]


def test_a_hedged_read_continues_on_the_server_that_responded():
    hedge = {"concurrent_gets": True, "concurrency_timeout": "20ms"}
    normal = ran(cluster(), "GET", size=MIB)[0][0]
    found = ran(cluster(faults=[SLOW], proxies=hedge), "GET", n=60, size=MIB, gap_s=10.0)[0]
    assert found.max() == pytest.approx(normal + 0.02)


# Failures; they begin at 100 s and end at 200 s


def failed_at(op: str, fault: dict[str, Any], n: int = 300, engine=compiled_engine, **sections: Any):
    spec = cluster(faults=[{"at": 100, "back_at": 200} | fault], **sections)
    latency_s, failed, _, outcome = ran(spec, op, n, engine=engine)
    return np.split(latency_s, [100, 200]), np.split(failed, [100, 200]), outcome


@pytest.mark.parametrize("op", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("fault", [{"kind": "host_down", "host": 1}, {"kind": "drive_down", "drive": 1}])
def test_a_killed_part_is_avoided_at_once(op, fault):
    (before, during, _), failed, _ = failed_at(op, fault)
    assert not np.concatenate(failed).any()
    assert during.max() <= np.median(before) + 1e-9


def test_handoffs_take_the_writes_of_a_failed_drive():
    four = {"count": 4, "zones": 4}
    spec = cluster(hosts=four, faults=[{"kind": "drive_down", "drive": 1, "at": 0.5}])
    assert ran(spec, "PUT", n=40)[2]["drive"] == 40 * 6 * 3
    assert ran(cluster(faults=[{"kind": "drive_down", "drive": 1, "at": 0.5}]), "PUT", n=41)[2]["drive"] == 6 * (3 + 80)


def test_without_a_write_quorum_puts_are_refused_and_gets_are_not():
    two = [{"kind": "host_down", "host": h, "at": 0.5} for h in (0, 1)]
    assert ran(cluster(faults=two), "PUT", n=20)[1][1:].all()
    assert not ran(cluster(faults=two), "GET", n=20)[1].any()


def test_a_frozen_drive_costs_node_timeouts_until_it_is_avoided():
    fault = {"kind": "drive_frozen", "drive": 1, "detected_after": 50}
    (before, during, after), failed, _ = failed_at("GET", fault)
    assert not np.concatenate(failed).any()
    usual = np.median(before)
    noticing, avoided = during[:50], during[60:]  # between, those wait for a drive that retries use at the same time
    assert (noticing > 10).mean() == pytest.approx(1 / 3, abs=0.15)
    assert noticing.max() == pytest.approx(10 + usual, abs=ACCESS_S + SERVER_S + 1e-9)
    assert avoided.max() == pytest.approx(usual) == np.median(after)
    hedged, *_ = failed_at("GET", fault, proxies={"concurrent_gets": True, "concurrency_timeout": "50ms"})
    assert hedged[1].max() == pytest.approx(0.05 + usual)


def test_a_cut_link_also_delays_the_updates_of_containers():
    """Proxies avoid the host after some errors, object servers do not: half a second for each PUT."""
    fault = {"kind": "link_down", "host": 1, "detected_after": 5}
    (before, during, _), failed, _ = failed_at("PUT", fault)
    assert not np.concatenate(failed).any()
    assert np.median(during[10:]) == pytest.approx(np.median(before) - UPDATE_S + 0.5, abs=2e-3)
    (before, during, _), *_ = failed_at("GET", fault)
    assert during[5:65].max() == pytest.approx(np.median(before))  # after a minute, proxies try the host again


def test_the_time_until_a_silent_part_is_avoided_follows_from_the_load():
    def avoided_s(rate: str, **fault: Any) -> float:
        workload = {**BASE["workload"], "rate": rate, "mix": {"GET": 1}}
        return epochs_of(cluster(workload=workload, faults=[{"at": 10, **fault}]))[2].at_s - 10

    frozen = {"kind": "drive_frozen", "drive": 0}
    assert avoided_s("3/s", **frozen) == pytest.approx(10 + 11)  # a third of the reads: an error a second
    assert avoided_s("33/s", **frozen) == pytest.approx(10 + 1)
    assert avoided_s("33/s", kind="link_down", host=0) == pytest.approx(0.5 + 1)


def test_a_failed_proxy_refuses_until_the_balancer_leaves_it_out():
    fault = {"kind": "proxy_down", "proxy": 0, "detected_after": 10}
    _, failed, _ = failed_at("GET", fault, proxies={"count": 2})
    assert [part.sum() for part in failed] == [0, 5, 0]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "drive_down", "drive": 1}, {"kind": "drive_frozen", "drive": 1}, {"kind": "host_down", "host": 1},
        {"kind": "link_down", "host": 1}, {"kind": "proxy_down", "proxy": 1},
    ],
)  # fmt: skip
def test_engines_agree_on_failures(fault):
    more = {
        "proxies": {"count": 2, "concurrent_gets": True, "concurrency_timeout": "10ms"},
        "client": {"retry": {"retries": 2}, "timeout": "90s", "hedge": {"after": "80ms"}},
    }
    fast, plain = (failed_at("GET", fault, engine=engine, **more)[2] for engine in (compiled_engine, simpy_engine))
    assert np.array_equal(fast.end_s, plain.end_s, equal_nan=True)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"faults": [{"kind": "drive_down", "drive": 3, "at": 1}]}, r"faults\.0\.drive: there is no drive 3"),
        ({"ring": {"replicas": 4}}, "ring.replicas"),
        ({"hosts": {"zones": 4}}, "hosts.zones"),
        ({"client": {"placement": "storage_hosts"}}, "client.placement"),
        ({"drives": {"preset": "nvmee"}}, "did you mean nvme"),
    ],
)
def test_mistakes_are_named(sections, said):
    with pytest.raises(InputError, match=said):
        cluster(**sections)


@pytest.mark.parametrize(("size", "awaited"), [(4 * KIB, 0), (64 * KIB, 0), (MIB, 15)])
def test_a_write_waits_for_a_quorum_and_some_time_more(size, awaited):
    """The last 64 KiB that a slow server has to write are in sockets, and not waited for."""
    slow = {"kind": "slow_drive", "drive": 1, "speed": 0.01, "at": 0}
    spec = cluster(faults=[slow], overwrites=1)
    begun_s = 2e-3 + PROXY_S + SERVER_S / 2
    expected_s = begun_s + awaited * 100 * ACCESS_S + spec.proxies.post_quorum_timeout
    assert ran(spec, "PUT", size=size)[0] == pytest.approx(expected_s)


@pytest.mark.parametrize(("nic", "stays"), [(25e6, True), (1e6, False)])
def test_a_process_stays_with_a_request_unless_its_socket_is_slower_than_the_drive(nic, stays):
    """As the logs of drives show: all reads of an object come one after the other, and another GET waits for them."""
    one = {"hosts": {"count": 1, "zones": 1, "nic": nic}, "ring": {"part_power": 6, "replicas": 1}}
    spec = cluster(**one, containers={"replicas": 1})
    lone_s = ran(spec, "GET", size=MIB)[0][0]
    first_s, second_s = ran(spec, "GET", n=2, size=MIB, gap_s=1e-3)[0]
    assert (first_s == pytest.approx(lone_s)) == stays
    assert second_s > 1.8 * 16 * ACCESS_S


# One machine: hosts, proxies and clients share its cores

_MACHINE = {"cores": {"count": 2, "shared": True}}
_ON_IT = {"placement": "storage_hosts", "cpu": {"GET": "1ms", "PUT": "1ms"}}


def _rate(spec) -> float:
    run = simulate(spec)
    return len(run.requests) / float(run.column("end_s").max())


def test_hosts_of_one_machine_have_its_cores_together():
    fast = {"read": 0, "write": 0, "sync": 0}
    load = {"clients": 16, "operations": 1000, "mix": {"GET": 1}}
    data = {**BASE, "workload": {"object_size": "4KiB", **load}, "drives": fast, "client": _ON_IT}
    spec = spec_of({**data, "hosts": {**BASE["hosts"], **_MACHINE}}, "spec")
    assert _rate(spec) == pytest.approx(2 / (PROXY_S + SERVER_S + 1e-3), rel=0.02)
    slower = {"cores": {"count": 2, "shared": True, "speed": 0.5}}
    slow = spec_of({**data, "hosts": {**BASE["hosts"], **slower}}, "spec")
    assert _rate(slow) == pytest.approx(2 / (2 * (PROXY_S + SERVER_S) + 1e-3), rel=0.02)
    names = [row["name"] for row in simulate(spec).station_rows if "cpu" in row["role"]]
    assert names == ["host cpu"]


@pytest.mark.parametrize("faults", [[], [{"kind": "drive_down", "drive": 1, "at": 1}]])
def test_engines_agree_on_one_machine(faults):
    load = {"rate": "60/s", "operations": 200, "mix": {"GET": 70, "PUT": 30}}
    spec = cluster(hosts=_MACHINE, client=_ON_IT, workload=load, faults=faults)
    a, b = (simulate(spec, engine=engine) for engine in ("compiled", "simpy"))
    assert a.requests.equals(b.requests)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"client": _ON_IT}, "client.placement: clients on storage hosts are not modelled"),
        ({"hosts": _MACHINE, "client": {**_ON_IT, "hosts": [1]}}, "client.hosts: has no effect with hosts."),
        ({"hosts": _MACHINE, "proxies": {"count": 2}, "faults": [{"kind": "proxy_down", "proxy": 0, "at": "1s"}]},
         "faults.0.kind: proxy_down stops or slows cores of one machine"),
    ],
)  # fmt: skip
def test_mistakes_about_one_machine_are_named(sections, said):
    with pytest.raises(InputError, match=re.escape(said)):
        cluster(**sections)
