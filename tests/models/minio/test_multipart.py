"""Multipart uploads to MinIO: durations by hand, accesses as in the log of live drives, slots, faults."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.minio.server_part import SERVER_PART
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.models.minio.test_cluster import MIB, cluster, ran
from tests.profiles import examples
from tests.small_traces import trace_of

READ_S, WRITE_S, COMMIT_S = 8e-3, 6e-3, 5e-4
DURABLE_S = WRITE_S + COMMIT_S


def alone(multipart, depth=1, **sections):
    """One host with four drives, whose times do not depend on the size, and nothing else that takes time."""
    drives = {"count": 4, "read": READ_S, "write": WRITE_S, "commit": COMMIT_S, "commit_in": "queue"}
    hosts = {"cpu": {"PUT": 0.0}} | sections.pop("hosts", {})
    return spec_of(
        {
            "store": "minio", "workload": {"operations": 1, "object_size": "4KiB"},
            "drives": drives | {"queue_depth": depth}, "client": {"multipart": multipart},
            "hosts": hosts, **sections,
        },
        "spec",
    )  # fmt: skip


def end_s(spec, size):
    return float(ran(spec, "PUT", size)[0].end_s[0])


@pytest.mark.parametrize("parts", [2, 5])
@pytest.mark.parametrize("parallel", [1, 3])
def test_an_upload_by_hand(parts, parallel):
    """Drives serve one access at a time: parts in parallel take as long as one after the other."""
    spec = alone({"part_size": "5MiB", "threshold": "5MiB", "parallel": parallel})
    part_s = 2 * READ_S + DURABLE_S + DURABLE_S
    expected = DURABLE_S + parts * part_s + (1 + parts) * READ_S + DURABLE_S
    assert end_s(spec, parts * 5 * MIB) == pytest.approx(expected)


def test_parts_in_parallel_take_less_time_by_hand():
    """Drives serve four accesses at a time; the fifth part begins after the first. Files are read in turn."""
    spec = alone({"part_size": "5MiB", "parallel": 4}, depth=4)
    expected = DURABLE_S + 2 * (2 * READ_S + 2 * DURABLE_S) + 6 * READ_S + DURABLE_S
    assert end_s(spec, 25 * MIB) == pytest.approx(expected)


def test_a_part_begins_when_another_one_has_ended():
    """The link is full all the time: parts are received while others read and write metadata."""
    byte_s, size = 1e-7, 80 * MIB
    took_s = [
        end_s(
            alone({"part_size": "5MiB", "parallel": parallel}, depth=4,
                  network={"bandwidth": 1 / byte_s, "payload_fraction": 1}, hosts={"nic": 1e12}), size,
        )
        for parallel in (1, 4)
    ]  # fmt: skip
    part_s = 5 * MIB * byte_s
    ends_s = DURABLE_S + 17 * READ_S + DURABLE_S
    first_s, last_s = 2 * READ_S, 2 * DURABLE_S
    assert took_s[0] == pytest.approx(ends_s + 16 * (part_s + first_s + last_s), rel=0.02)
    assert took_s[1] == pytest.approx(ends_s + 16 * part_s + first_s + last_s, rel=0.02)


def test_all_parts_of_large_uploads_are_simulated():
    """Uploads of all sizes have the same routes."""
    spec = alone({"part_size": "5MiB", "parallel": 4}, depth=4)
    expected = DURABLE_S + 40 * (2 * READ_S + 2 * DURABLE_S) + 161 * READ_S + DURABLE_S
    assert end_s(spec, 800 * MIB) == pytest.approx(expected)
    network, _ = compile_spec(spec, trace_of(["PUT"] * 2, ["a", "b"], size_bytes=[800 * MIB, 5000 * MIB]))
    names = [route.name for route in network.routes[6:] if "metadata" not in route.name]
    assert names == ["PUT in parts", "PUT in parts initiation", "PUT in parts part", "PUT in parts completion"]


@pytest.mark.parametrize(("size", "in_parts"), [(16 * MIB, False), (16 * MIB + 1, True)])
def test_objects_above_the_threshold_are_uploaded_in_parts(size, in_parts):
    assert (end_s(alone({}), size) != pytest.approx(end_s(alone(None), size))) == in_parts
    assert end_s(alone({"threshold": "32MiB"}), size) == pytest.approx(end_s(alone(None), size))
    assert end_s(alone({"threshold": 0}), size) == pytest.approx(end_s(alone({}), size)), "one part is a PUT"


def test_accesses_are_those_of_live_drives():
    """48 MiB in parts of 16 MiB on 4 hosts with 2 drives, as `lab anatomy` shows: accesses of each drive.

    Reads: the upload's xl.meta twice for each part and once at the end, and three files with metadata of parts. Writes:
    xl.meta of the upload and of the object; of each part four of 1 MiB and one of 512 B, and its metadata. Fsyncs: two
    for each part, and one for each xl.meta.
    """
    spec = cluster(drives={"direct": True}, client={"multipart": {"parallel": 1}})
    outcome, network = ran(spec, "PUT", 48 * MIB)
    visits = [outcome.visits[n] for n, station in enumerate(network.stations) if station.role == "drive"]
    reads, writes, fsyncs = 3 * 2 + 1 + 3, 1 + 3 * (4 + 1 + 1) + 1, 1 + 3 * 2 + 1
    assert visits == [reads + writes + fsyncs] * 8


def test_all_bytes_pass_the_links():
    """The client sends every byte once; shards of six remote drives are on the coordinator's link."""
    size = 64 * MIB
    whole, parts = (cluster(client={"nic": 1e8, "multipart": m}) for m in (None, {"part_size": "5MiB"}))
    for role, more in (("client network", 0.0), ("host network", 0.01)):
        busy_s = []
        for spec in (whole, parts):
            outcome, network = ran(spec, "PUT", size)
            busy_s.append(sum(outcome.busy_s[n] for n, s in enumerate(network.stations) if s.role == role))
        assert busy_s[1] == pytest.approx(busy_s[0], rel=max(more, 1e-9)), role


