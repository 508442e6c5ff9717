"""Swift's own work, by hand: what auditors and replicators read and write in a second, and where."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from sim.verdict.verdict import verdict_on_run
from tests.models.swift.test_swift import ACCESS_S, KIB, MIB, cluster
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.workload.generate import generate

END_S, BANDWIDTH, LOOKUP_S = 400.0, 50e6, 3e-3
READ = {"per_byte": 1 / BANDWIDTH}
EACH_S = np.arange(0, END_S, 0.5)


def background(spec, op: str = "HEAD", arrival_s=(END_S,), engine=compiled_engine):
    """The outcome of a run with requests at these times, of which the last one ends it."""
    count = len(arrival_s)
    trace = trace_of([op] * count, [f"k{i}" for i in range(count)], arrival_s=np.array(arrival_s))
    program = Program.of(*compile_spec(spec, trace), 0)
    return program, engine.run(program)


def used(spec, **given) -> dict[str, tuple[float, float]]:
    """Utilisation and visits per second of each station with background load."""
    program, outcome = background(spec, **given)
    stations = zip(program.network.stations, outcome.busy_s.tolist(), outcome.visits.tolist(), strict=True)
    return {s.name: (busy_s / END_S, visits / END_S) for s, busy_s, visits in stations}


def audited(size: int, auditor: dict[str, Any] | None = None, **sections: Any):
    drives = {"count": 4, "read": READ, **sections.pop("drives", {})}
    return cluster(drives=drives, stored={"object_size": size}, auditor=auditor or {}, **sections)


def busy_drives(spec, **given) -> list[float]:
    drives = [u for name, (u, _) in used(spec, **given).items() if re.fullmatch(r"host \d drive \d", name)]
    return sorted(drives, reverse=True)


@pytest.mark.parametrize(
    ("size", "settings", "files_ops"),
    [
        (64 * KIB, {}, 20), (MIB, {}, 1e7 / MIB), (64 * KIB, {"files_per_second": 100}, 100),
        (MIB, {"bytes_per_second": 2e7}, 2e7 / MIB),
        (MIB, {"files_per_second": 1e6, "bytes_per_second": 1e12}, BANDWIDTH / MIB),
    ],
)  # fmt: skip
def test_a_drive_is_used_by_the_rate_of_the_auditor_times_size_over_bandwidth(size, settings, files_ops):
    """One drive of each of three hosts; the slower of both limits counts, and the drive itself."""
    first, *others = (busy_drives(audited(size, settings))[n : n + 3] for n in range(0, 12, 3))
    assert np.mean(first) == pytest.approx(files_ops * size / BANDWIDTH, rel=0.03)
    assert not any(sum(each) for each in others)


def test_each_access_to_a_large_object_takes_its_time():
    spec = audited(5 * MIB, {"bytes_per_second": 2.5e6}, drives={"read": ACCESS_S})
    assert sum(busy_drives(spec)) == pytest.approx(3 * 2.5e6 / (64 * KIB) * ACCESS_S, rel=0.03)


def test_processes_of_the_auditor_read_a_drive_each():
    found = busy_drives(audited(64 * KIB, {"concurrency": 3}))
    assert np.mean(found[:9]) == pytest.approx(20 * 64 * KIB / BANDWIDTH, rel=0.03)
    assert min(found[:9]) > 0.8 * max(found) and not any(found[9:])
    assert sum(b > 0 for b in busy_drives(audited(64 * KIB, {"concurrency": 64}))) == 12


def test_a_further_process_opens_objects_without_reading():
    with_it, without = (
        sum(busy_drives(audited(64 * KIB, {"zero_byte_files_per_second": rate}, drives={"lookup": LOOKUP_S})))
        for rate in (50, 0)
    )
    assert with_it - without == pytest.approx(3 * 50 * LOOKUP_S, rel=0.03)
    assert without == pytest.approx(3 * 20 * (LOOKUP_S + 64 * KIB / BANDWIDTH), rel=0.03)


def test_an_auditor_of_fragments_reads_them():
    erasure = {"ring": {"part_power": 6, "erasure": {"data": 4, "parity": 2}}}
    assert sum(busy_drives(audited(256 * KIB, **erasure))) == pytest.approx(3 * 20 * 64 * KIB / BANDWIDTH, rel=0.03)


def test_reads_of_a_large_object_are_spread_over_its_time():
    """10 MB of 64 KiB reads take a second at Swift's rate: a request waits for one of them at most."""
    spec = audited(10_000_000, drives={"count": 1, "read": ACCESS_S})
    arrival_s = np.arange(0, END_S, 1.0)
    _, outcome = background(spec, op="GET", arrival_s=arrival_s)
    latency_s = outcome.end_s - arrival_s
    assert 0 < latency_s.max() - latency_s.min() <= 1.5 * ACCESS_S


# The replicator


def replicated(interval: str = "0s", **sections: Any):
    replicator = sections.pop("replicator", {"interval": interval})
    return cluster(
        drives={"count": 2, "lookup": LOOKUP_S} | sections.pop("drives", {}), replicator=replicator, **sections
    )


