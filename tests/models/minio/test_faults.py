"""Failures of parts of a MinIO cluster: what requests avoid, wait for, and refuse."""

from __future__ import annotations

import numpy as np
import pytest

from models.minio.requests.parts import longest_s
from models.minio.spec.faults import hosts_down
from models.minio.spec.layout import protection
from models.network.service_demand import ServiceDemand
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.minio.test_cluster import COMMIT_S, READ_S, ROUND_S, WRITE_S, cluster
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.workload.distributions import Exponential

MIB = 1 << 20
N = 300


def ran(op: str, *faults, size: int = MIB, engine=compiled_engine, **sections):
    """Requests, one a second; faults begin at 100 s and end at 200 s."""
    spec = cluster(faults=[{"at": 100, "back_at": 200} | f for f in faults], **sections)
    trace = trace_of([op] * N, [f"k{i}" for i in range(N)], size_bytes=size, arrival_s=np.arange(N) + 0.5)
    network, requests = compile_spec(spec, trace)
    outcome = engine.run(Program.of(network, requests, 0))
    latency_s = outcome.end_s - np.arange(N) - 0.5
    return [np.split(each, [100, 200]) for each in (latency_s, outcome.failure > 0)], outcome, network


def test_a_dead_drive_is_avoided():
    ((before, during, after), failed), outcome, network = ran("GET", {"kind": "drive_down", "drive": 5})
    assert not np.concatenate(failed).any()
    visits = {s.name: v for s, v in zip(network.stations, outcome.visits, strict=True) if s.role == "drive"}
    others = [v for name, v in visits.items() if name != "host 2 drive 1"]
    assert visits["host 2 drive 1"] < 0.75 * min(others)
    assert np.median(during) == pytest.approx(np.median(before), rel=0.1) == np.median(after)


def test_calls_to_a_frozen_drive_last_until_their_timeout_or_its_return():
    """Until the drive is taken offline, a GET makes one such call, and a PUT two: the search, and the commit."""
    fault = {"kind": "drive_down", "drive": 5, "detected_after": 43}
    for op, first_s, next_s in (("GET", 30, 30), ("PUT", 60, 30)):
        ((before, during, _), failed), *_ = ran(op, fault)
        assert not np.concatenate(failed).any()
        usual_s = np.median(before)
        assert during[:12] == pytest.approx(first_s + usual_s, abs=0.5), op
        assert during[14:42] == pytest.approx(next_s + usual_s, abs=0.5), op
        assert during[45:].max() < 0.2
    ((_, during, _), _), *_ = ran("GET", fault | {"back_at": 110})
    assert during[:9] == pytest.approx(np.arange(9.5, 0.5, -1), abs=0.5)


@pytest.mark.parametrize(("balance", "refused"), [("round_robin", 0.25), ("proxy", 0.0)])
def test_a_dead_host_refuses_requests_that_no_proxy_sends_elsewhere(balance, refused):
    ((before, during, _), failed), *_ = ran("PUT", {"kind": "host_down", "host": 1}, balance=balance)
    assert [f.mean() for f in failed] == pytest.approx([0, refused, 0], abs=0.02)
    assert np.nanmedian(during) <= np.median(before)  # fewer drives have to be written


def test_retries_go_to_another_host():
    client = {"retry": {"retries": 1, "backoff": "10ms", "jitter": 0}}
    (latency_s, failed), *_ = ran("PUT", {"kind": "host_down", "host": 1}, client=client)
    assert not np.concatenate(failed).any()
    # A quarter of the attempts, which is one for every three requests.
    assert (latency_s[1] > np.median(latency_s[1]) + 0.009).mean() == pytest.approx(1 / 3, abs=0.02)


def test_without_a_write_quorum_puts_are_refused_and_gets_are_not():
    """Two of four hosts, four of eight drives: data shards are left, but no majority."""
    fault, more = {"kind": "rack_down", "rack": 1}, {"hosts": {"racks": 2}, "balance": "proxy"}
    (_, put), *_ = ran("PUT", fault, **more)
    (_, get), *_ = ran("GET", fault, **more)
    assert [f.mean() for f in put] == [0, 1, 0]
    assert not np.concatenate(get).any()


def test_a_silent_host_costs_timeouts():
    """Before it is found, locks take 1 s and operations wait, but for a GET, which has a timeout: also afterwards."""
    fault = {"kind": "link_down", "host": 1, "detected_after": 25}
    for op, early_s, late_s in (("GET", 11.0, 10.0), ("HEAD", None, 0.0), ("PUT", None, 0.0)):
        (latency_s, failed), *_ = ran(op, fault)
        before, during, after = latency_s
        usual_s, lost = np.median(before), failed[1]
        assert not failed[0].any() and not failed[2].any() and lost.mean() == pytest.approx(0.25, abs=0.02)
        assert during[:20][~lost[:20]] == pytest.approx(
            (early_s or np.arange(24.5, 4.5, -1)[~lost[:20]]) + usual_s, abs=0.5
        )
        assert during[26:88][~lost[26:88]] == pytest.approx(late_s + usual_s, abs=0.5), op
        assert np.median(after) < 2 * usual_s


def test_requests_to_a_stopped_process_wait_until_it_is_back():
    (latency_s, failed), *_ = ran("GET", {"kind": "link_down", "host": 1, "accepts": True}, client={"timeout": "200s"})
    assert not np.concatenate(failed).any()
    assert np.quantile(latency_s[1][:60], [0.5, 0.9]) == pytest.approx([31, 85], abs=16)


