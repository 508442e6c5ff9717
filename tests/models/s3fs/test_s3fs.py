"""s3fs over MinIO, Ceph and Swift: both engines, its own stations, and what commands ask its model for."""

from __future__ import annotations

import numpy as np
import pytest

from models.s3fs.compile import series_of
from models.shared.prices import cost
from models.store import compile_spec, demands_of, levels, load_spec, store_of
from sim.analysis.bounds import bounds
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.models.below.test_blocks import STORES
from tests.models.s3fs.common import BELOW, MIB, Row, mounted, text_of, trace_of
from tests.paths import EXAMPLES
from tests.sim.engine.test_engines import assert_identical
from traces.errors import InputError
from traces.workload.generate import generate

MIXED = {
    "operations": 80, "keys": {"kind": "uniform", "count": 30},
    "object_size": {"kind": "mixture", "components": [
        {"weight": 1, "size": "40MiB"}, {"weight": 2, "size": {"kind": "lognormal", "mean": "1MiB", "cv": 1}},
    ]},
    "mix": {"GET": 3, "PUT": 3, "HEAD": 1, "DELETE": 1, "LIST": 1, "RENAME": 1, "SETATTR": 1, "READ": 1, "WRITE": 1},
}  # fmt: skip
CASES: dict[str, tuple[str, list[str]]] = {
    "minio": ("minio", []),
    "minio, 1.90": ("minio", ["release=1.90"]),
    "minio, mounts, TLS": ("minio", ["mounts.count=2", "tls=true", "below.client={machines: 2, nic: 10Gbit/s}"]),
    "minio, open files": ("minio", ["workload.mix={CREATE: 1, OPEN: 2, READ: 4, WRITE: 4, FSYNC: 1, CLOSE: 2}"]),
    "minio, drive": ("minio", ["temporary={preset: sata-ssd, page_cache: 1MiB}", "mounts.cores=2"]),
    "minio, open loop, faults": ("minio", [
        "workload.rate=50/s", "faults=[{kind: slow_mount, at: 0.2s, until: 0.6s, speed: 0.2}]",
        "below.faults=[{kind: host_down, host: 1, at: 0.3s, back_at: 0.6s}]", "below.client={retry: {retries: 3}}",
    ]),
    "ceph": ("ceph", []),
    "swift": ("swift", ["release=1.90"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_engines_agree_to_the_bit(name):
    below, assignments = CASES[name]
    workload = MIXED | ({"clients": 3} if "workload.rate=50/s" not in assignments else {})
    spec = mounted(*assignments, below=below, workload=workload)
    program = Program.of(*compile_spec(spec, generate(spec.workload, 1)), seed=1)
    assert_identical(simpy_engine.run(program), compiled_engine.run(program))


def alone_s(op: str, size: int, *assignments: str, start: int | None = None, length: int | None = None) -> float:
    """The latency of one operation."""
    return float(simulate(mounted(*assignments), trace_of([(op, "key", size, start, length)])).latency_s[0])


def test_each_request_of_1_97_opens_a_connection():
    """A new file of 4 KiB makes four requests; a handshake is a round trip, with TLS two."""
    way_s, plain = 0.1e-3, alone_s("PUT", 4096)
    assert alone_s("PUT", 4096, "tls=true") - plain == pytest.approx(4 * 2 * way_s)
    longer = alone_s("PUT", 4096, "below.network.latency=1.1ms") - plain
    assert longer == pytest.approx(4 * 4 * 1e-3)


def test_threads_limit_the_parts_of_a_mount():
    far = "below.network.latency=20ms"
    few, many = (alone_s("PUT", 512 * MIB, f"max_thread_count={n}", far) for n in (1, 10))
    assert few > 3 * many
    rows = [("PUT", f"key {n}", 512 * MIB, None, None) for n in range(2)]
    alone, both = (
        simulate(mounted(far), trace_of(some, [0.0] * len(some))).latency_s.max() for some in (rows[:1], rows)
    )
    assert both > alone + 0.5  # 51 further parts, ten at a time, of 80 ms or more each


def test_a_small_read_waits_for_its_read_ahead():
    slow = "below.client={nic: 1Gbit/s}"
    small, last = (alone_s("READ", 512 * MIB, slow, start=at, length=4096) for at in (200_000_000, 512 * MIB - 4096))
    assert small > 100 * MIB / 125e6 > 50 * last


def test_an_overwrite_costs_what_the_store_copies():
    small, large = (alone_s("WRITE", size, start=50_000_000, length=4096) for size in (100 * MIB, 512 * MIB))
    assert large > 3 * small


def test_large_files_pass_the_temporary_drive_twice():
    rate = 200e6
    drive = "temporary={write: {per_byte: 5ns}, read: {per_byte: 5ns}, page_cache: 0}"
    size = 400 * MIB
    kept, passed = alone_s("PUT", size), alone_s("PUT", size, drive)
    assert passed > 2 * size / rate and passed < kept + 2 * size / rate
    cached = alone_s("PUT", size, drive.replace("page_cache: 0", "page_cache: 1GiB"))
    assert cached == pytest.approx(kept, rel=0.01)


def test_operations_on_a_file_wait_for_each_other():
    rows = [("SETATTR", "same", 40 * MIB, None, None)] * 2
    same = simulate(mounted(), trace_of(rows, [0.0, 0.0])).latency_s
    other = [rows[0], ("SETATTR", "other", 40 * MIB, None, None)]
    apart = simulate(mounted(), trace_of(other, [0.0, 0.0])).latency_s
    assert same.max() > 1.6 * apart.max()


def test_names_expire_in_an_open_loop():
    rows = [("STAT", "a", 4096, None, None)] * 3
    run = simulate(mounted(), trace_of(rows, [0.0, 100.0, 1000.0]))
    looked_up = run.latency_s > 0.5e-3
    assert looked_up.tolist() == [True, False, True]


def test_names_are_evicted():
    rows = [("STAT", key, 4096, None, None) for key in ("a", "b", "a", "a")]
    assert (simulate(mounted("stat_cache.entries=1"), trace_of(rows)).latency_s > 0.5e-3).tolist() == [1, 1, 1, 0]


def test_a_store_below_that_does_not_copy_is_named():
    spec = mounted("workload.mix={RENAME: 1}", below=STORES["bob"])
    with pytest.raises(
        InputError, match=r"workload: has COPY, .*LIST.*; store bob serves|has LIST, COPY; store bob serves"
    ):
        simulate(spec)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("release=2.0", "release: is 2.0"),
        ("faults=[{kind: slow_mount, mount: 1, at: 1s, speed: 0.5}]", "there is no mount 1; allowed are 0 to 0"),
        ("below.client={multipart: {}}", "below.client.multipart: s3fs uploads in parts itself; allowed is null"),
        ("multipart_size=1MiB", "multipart_size"),
        ("workload.mix={COPY: 1}", "workload: has COPY; store s3fs serves GET, PUT"),
        ("workload.object_size=1TB", "a file of 1000000000000 B has more than the 10,000 parts"),
    ],
)
def test_mistakes_get_one_line(change, message):
    with pytest.raises(InputError) as error:
        simulate(mounted(change))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_capabilities_are_those_of_both_stores():
    spec = mounted("mounts={count: 2, cores: 4}", "prices={mount: 100, core: 10}", "below.client={machines: 3}")
    store = store_of(spec)
    assert {"slow-mount", "host", "drive"} <= set(store.faults)
    assert {"mounts.cpu", "below.hosts.cpu.PUT"} <= set(demands_of(spec, ("PUT",)))
    assert {"mounts.count": 3} in list(store.remedies.changes(spec, spec))
    assert cost(*levels(spec).values()) == 2 * 100 + 8 * 10
    assert [each.path for each in store.doubts(spec)] == ["mounts.count"]
    assert "mounts.cpu" in store.spreads and "below.hosts.cpu" in " ".join(store.spreads)


def test_growth_counts_a_file_as_one_object():
    spec = mounted("workload.object_size=100MiB", below="ceph")
    growth = store_of(spec).growth
    assert growth.created_each(spec) == 1.0
    assert growth.object_bytes(growth.with_object_size(spec, 100 * MIB), generate(spec.workload, 0)) == 100 * MIB


def test_cpu_counts_that_of_the_mounts():
    found = []
    for cpu in ("1ms", "3ms"):
        spec = mounted(f"mounts.cpu={cpu}")
        found.append(store_of(spec).cpu(spec, *compile_spec(spec, generate(spec.workload, 0))))
    assert found[1]["client"] - found[0]["client"] == pytest.approx(2e-3)
    assert found[1]["server"] == found[0]["server"] > 0.8e-3  # three look-ups of 0.2 ms and more, and a PUT


@pytest.mark.parametrize("below", BELOW)
def test_bounds_hold_for_one_client(below):
    spec = mounted(below=below, workload=MIXED | {"clients": 1})
    trace = generate(spec.workload, 2)
    found = bounds(*compile_spec(spec, trace))
    mean_s = float(np.mean(simulate(spec, trace, seed=2).latency_s))
    assert found.response_s.low <= mean_s * 1.001


def test_look_ups_of_an_absent_name_read_nothing():
    """A creation has LISTs and HEADs of such names; a full page takes 1,064 reads of 8 ms of the drive."""
    few, box = ["workload.operations=20"], EXAMPLES / "s3fs/box.yaml"

    def median_s(op: str, entries: int) -> float:
        spec = load_spec(box, [*few, f"workload.mix={{{op}: 1}}", f"below.listing.entries={entries}"])
        return float(np.median(simulate(spec).latency_s))

    assert median_s("PUT", 0) == median_s("PUT", 1000) < 0.04  # one write of 8.5 ms, and CPU times
    assert median_s("READDIR", 1000) == pytest.approx(median_s("READDIR", 0) + 1064 * 8e-3, rel=0.15)


def test_a_directory_whose_entries_are_known_is_listed_without_heads():
    spec = mounted("directory_entries=25")
    stats: list[Row] = [("STAT", f"dir/f{n}", 4096, None, None) for n in range(25)]
    whole, rest = ([*stats[first:], ("READDIR", "dir", 0, None, None)] for first in (0, 10))
    for rows, expected in ((whole, "LIST"), (rest, "LIST; 10 HEAD"), (rows_again(rest), "LIST")):
        series, index = series_of(spec, trace_of(rows))
        assert text_of(series[index[-1]][1], 0) == expected


def rows_again(rows: list[Row]) -> list[Row]:
    return [*rows, rows[-1]]


def test_operations_of_a_killed_mount_fail_until_it_is_mounted_again():
    workload = {"rate": "10/s", "operations": 60, "arrivals": "constant", "object_size": "4KiB", "mix": {"HEAD": 1}}
    run = simulate(mounted("faults=[{kind: mount_down, at: 1s, back_at: 3s}]", workload=workload), seed=1)
    arrival_s = run.column("arrival_s")
    assert run.failed[(arrival_s > 1) & (arrival_s < 3)].all()
    assert not run.failed[(arrival_s < 0.9) | (arrival_s > 3)].any()  # of those before, one is in progress


def test_series_depend_on_times_only_if_names_expire():
    spec = mounted("stat_cache.expire=100s")
    rows: list[Row] = [("STAT", "f", 4096, None, None)] * 2
    found = [series_of(spec, trace_of(rows, [0.0, at_s])) for at_s in (1.0, 99.0, 101.0)]
    assert found[0][0] == found[1][0]
    assert np.array_equal(found[0][1], found[1][1])
    assert [text_of(series[index[-1]][1], 0) for series, index in found[1:]] == ["", "HEAD"]


def test_whole_files_of_any_size_that_are_written_are_one_series():
    rows: list[Row] = [("WRITE", f"file{size}", size, None, None) for size in (MIB, 2 * MIB, 3 * MIB)]
    series, index = series_of(mounted(), trace_of(rows))
    assert (len(series), index.tolist()) == (1, [0, 0, 0])
    assert str(2 * MIB) in text_of(series[0][1], 2 * MIB)


def test_series_that_stand_for_others_move_as_many_bytes():
    sizes = [number * number * 1000 for number in range(1, 301)]
    rows: list[Row] = [("SETATTR", f"file{size}", size, None, None) for size in sizes]
    series, index = series_of(mounted(), trace_of(rows))
    copied = [sum(call.size_bytes for each in series[k][1] for call in each.calls) for k in index]
    assert len(series) < 30
    assert sum(copied) == pytest.approx(sum(sizes), rel=0.01)
    assert max(copied) == pytest.approx(max(sizes), rel=0.1)


def test_the_first_requests_of_a_trace_have_the_series_that_they_have_alone():
    rows: list[Row] = [("READ", f"file{n % 5}", 300 * MIB, n * MIB, 4096) for n in range(40)]

    def found(expire: str, count: int) -> list[object]:
        series, index = series_of(mounted(f"stat_cache.expire={expire}"), trace_of(rows[:count]))
        return [series[k] for k in index]

    assert found("77s", 40)[:20] == found("77s", 20) == found("78s", 20)