def test_a_worker_compares_one_partition_after_the_other():
    """Own hashes and those of two replicas; a tenth of the passes lists the partition, and writes its hashes.

    Workers wait for each other at drives: in a balanced closed network with exponential times, 3 of them keep
    3 * 6 / (3 + 6 - 1) of 6 drives busy, and with nearly constant ones more.
    """
    alone, together = used(replicated("6s")), used(replicated())
    job_s = 3 * (LOOKUP_S + ACCESS_S) + 0.1 * (LOOKUP_S + 4 * ACCESS_S)
    rate_ops = 64 / (64 * job_s + 6)
    for host in range(3):
        assert alone[f"replicator of host {host}"][1] == pytest.approx(rate_ops, rel=0.05)
    assert calls_ops(alone) == pytest.approx(3 * 2 * rate_ops, rel=0.01)
    drives = [alone[f"host {h} drive {d}"][0] for h in range(3) for d in range(2)]
    assert sum(drives) == pytest.approx(3 * job_s * rate_ops, rel=0.02)
    assert max(drives) < 1.2 * min(drives)
    assert 18 / 8 < sum(together[f"host {h} drive {d}"][0] for h in range(3) for d in range(2)) < 3


def calls_ops(of: dict[str, tuple[float, float]]) -> float:
    return sum(v for name, (_, v) in of.items() if name.endswith("threads")) / 2  # taken, and returned


def test_work_that_is_too_slow_is_not_made_up_for_later():
    """With a load of its own on all drives, the replicator does less, and ends with the run."""
    arrival_s = np.arange(0, 40, 0.02)
    free, busy = (background(replicated(), op, at_s) for op, at_s in (("HEAD", [40.0]), ("GET", arrival_s)))
    for _, outcome in (free, busy):
        assert outcome.background_end_s.max() < 40 + 2 * 32 * 0.06
    assert np.count_nonzero(busy[1].background_end_s > 39) >= 1


def test_a_pass_is_followed_by_a_pause():
    """64 partitions on each of three hosts."""
    job_s = 3 * (LOOKUP_S + ACCESS_S) + 0.1 * (LOOKUP_S + 4 * ACCESS_S)
    rate_ops = used(replicated("30s"))["replicator of host 0"][1]
    assert rate_ops == pytest.approx(64 / (64 * job_s + 30), rel=0.05)


def test_written_partitions_have_their_hashes_written():
    """With the writes of a pass between two readings, each writes twice, with two syncs and a read each time."""
    idle, written = (used(replicated("1h"), op=op, arrival_s=EACH_S) for op in ("HEAD", "PUT"))
    none, base = (used(replicated(replicator=None), op=op, arrival_s=EACH_S) for op in ("HEAD", "PUT"))
    jobs_ops = 3 * 64 / 3600

    def drive_s(of: dict[str, tuple[float, float]]) -> float:
        return sum(u for name, (u, _) in of.items() if re.fullmatch(r"host \d drive \d", name))

    changes = 2 / 64 * 3600 / 3
    more_s = 3 * (8 * ACCESS_S + changes * LOOKUP_S) - 0.1 * 4 * ACCESS_S
    least_s = 3 * (LOOKUP_S + ACCESS_S) + 0.1 * (LOOKUP_S + 4 * ACCESS_S)
    assert drive_s(written) - drive_s(base) == pytest.approx(jobs_ops * (least_s + more_s), rel=0.05)
    assert drive_s(idle) - drive_s(none) == pytest.approx(jobs_ops * least_s, rel=0.1)


def test_a_reconstructor_compares_with_three_partners_and_lists_each_time():
    erasure = {"part_power": 6, "erasure": {"data": 4, "parity": 2}}
    found = used(replicated(hosts={"count": 6, "zones": 6}, ring=erasure))
    job_s = 4 * (LOOKUP_S + ACCESS_S) + LOOKUP_S + 4 * ACCESS_S
    assert found["reconstructor of host 0"][1] == pytest.approx(1 / job_s, rel=0.02)


def test_a_closed_loop_of_writes_changes_all_partitions():
    spec = replicated(workload={"rate": None, "clients": 1, "operations": None, "duration": "20s", "mix": {"PUT": 1}})
    run = simulate(spec, generate(spec.workload, 0), seed=1)
    assert run.stations is not None
    compared = sum(row["visits"] for row in run.stations.to_pylist() if row["name"].startswith("replicator"))
    job_s = 3 * (LOOKUP_S + ACCESS_S) + 3 * (LOOKUP_S + 8 * ACCESS_S) + 0.1 * LOOKUP_S
    assert compared == math.ceil(3 * 20 / job_s)


def test_workers_limit_no_request():
    spec = replicated(workload={"rate": "2/s", "operations": None, "duration": "30s", "mix": {"GET": 1}})
    run = simulate(spec, generate(spec.workload, 0), seed=1)
    verdict = verdict_on_run(run, None)
    assert verdict is not None and verdict.saturates_first is not None
    assert verdict.saturates_first.role == "drive"


def test_both_engines_agree():
    spec = audited(MIB, {"concurrency": 2}, drives={"lookup": LOOKUP_S}, replicator={}, overwrites=0.5)
    arrival_s = np.arange(0, 20, 0.1)
    (_, fast), (_, slow) = (background(spec, "PUT", arrival_s, engine) for engine in (compiled_engine, simpy_engine))
    assert np.array_equal(fast.end_s, slow.end_s) and np.array_equal(fast.visits, slow.visits)
    assert np.array_equal(fast.background_end_s, slow.background_end_s)


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match=r"stored\.object_size: is missing; the auditor"):
        cluster(auditor={})
    spec = replicated(workload={"rate": None, "clients": 1, "operations": 5})
    with pytest.raises(InputError, match=r"workload\.duration: is missing.*replicator"):
        compile_spec(spec, generate(spec.workload, 0))
