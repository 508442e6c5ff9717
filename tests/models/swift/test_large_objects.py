"""Large objects of Swift: which accesses and waits their requests have, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.spec.missing_demands import missing_demands
from models.store import compile_spec, spec_of
from models.swift.demands import demands
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.swift.test_swift import ACCESS_S, KIB, MIB, PROXY_S, SERVER_S, UPDATE_S, cluster, ran
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.spec.spec_file import load_mapping

PART = 5 * MIB
READS = 80  # of a part, 64 KiB each
VISITS = 32  # in which they are simulated
WAYS_S = 2e-3


def large(parallel: int = 1, **sections: Any):
    multipart = {"part_size": PART, "threshold": PART, "parallel": parallel}
    return cluster(client={"multipart": multipart}, overwrites=1, **sections)


def test_accesses_of_an_upload():
    """Marker: 4 syncs of a new name and a note; each part: those and its data; manifest: as 4 KiB; and a tombstone."""
    spec, size = large(), 2 * PART + MIB
    _, failed, visits, outcome = ran(spec, "PUT", size=size)
    network, _ = compile_spec(spec, trace_of(["PUT"], ["k0"], size_bytes=size))
    assert not failed.any()
    marker, part, manifest, tombstone = 4, VISITS + 4, 4, 3
    assert visits["drive"] == 3 * (marker + 3 * part + manifest + tombstone)
    accesses = marker + 2 * (READS + 4) + 16 + 4 + manifest + tombstone
    busy_s = outcome.busy_s[[s.role == "drive" for s in network.stations]].sum()
    assert busy_s == pytest.approx(3 * accesses * ACCESS_S)


@pytest.mark.parametrize(
    ("op", "accesses"), [("PUT", 3 * (199 + 22)), ("GET", 193), ("HEAD", 0), ("DELETE", 3 * (4 + 8) + 1)]
)
def test_accesses_of_12_mib_as_logged_by_drives_under_a_real_swift(op, accesses):
    client = {"multipart": {"part_size": PART, "threshold": PART, "parallel": 1}}
    spec = spec_of(load_mapping(EXAMPLES / "swift" / "box.yaml") | {"client": client}, "box")
    network, requests = compile_spec(spec, trace_of([op], ["k"], size_bytes=12 * MIB))
    outcome = compiled_engine.run(Program.of(network, requests, 0))
    busy_s = outcome.busy_s[[s.role == "drive" for s in network.stations]].sum()
    assert busy_s == pytest.approx(accesses * ACCESS_S)


def test_a_lone_upload():
    """Its requests come one after the other; segments are looked up two at a time."""
    latency_s = ran(large(drives={"write_size": 0}, hosts={"count": 60, "zones": 60}), "PUT", size=2 * PART)[0]
    head_s = PROXY_S + SERVER_S
    stored_s = SERVER_S + 3 * ACCESS_S + UPDATE_S
    initiated_s = WAYS_S + PROXY_S + stored_s
    part_s = WAYS_S + PROXY_S + head_s + stored_s + ACCESS_S
    deleted_s = PROXY_S + SERVER_S + 2 * ACCESS_S + UPDATE_S
    manifest_s = SERVER_S + 3 * ACCESS_S + UPDATE_S  # overwritten: a file with its directory, after its data
    completed_s = WAYS_S + PROXY_S + head_s + head_s + PROXY_S + manifest_s + deleted_s
    assert latency_s == pytest.approx(initiated_s + 2 * part_s + completed_s)


def test_segments_are_read_one_after_the_other():
    """The manifest, then each segment by a request of its own, of which each opens an object."""
    latency_s, failed, visits, outcome = ran(large(), "GET", size=3 * PART)
    each_s = PROXY_S + SERVER_S + READS * ACCESS_S
    manifest_s = PROXY_S + SERVER_S + ACCESS_S
    assert not failed.any() and visits["drive"] == 1 + 3 * VISITS
    assert latency_s == pytest.approx(WAYS_S + manifest_s + 3 * each_s)
    first_s = outcome.first_byte_s[0]
    assert first_s == pytest.approx(WAYS_S / 2 + manifest_s + PROXY_S + SERVER_S + READS * ACCESS_S)


def test_what_is_not_larger_than_the_threshold_is_one_object():
    for op in ("PUT", "GET", "HEAD", "DELETE"):
        ours, usual = (ran(spec, op, size=PART)[2]["drive"] for spec in (large(), cluster(overwrites=1)))
        assert ours == usual


def test_a_head_is_that_of_the_manifest_and_a_delete_is_for_all_segments():
    """Each DELETE is a tombstone; two segments at a time, of which the third begins after the first; the manifest."""
    spread = {"count": 90, "zones": 90}
    assert ran(large(), "HEAD", size=3 * PART)[0] == pytest.approx(WAYS_S + PROXY_S + SERVER_S)
    latency_s, _, visits, _ = ran(large(hosts=spread), "DELETE", size=3 * PART)
    assert visits["drive"] == 1 + 4 * 3 * 3
    read_s, looked_up_s = PROXY_S + SERVER_S + ACCESS_S, PROXY_S + SERVER_S
    deleted_s = PROXY_S + SERVER_S + 3 * ACCESS_S + UPDATE_S
    assert latency_s == pytest.approx(WAYS_S + PROXY_S + looked_up_s + read_s + 3 * deleted_s)


def test_segments_are_in_different_partitions():
    """On a hundred drives, three replicas of three parts and of the manifest, which has the marker's place."""
    spec = large(hosts={"count": 20, "zones": 20}, drives={"count": 5})
    network, requests = compile_spec(spec, trace_of(["PUT"], ["k"], size_bytes=3 * PART))
    outcome = compiled_engine.run(Program.of(network, requests, 0))
    used = [s.name for s, n in zip(network.stations, outcome.visits.tolist(), strict=True) if s.role == "drive" and n]
    assert 3 * 3 <= len(used) <= 3 * 4