def visits_of_drives(**fault) -> dict[str, int]:
    _, outcome, network = ran("PUT", {"kind": "drive_down", "drive": 5, "at": 100} | fault, size=4096)
    return {s.name: v for s, v in zip(network.stations, outcome.visits.tolist(), strict=True) if s.role == "drive"}


def test_a_write_that_missed_a_drive_is_healed_if_the_drive_is_back_a_second_later():
    """Each missed write costs the other drives two reads; only the last one before the drive is used is written."""
    usual, missing = visits_of_drives(back_at=100.01), visits_of_drives(back_at=200.1)  # used from 202.6 s on
    more = {name: missing[name] - visits for name, visits in usual.items()}
    assert more["host 0 drive 0"] == more["host 3 drive 1"] == 2 * 103
    assert more["host 2 drive 1"] == -2 * 103 + 2


def test_what_writes_missed_of_a_frozen_drive_is_healed_when_it_is_back():
    usual, missing = visits_of_drives(back_at=100.01), visits_of_drives(back_at=140, detected_after=43)
    more = {name: missing[name] - visits for name, visits in usual.items()}
    assert more["host 0 drive 0"] == 2 * 40
    assert more["host 2 drive 1"] == 0


def test_a_slow_link_slows_all_that_passes_it():
    fault = {"kind": "slow_link", "host": 1, "speed": 0.1, "until": 200}
    fault_free = ran("PUT")[0][0][1]
    spec = cluster(faults=[fault | {"at": 100}])
    assert spec.faults[0].end_s == 200
    trace = trace_of(["PUT"] * N, [f"k{i}" for i in range(N)], size_bytes=MIB, arrival_s=np.arange(N) + 0.5)
    outcome = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0))
    during = (outcome.end_s - np.arange(N) - 0.5)[100:200]
    # A quarter of the requests arrive there, and send their shards by it: 10 times as long.
    assert (during > np.median(fault_free) + 0.1).mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "drive_down", "drive": 3, "detected_after": 5}, {"kind": "host_down", "host": 2},
        {"kind": "link_down", "host": 2}, {"kind": "rack_down", "rack": 3},
    ],
)  # fmt: skip
def test_engines_agree_on_failures(fault):
    more = {"hosts": {"racks": 4}, "client": {"retry": {"retries": 2}, "timeout": "90s", "hedge": {"after": "80ms"}}}
    fast, plain = (ran("GET", fault, engine=engine, **more)[1] for engine in (compiled_engine, simpy_engine))
    assert np.array_equal(fast.end_s, plain.end_s, equal_nan=True)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"kind": "drive_down", "drive": 8, "at": 1}, r"faults\.0\.drive: there is no drive 8; allowed are 0 to 7"),
        ({"kind": "host_down", "host": 4, "at": 1}, r"faults\.0\.host: there is no host 4"),
        ({"kind": "rack_down", "rack": 1, "at": 1}, r"faults\.0\.rack: there is no rack 1"),
    ],
)
def test_faults_name_parts_that_exist(fault, said):
    with pytest.raises(InputError, match=said):
        cluster(faults=[fault])


def test_write_quorums_are_those_of_minio():
    assert [protection(8, 4, n).write_quorum for n in range(4)] == [5, 5, 5, 5]
    assert [protection(16, 4, n).write_quorum for n in (0, 3, 4, 7)] == [12, 9, 9, 9]
    for size, parity in ((8, 4), (16, 4), (5, 2), (3, 1)):
        writable = [bool(protection(size, parity, n).can_write(n)) for n in range(size)]
        assert writable == [n < (size + 1) // 2 for n in range(size)]


def test_an_attempt_to_heal_waits_for_the_slowest_drive_and_writes_one_drive_after_the_other():
    """The pause is five times the attempt: two rounds of reads, two of calls and each drive that is back."""
    for fault, lost in (({"kind": "drive_down", "drive": 5}, 1), ({"kind": "link_down", "host": 2}, 2)):
        spec = cluster(faults=[fault | {"at": 1, "back_at": 50}])
        trace = trace_of(["PUT"], ["k"], size_bytes=4096, arrival_s=np.array([40.0]))
        network, requests = compile_spec(spec, trace)
        healers = [k for k, s in enumerate(network.stations) if s.name.endswith("heals")]
        busy_s = compiled_engine.run(Program.of(network, requests, 0)).busy_s[healers].sum()
        attempt_s = 2 * READ_S + lost * (WRITE_S + COMMIT_S) + (4 + lost) * ROUND_S
        assert busy_s == pytest.approx(6 * attempt_s)


def test_the_longest_of_several_accesses():
    """Of exponential ones, the mean is a harmonic number."""
    demand = ServiceDemand(constant=0.01, distribution=Exponential())
    assert longest_s(demand, 7) == pytest.approx(0.01 * sum(1 / k for k in range(1, 8)), rel=1e-3)
    assert longest_s(demand, 1) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize(("hosts", "racks", "sizes"), [(4, 4, [1, 1, 1, 1]), (8, 2, [4, 4]), (5, 4, [1, 1, 1, 2])])
def test_hosts_are_divided_evenly_among_racks(hosts, racks, sizes):
    spec = cluster(hosts, 2, hosts={"racks": racks}, faults=[
        {"kind": "rack_down", "rack": rack, "at": 1} for rack in range(racks)
    ], client={"timeout": "9s"})  # fmt: skip
    down = [hosts_down(fault, hosts, racks) for fault in spec.faults]
    assert [len(each) for each in down] == sizes
    assert [host for each in down for host in each] == list(range(hosts))
