"""MinIO's own work: healing of a replaced drive and the scanner. Duration, and bytes of drives and links, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from models.minio.background.maintenance import healed_s
from models.minio.requests.parts import MESSAGE_BYTES
from models.store import compile_spec, load_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.experiments.failure_kinds import Failure
from sim.simulate import simulate
from tests.models.minio.test_cluster import (
    COMMIT_S,
    META_READ_S,
    META_WRITE_S,
    MIB,
    NIC,
    READ_BYTE_S,
    READ_S,
    ROUND_S,
    WRITE_BYTE_S,
    WRITE_S,
    cluster,
    shard,
)
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate

OBJECTS, END_S = 100, 200.0
REPLACED = {"kind": "drive_replaced", "drive": 5, "at": 0.5, "back_at": 1, "found_after": 5}


def healing(size: int, objects: int = OBJECTS, **sections):
    fault = REPLACED | sections.pop("fault", {})
    return cluster(faults=[fault], stored={"objects": objects, "object_size": size}, **sections)


def program_of(spec, arrival_s=(END_S,), op: str = "HEAD", size: int = 4096) -> Program:
    """A program with requests at these times, of which the last one ends the workload."""
    count = len(arrival_s)
    trace = trace_of([op] * count, [f"k{i}" for i in range(count)], size_bytes=size, arrival_s=np.array(arrival_s))
    return Program.of(*compile_spec(spec, trace), 0)


def busy(spec, **program) -> dict[str, float]:
    made = program_of(spec, **program)
    outcome = compiled_engine.run(made)
    return dict(zip([s.name for s in made.network.stations], outcome.busy_s.tolist(), strict=True))


def test_a_large_object_is_read_and_written_once():
    """Metadata three times, of which the listing is not waited for; four shards read, one written, two commits."""
    part = shard(MIB)
    spec = healing(MIB, healing={"workers": 1})
    read_s, write_s = READ_S + part * READ_BYTE_S, WRITE_S + part * WRITE_BYTE_S + COMMIT_S
    sent_s = 4 * (part + MESSAGE_BYTES) / NIC  # to the new drive's host; a row in which its own drive is read needs 3
    one_s = 2 * META_READ_S + read_s + write_s + META_WRITE_S
    program = program_of(spec)
    arrived_s, end_s = program.background[0].arrival_s, compiled_engine.run(program).background_end_s
    assert len(arrived_s) == OBJECTS and 1 + 5 < arrived_s[0] < 1 + 5 + np.diff(arrived_s).mean()
    took_s = (healed_s(spec)[5] - 6) / OBJECTS
    assert one_s + 4 * ROUND_S < took_s < one_s + 6 * ROUND_S + sent_s
    assert end_s[-1] - arrived_s[0] == pytest.approx(OBJECTS * took_s, rel=0.35)  # the listing's reads are in between
    assert end_s[-1] - arrived_s[0] > OBJECTS * took_s - 1e-6


@pytest.mark.parametrize("size", [4096, MIB, 8 * MIB])
def test_drives_and_links_move_the_bytes_of_healing(size):
    usual = busy(cluster())
    used = busy(healing(size))
    more = {name: (s - usual.get(name, 0.0)) / OBJECTS for name, s in used.items()}
    part, inline = shard(size), size == 4096
    whole_s = 1 * READ_S + (part + 400) * READ_BYTE_S
    others = [s for name, s in more.items() if name.endswith(("drive 0", "drive 1")) and name != "host 2 drive 1"]
    if inline:  # the listing, the look-up, and the read with a lock
        assert others == pytest.approx([2 * META_READ_S + whole_s] * 7)
        written_s = WRITE_S + (part + 400) * WRITE_BYTE_S + COMMIT_S
    else:
        assert sum(others) == pytest.approx(7 * 3 * META_READ_S + 4 * (READ_S + part * READ_BYTE_S))
        written_s = WRITE_S + part * WRITE_BYTE_S + COMMIT_S + META_WRITE_S
    assert more["host 2 drive 1"] == pytest.approx(written_s)
    shards = 6 * (part + 3 * MESSAGE_BYTES) if inline else 4 * 6 / 7 * (part + MESSAGE_BYTES)
    assert more["host 2 in"] == pytest.approx(shards / NIC, rel=0.05)
    outs = sum(s for name, s in more.items() if name.endswith("out") and name.startswith("host"))
    assert outs == pytest.approx(more["host 2 in"])


def test_the_number_of_workers_and_the_busiest_drive_limit_healing():
    def took_s(**settings) -> float:
        return healed_s(healing(4096, healing=settings))[5] - 6

    assert took_s(workers=1, pause="500ms") == pytest.approx(took_s(workers=1, pause="250ms") + 0.25 * OBJECTS)
    assert took_s(workers=8, pause="10s") == pytest.approx(took_s(workers=4, pause="10s") / 2, rel=0.01)
    three_reads_s = 2 * META_READ_S + READ_S + (shard(4096) + 400) * READ_BYTE_S
    assert took_s() == took_s(workers=64) == pytest.approx(three_reads_s * OBJECTS)
    assert took_s(workers=1, cpu="1s") == pytest.approx(took_s(workers=1, pause="1s"))


def test_the_listing_reads_one_object_at_a_time_on_each_drive():
    """A drive other than the new one has one token for the listing, which is taken and returned for each object."""
    program = program_of(healing(4096, objects=64, healing={"workers": 64}))
    outcome = compiled_engine.run(program)
    tokens = [n for n, station in enumerate(program.network.stations) if station.role == "listing"]
    assert [program.network.stations[n].servers for n in tokens] == [1] * 8
    used = [int(outcome.visits[n]) for n in tokens]
    assert sorted(used) == [0] + [2 * 64] * 7


def test_sets_have_equal_parts_of_the_objects():
    spec = healing(4096, erasure={"set_size": 4})
    assert len(program_of(spec).background[0].arrival_s) == OBJECTS / 2


def test_healing_slows_down_with_other_load():
    spec = healing(4096, fault={"back_at": 1})
    free, loaded = (
        compiled_engine.run(program_of(spec, arrival_s=np.arange(0, 60, gap))).background_end_s.max()
        for gap in (59.0, 0.02)
    )
    assert loaded - 6 > 1.4 * (free - 6)


def test_reads_do_without_the_new_drive_until_it_is_healed():
    """Of 8 drives with the same chance 4 are read; afterwards the new one is read as often as the others."""

    def reads(at_s: float) -> float:
        spec = healing(4 * MIB, objects=1)
        gets = busy(spec, arrival_s=at_s + np.arange(200), op="GET", size=4 * MIB)
        none = busy(spec, arrival_s=at_s + np.arange(200), op="HEAD", size=4 * MIB)
        return (gets["host 2 drive 1"] - none["host 2 drive 1"]) / (gets["host 1 drive 0"] - none["host 1 drive 0"])

    late = healing(4 * MIB, objects=10**6)
    gets, heads = (busy(late, arrival_s=1.5 + np.arange(3), op=op, size=4 * MIB) for op in ("GET", "HEAD"))
    assert gets["host 2 drive 1"] == heads["host 2 drive 1"]
    assert reads(20) == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize(
    ("op", "at_s", "others", "least", "most"),
    [("GET", 6.5, (), 70, 130), ("HEAD", 6.5, (), 70, 130), ("PUT", 6.5, (), 0, 0), ("GET", 0.1, (), 0, 0),
     ("GET", 6.5, ({"kind": "drive_down", "drive": 0, "at": 0.2},), 0, 0)],
)  # fmt: skip
def test_half_of_the_reads_try_to_heal_an_object_that_a_new_drive_does_not_have(op, at_s, others, least, most):
    """The drive is found at 6 s. Nothing is tried by writes, before, and while another drive is offline."""
    spec = cluster(faults=[REPLACED, *others], stored={"objects": 10**6, "object_size": 4096})
    program = program_of(spec, arrival_s=at_s + 1e-3 * np.arange(200), op=op)
    visits = compiled_engine.run(program).visits
    tried = sum(int(visits[n]) for n, s in enumerate(program.network.stations) if s.name.endswith("heals"))
    assert least <= tried <= most


def test_writes_do_without_the_new_drive_until_it_is_found():
    """It is absent from 0.5 s, back at 1 s and found at 6 s; healing its only object takes less than 1 s."""
    spec = healing(4096, objects=1)
    for at_s, uses in ((0.2, True), (0.8, False), (3.0, False), (4.5, False), (9.0, True)):
        busy_s = busy(spec, arrival_s=at_s + np.arange(10) * 1e-3, op="PUT", size=4096)["host 2 drive 1"]
        assert (busy_s > 5 * WRITE_S) == uses, at_s


def test_the_scanner_visits_each_object_in_sixteen_cycles():
    """A cycle takes at least a minute, so 9,600 objects in a set are 10 a second; each is read on one drive."""
    spec = cluster(stored={"objects": 9600, "object_size": 4096}, scanner={"speed": "default"})
    program = program_of(spec)
    names = [s.name for s in program.network.stations]
    visits = dict(zip(names, compiled_engine.run(program).visits.tolist(), strict=True))
    assert sum(n for name, n in visits.items() if name.endswith(("drive 0", "drive 1"))) == 2000 + 8
    # One bucket: one drive of the set at a time, which pauses for twice the work of an object and of a folder.
    slow = cluster(stored={"objects": 1e9, "object_size": 4096}, scanner={"speed": "default"})
    background = compile_spec(slow, trace_of(["HEAD"], ["k"], arrival_s=np.array([1.0])))[1].background[0]
    assert background.rate_ops == pytest.approx(1 / (3 * META_READ_S + 2e-3))
    fast = cluster(stored={"objects": 1e9, "object_size": 4096}, scanner={"speed": "slowest"})
    background = compile_spec(fast, trace_of(["HEAD"], ["k"], arrival_s=np.array([1.0])))[1].background[0]
    assert background.rate_ops == pytest.approx(1 / (101 * META_READ_S + 0.1))


def test_a_faster_scanner_never_makes_drives_less_busy():
    """Its backlog on busy drives is not done after the last request, which made the run longer."""
    load = override(
        load_mapping(EXAMPLES / "minio" / "hdd-4x4.yaml"),
        [
            "workload={rate: 15/s, duration: 20s, object_size: 500KB, mix: {PUT: 1}}",
            "hosts.count=1",
            "hosts.racks=1",
            "drives={count: 12, preset: hdd-7k2}",
            "stored={objects: 5e6, object_size: 500KB}",
        ],
    )
    busy, visits, ends_s = [], [], []
    for speed in ("'off'", "slow", "default", "fast", "fastest"):
        run = simulate(spec_of(override(load, [f"scanner.speed={speed}"]), "spec"), seed=1)
        drives = [row for row in run.stations.to_pylist() if row["role"] == "drive"]
        busy.append(sum(row["utilization"] for row in drives))
        visits.append(sum(row["visits"] for row in drives))
        ends_s.append(float(run.column("end_s").max()))
    assert visits == sorted(visits) and visits[0] < visits[2]
    assert busy == sorted(busy) and busy[0] < busy[2]
    assert max(ends_s) < 21


@pytest.mark.parametrize(("op", "size"), [("PUT", 4096), ("PUT", 8 * MIB), ("GET", 4096), ("GET", 8 * MIB)])
def test_engines_agree_on_maintenance(op, size):
    spec = healing(size, scanner={"speed": "fastest", "cycles": 1})
    program = program_of(spec, arrival_s=np.arange(0, 20, 0.1), op=op, size=size)
    fast, plain = compiled_engine.run(program), simpy_engine.run(program)
    assert np.array_equal(fast.end_s, plain.end_s)
    assert np.array_equal(fast.background_end_s, plain.background_end_s)


def test_a_failure_says_how_long_healing_takes():
    spec = healing(4096)
    fault = Failure("replaced-drive:5", "replaced-drive", "5").fault(spec)
    assert f"takes {healed_s(spec)[5] - 1:.3g} s" in fault.note(spec, spec.faults[0])


def test_the_documented_duration_of_healing():
    event = "faults=[{kind: drive_replaced, drive: 5, at: 1, back_at: 2}]"
    spec = load_spec(EXAMPLES / "minio" / "hdd-4x4.yaml", [event])
    assert (healed_s(spec)[5] - 2) / 3600 == pytest.approx(0.195, abs=0.001)


@pytest.mark.parametrize(
    ("sections", "said"),
    [({"faults": [REPLACED]}, r"faults\.0\.kind: .* requires stored"), ({"scanner": {"speed": "fast"}}, "stored")],
)
def test_objects_are_required(sections, said):
    with pytest.raises(InputError, match=said):
        cluster(**sections)


def test_work_needs_an_end():
    scanned = {"stored": {"objects": 100, "object_size": 4096}, "scanner": {"speed": "default"}}
    closed = {"clients": 1, "operations": 10, "object_size": "4KiB"}
    for workload, fails in ((closed, True), (closed | {"duration": "10s"}, False)):
        spec = cluster(**scanned, workload=workload)
        if fails:
            with pytest.raises(InputError, match=r"workload\.duration: is missing"):
                compile_spec(spec, generate(spec.workload, 0))
        else:
            assert compile_spec(spec, generate(spec.workload, 0))[1].background[0].until_s == 10


@pytest.mark.parametrize("other_s", [3.0, 8.0])
def test_a_drive_is_replaced_once_in_a_run(other_s):
    stored = {"objects": 100, "object_size": 4096}
    again = REPLACED | {"at": other_s, "back_at": other_s + 1}
    with pytest.raises(InputError, match=r"faults\.1\.kind: drive 5 has a drive_replaced already \(faults\.0\)"):
        cluster(stored=stored, faults=[REPLACED, again])
    cluster(stored=stored, faults=[REPLACED, again | {"drive": 6}])


def test_a_pool_is_emptied_once_in_a_run():
    first = {"kind": "decommission", "pool": 0, "at": 1.0, "until": 2.0}
    stored = {"objects": 100, "object_size": 4096}
    with pytest.raises(InputError, match=r"pool 0 has a decommission already"):
        cluster(stored=stored, pools=[{}], faults=[first, first | {"at": 5.0, "until": 6.0}])