def test_parts_in_parallel_take_less_time():
    spread = {"count": 90, "zones": 90}
    one, four = (ran(large(n, hosts=spread), "PUT", n=9, size=4 * PART, gap_s=9.0)[0] for n in (1, 4))
    assert four.min() < 0.3 * one.min()  # of an upload whose parts are on different drives
    assert np.all(four < 0.6 * one)


def test_an_upload_of_many_parts_is_as_much_work_as_its_parts():
    visits = [
        ran(large(drives={"write_size": 0, "write": {"per_byte": "10ns"}}), "PUT", size=n * PART)[3] for n in (10, 40)
    ]
    busy = [outcome.busy_s.sum() for outcome in visits]
    assert busy[1] / busy[0] == pytest.approx(4, rel=0.15)


@pytest.mark.parametrize("op", ["PUT", "GET", "DELETE"])
def test_both_engines_agree_with_faults_and_hedged_reads(op):
    fault = {"kind": "drive_frozen", "drive": 1, "at": 2, "back_at": 9, "detected_after": 3}
    hedge = {"concurrent_gets": True, "concurrency_timeout": "20ms"}
    spec = large(2, hosts={"count": 4, "zones": 4}, faults=[fault], proxies=hedge)
    fast, slow = (ran(spec, op, n=12, size=2 * PART + KIB, engine=engine) for engine in (compiled_engine, simpy_engine))
    assert np.array_equal(fast[0], slow[0]) and fast[2] == slow[2]


def test_requests_within_an_upload_must_have_their_times():
    spec = large(proxies={"cpu": {"PUT": PROXY_S}}, hosts={"cpu": {"PUT": SERVER_S}})
    missing = missing_demands(demands(spec, ["PUT"]))
    assert sorted(missing) == ["hosts.cpu.DELETE", "hosts.cpu.HEAD", "proxies.cpu.DELETE", "proxies.cpu.HEAD"]