def test_a_get_reads_one_part_after_the_other():
    """20 MiB in parts of 5 MiB: the client has all bytes of a part before the next one is read.

    A block of a part is read by two accesses; the first one before any of it is sent, others meanwhile.
    """
    byte_s, took_s = 1e-7, []
    for multipart in ({"part_size": "5MiB", "threshold": "5MiB"}, None):
        hosts = {"cpu": {"GET": 0.0, "PUT": 0.0}, "nic": 1e12}
        spec = alone(multipart, hosts=hosts, network={"bandwidth": 1 / byte_s, "payload_fraction": 1})
        spec = spec.model_copy(update={"drives": spec.drives.model_copy(update={"direct": True})})
        outcome, _ = ran(spec, "GET", 20 * MIB)
        took_s.append(float(outcome.end_s[0]))
        if multipart:
            assert outcome.first_byte_s[0] == pytest.approx(3 * READ_S, rel=1e-3)
    assert took_s[0] == pytest.approx(READ_S + 4 * 2 * READ_S + 20 * MIB * byte_s, rel=1e-3)
    assert took_s[0] - took_s[1] > 3 * 2 * READ_S


@pytest.mark.parametrize(("size", "length", "parts"), [(20, 20, 4), (20, 11, 3), (20, 4, 0), (5, 5, 0)])
def test_a_range_reads_the_parts_that_it_needs(size, length, parts):
    spec = cluster(client={"multipart": {"part_size": "5MiB", "threshold": "5MiB"}})
    trace = trace_of(["GET"], ["k"], size_bytes=size * MIB, range_start_bytes=0, range_bytes=length * MIB)
    network, requests = compile_spec(spec, trace)
    descendants = Program.of(network, requests, 0).draw(0, 1).descendants
    assert (len(descendants.route) if descendants else 0) == parts


def test_page_caches_have_the_metadata_of_an_upload():
    cached, read = (
        alone({"part_size": "5MiB", "threshold": 0}, hosts={"page_cache": {"size": size}} if size else {})
        for size in ("1GiB", None)
    )
    assert end_s(read, 10 * MIB) - end_s(cached, 10 * MIB) == pytest.approx((2 * 2 + 3) * READ_S)


def test_each_request_of_an_upload_takes_a_slot():
    """Two uploads on a host that admits two requests: the parts take turns, and an upload holds no slot meanwhile."""
    multipart, limit = {"part_size": "5MiB", "parallel": 4}, {"max_requests": 2}
    trace = trace_of(["PUT"] * 2, ["a", "b"], size_bytes=40 * MIB)
    waits, refuses = (alone(multipart, hosts=limit, release=release) for release in ("2023-01-01", "2025-09-07"))
    retries = {"multipart": multipart, "retry": {"retries": 30, "backoff": "10ms", "backoff_max": "100ms"}}
    retried = refuses.model_copy(update={"client": type(refuses.client).model_validate(retries)})
    for spec, fails in ((waits, False), (refuses, True), (retried, False)):
        network, requests = compile_spec(spec, trace)
        outcome = compiled_engine.run(Program.of(network, requests, 0))
        assert np.isfinite(outcome.end_s).all() and outcome.failure.all() == outcome.failure.any() == fails
        slots = next(n for n, station in enumerate(network.stations) if station.role == "requests")
        if spec is waits:
            assert outcome.visits[slots] == 2 * (1 + 8 + 1)


def test_engines_agree_on_uploads_next_to_other_requests_and_a_failed_drive():
    spec = cluster(
        client={
            "multipart": {"part_size": "5MiB", "threshold": 0, "parallel": 3},
            "retry": {"retries": 1},
            "timeout": "20s",
        },
        drives={"direct": True, "read": {"constant": READ_S, "distribution": {"kind": "gamma", "cv": 0.5}}},
        hosts={"internode": {"latency": 1e-4, "call": 2e-4, "lock_conflict_fraction": 0.3}, "max_requests": 64},
        faults=[{"kind": "drive_down", "drive": 3, "at": "1s", "back_at": "5s"}],
    )
    ops, count = ["PUT", "GET", "PUT", "HEAD"] * 6, 24
    trace = trace_of(ops, [f"k{i}" for i in range(count)], size_bytes=[23 * MIB, MIB, 12 * MIB, 4096] * 6,
                     arrival_s=np.arange(count) * 0.3)  # fmt: skip
    network, requests = compile_spec(spec, trace)
    compiled, simpy = (engine.run(Program.of(network, requests, 1)) for engine in (compiled_engine, simpy_engine))
    assert (compiled.end_s == simpy.end_s).all() and (compiled.visits == simpy.visits).all()
    assert {3, 5} <= set(np.diff(Program.of(network, requests, 1).draw(0, count).descendants.first_child).tolist())


@pytest.mark.parametrize(
    ("balance", "more", "coordinators"),
    [("round_robin", {}, 1), ("dns", {}, 4), ("proxy", {"proxy": {"cpu": 0.0}}, 4)],
)
@pytest.mark.parametrize("faults", [[], [{"kind": "drive_down", "drive": 3, "at": "900s"}]])
def test_a_proxy_spreads_the_requests_of_an_upload(balance, more, coordinators, faults):
    """Others send all of them to the host whose turn it is, if nothing fails as if something fails later."""
    spec = cluster(
        balance=balance, client={"multipart": {"part_size": "5MiB", "threshold": "5MiB"}},
        hosts={"max_requests": 64}, faults=faults, **more,
    )  # fmt: skip
    outcome, network = ran(spec, "PUT", 60 * MIB)
    slots = [outcome.visits[n] for n, station in enumerate(network.stations) if station.role == "requests"]
    assert sum(slots) == 1 + 12 + 1
    assert sum(count > 0 for count in slots) == coordinators


@pytest.mark.parametrize("faults", [[], [{"kind": "drive_down", "drive": 3, "at": "900s"}]])
def test_the_node_of_a_get_reads_all_parts(faults):
    spec = cluster(
        client={"multipart": {"part_size": "5MiB", "threshold": "5MiB"}}, hosts={"nic": 1e9}, faults=faults,
        drives={"direct": True},
    )  # fmt: skip
    outcome, network = ran(spec, "GET", 60 * MIB)
    ins = [outcome.visits[n] for n, station in enumerate(network.stations) if station.name.endswith(" in")]
    assert not outcome.failure.any() and sum(count > 12 for count in ins) == 1


@examples(12)
@given(
    st.integers(2, 12), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 4]), st.sampled_from([0.0, 2e8, 1e9]),
    st.sampled_from(["round_robin", "proxy", "dns"]),
)  # fmt: skip
def test_more_parallel_parts_are_not_slower(parts, parallel, depth, nic, balance):
    """A lone upload whose demands do not vary.

    Where drives serve one access at a time, small accesses wait for the data of further parts: 4 % at most were seen.
    """
    more = {"proxy": {"cpu": 0.0}} if balance == "proxy" else {}
    hosts = {"nic": nic} if nic else {}
    took_s = [
        end_s(cluster(
            balance=balance, drives={"direct": True, "queue_depth": depth}, hosts=hosts,
            client={"multipart": {"part_size": "5MiB", "threshold": 0, "parallel": each}}, **more,
        ), parts * 5 * MIB)
        for each in (parallel, 2 * parallel)
    ]  # fmt: skip
    assert took_s[1] <= took_s[0] * (1.05 if depth == 1 else 1.02)


def test_the_server_part_begins_with_the_initiation():
    client = {"multipart": {"part_size": "5MiB", "threshold": 0}, "cpu": {"PUT": 1e-3, "GET": 1e-3}}
    spec = cluster(client=client, network={"latency": 2e-3})
    trace = trace_of(["PUT", "GET"], ["a", "a"], size_bytes=12 * MIB, arrival_s=[0.0, 50.0])
    network, requests = compile_spec(spec, trace)
    stamped = SERVER_PART.stamped(spec, network)
    runs = [
        engine.run(Program.of(each, requests, 1)) for each in (network, stamped)
        for engine in (compiled_engine, simpy_engine)
    ]  # fmt: skip
    assert all((run.end_s == runs[0].end_s).all() for run in runs)
    for run in runs[2:]:
        assert run.first_byte_s == pytest.approx([3e-3, 50.003])
