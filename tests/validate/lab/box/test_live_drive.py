"""Drives that are really mounted."""

from __future__ import annotations

import errno
import heapq
import mmap
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.validate.lab.box.drives import Mount, accesses, mark_of, mounting, shape_of
from tests.validate.lab.box.quantile_draws import drawn_s
from traces.errors import InputError
from validate.lab import processes
from validate.lab.box.drives import Drive, build, missing
from validate.lab.mounts import is_mounted, mounted_below

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(missing()), reason=f"drives need {'; '.join(missing())}"),
]

_CLOCKS_DIFFER_NS = 100_000  # the log converts between two clocks

GAMMA = {"kind": "gamma", "cv": 0.5}


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    with mounting(tmp_path) as mount:
        yield mount
    assert not mounted_below(tmp_path)


def read_together(drive: Drive, count: int, bytes_each: int = 1000) -> None:
    """Read a file from as many threads at the same time."""
    path = drive.mount_point / "shared"
    path.write_bytes(bytes(bytes_each))
    started = threading.Barrier(count)

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            started.wait()
            file.read(bytes_each)

    with ThreadPoolExecutor(count) as pool:
        for each in [pool.submit(read) for _ in range(count)]:
            each.result()


# Times


def test_service_times_are_the_draws_of_the_distribution(mount: Mount) -> None:
    sizes = np.array([100, 5000, 70_000, 1 << 20] * 10)
    read = {"constant": "0.3ms", "per_byte": "1ns", "per_block": "0.1ms", "block": 4096, "distribution": GAMMA}
    write = {"constant": "0.5ms", "per_byte": "0.5ns", "later_byte_factor": 0.5, "block": 4096}
    fsync = {"constant": "0.2ms", "distribution": {"kind": "slow_mode", "probability": 0.1, "factor": 5}}
    shape = shape_of(read=read, write=write, fsync=fsync)
    drive = mount(shape, seed=11)
    file = os.open(drive.mount_point / "f", os.O_CREAT | os.O_RDWR)
    with mmap.mmap(-1, 1 << 20) as buffer:  # begins at a page, so the kernel does not split requests
        for size in sizes.tolist():
            os.pwrite(file, memoryview(buffer)[:size], 0)
            os.preadv(file, [memoryview(buffer)[:size]], 0)
            os.fsync(file)
    os.close(file)
    for kind, demand in shape.demands().items():
        if kind in ("read", "write", "fsync"):
            found = [each["service_ns"] for each in accesses(drive, kind)]
            expected = drawn_s(demand, kind, 11, sizes if kind != "fsync" else 0 * sizes)
            assert found == pytest.approx(expected * 1e9, abs=1), kind


@pytest.mark.clock
@pytest.mark.parametrize("depth", [1, 3])
def test_accesses_are_served_in_the_order_of_arrival_at_most_so_many_at_a_time(mount: Mount, depth: int) -> None:
    drive = mount(shape_of(read={"constant": "3ms", "distribution": GAMMA}, queue_depth=depth))
    read_together(drive, 20)
    log = accesses(drive, "read")
    assert len(log) == 20 and max(each["start_ns"] - each["arrival_ns"] for each in log) > 5e6
    assert [each["arrival_ns"] for each in log] == pytest.approx(
        sorted(each["arrival_ns"] for each in log), abs=_CLOCKS_DIFFER_NS
    )
    free_ns = [0] * depth
    for each in log:
        start_ns = max(each["arrival_ns"], heapq.heappop(free_ns))
        assert each["start_ns"] == pytest.approx(start_ns, abs=_CLOCKS_DIFFER_NS)
        assert each["end_ns"] >= each["start_ns"] + each["service_ns"] - _CLOCKS_DIFFER_NS
        heapq.heappush(free_ns, each["start_ns"] + each["service_ns"])


def test_metadata_operations_cost_what_the_shape_says(mount: Mount) -> None:
    drive = mount(shape_of(metadata={"rename": "1ms", "create": "2ms"}))
    (drive.mount_point / "folder").mkdir()
    (drive.mount_point / "folder" / "a").touch()
    (drive.mount_point / "folder" / "a").rename(drive.mount_point / "b")
    log = [(each["kind"], each["service_ns"], each["path"], each["to"]) for each in accesses(drive)]
    assert ("mkdir", 0, "folder", "") in log
    assert ("create", 2_000_000, "folder/a", "") in log
    assert ("rename", 1_000_000, "folder/a", "b") in log


def test_the_end_of_a_file_is_free(mount: Mount) -> None:
    drive = mount(shape_of())
    (drive.mount_point / "f").write_bytes(bytes(10_000))
    assert len((drive.mount_point / "f").read_bytes()) == 10_000  # which reads until nothing comes
    assert [each["bytes"] for each in accesses(drive, "read")] == [10_000]


def test_what_the_kernel_splits_for_its_buffer_pays_once(mount: Mount) -> None:
    drive = mount(shape_of(read={"constant": "2ms", "per_byte": "1ns"}, write="1ms"))
    size = 1 << 20
    buffer = memoryview(mmap.mmap(-1, 4 * size))
    file = os.open(drive.mount_point / "f", os.O_CREAT | os.O_RDWR)
    os.pwrite(file, buffer[100 : 100 + 2 * size], 0)
    os.preadv(file, [buffer[100 : 100 + 2 * size]], 0)
    os.preadv(file, [buffer[: 2 * size]], 0)
    os.close(file)
    costs = [(each["bytes"], each["continued"], each["service_ns"]) for each in accesses(drive, "read")]
    assert costs[:3] == [(size - 100, 0, 3_048_476), (size, 0, 3_048_576), (100, 1, 0)]
    assert costs[3:] == [(size, 0, 3_048_576)] * 2
    assert [each["service_ns"] for each in accesses(drive, "write")] == [1_000_000, 1_000_000, 0]


def test_requests_have_the_sizes_of_the_shape(mount: Mount) -> None:
    drive = mount(shape_of(read="0.1ms", write="0.1ms", max_read="64KiB", max_write="16KiB"))
    with mmap.mmap(-1, 1 << 17) as buffer:
        file = os.open(drive.mount_point / "f", os.O_CREAT | os.O_RDWR)
        os.pwrite(file, buffer, 0)
        os.preadv(file, [buffer], 0)
        os.close(file)
    assert [each["bytes"] for each in accesses(drive, "read")] == [65536] * 2
    assert [each["bytes"] for each in accesses(drive, "write")] == [16384] * 8


def test_a_hard_disk_takes_the_times_of_its_mechanism(mount: Mount) -> None:
    seek = {"track": "0.05ms", "average": "0.4ms", "full_stroke": "0.8ms"}
    disk = {
        "read_seek": seek,
        "write_seek": seek,
        "rpm": 120_000,
        "outer": "2GB/s",
        "inner": "1GB/s",
        "capacity": "4TB",
    }
    shape = shape_of(read=None, write=None, disk=disk)
    assert shape.disk is not None
    drive = mount(shape)
    for i in range(300):
        (drive.backing / f"f{i}").write_bytes(bytes(8192))
    for i in range(300):
        (drive.mount_point / f"f{i}").read_bytes()
    log = accesses(drive, "read")
    model = shape.disk.access("read")
    expected_s = model.constant + 8192 * model.per_byte
    assert np.mean([each["service_ns"] for each in log]) == pytest.approx(expected_s * 1e9, rel=0.08)
    with (drive.mount_point / "f0").open("rb", buffering=0) as file:
        file.read(4096)
        file.read(4096)
    assert accesses(drive, "read")[-1]["service_ns"] < 5000  # it follows what was read before


def test_a_hard_disk_serves_the_access_that_its_head_reaches_first(mount: Mount) -> None:
    seek = {"track": "1ms", "average": "4ms", "full_stroke": "8ms"}
    disk = {"read_seek": seek, "write_seek": seek, "rpm": 60_000, "outer": "2GB/s", "inner": "1GB/s", "capacity": "4TB"}
    drives = [mount(shape_of(read=None, write=None, disk=disk | {"depth": depth})) for depth in (1, 16)]

    def positioning_s(drive: Drive) -> float:
        for i in range(64):
            (drive.backing / f"f{i}").write_bytes(b"x")
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: (drive.mount_point / f"f{i}").read_bytes(), range(64)))
        return float(np.mean([each["service_ns"] for each in accesses(drive, "read")])) * 1e-9

    first_come, nearest = map(positioning_s, drives)
    assert nearest < 0.8 * first_come


# Commands


def test_slower_from_the_next_service_on(mount: Mount) -> None:
    drive = mount(shape_of())
    path = drive.mount_point / "f"
    path.write_bytes(b"x")
    status = drive.control("slower 5")
    path.read_bytes()
    assert drive.control("slower 1").slower == 1
    path.read_bytes()
    slow, usual = accesses(drive, "read")
    assert (slow["service_ns"], usual["service_ns"]) == (10_000_000, 2_000_000)
    assert status.slower == 5 and 0 < slow["arrival_ns"] - status.realtime_ns < 5e9
    assert abs(time.monotonic_ns() - status.monotonic_ns) < 60e9


def test_a_frozen_drive_goes_on_when_it_is_thawed(mount: Mount) -> None:
    drive = mount(shape_of(read="200ms"))
    path = drive.mount_point / "f"
    path.write_bytes(b"x")
    with ThreadPoolExecutor(3) as pool:
        reads = [pool.submit(path.read_bytes) for _ in range(2)]
        until(lambda: (status := drive.control("status")).in_service == status.waiting == 1)
        frozen = drive.control("frozen")
        created = pool.submit((drive.mount_point / "new").touch)
        time.sleep(0.3)
        assert not created.done() and not any(read.done() for read in reads)
        thawed = drive.control("frozen off")
        assert [read.result() for read in reads] == [b"x", b"x"] and created.result() is None
    pause_ns = thawed.monotonic_ns - frozen.monotonic_ns
    first, second = accesses(drive, "read")
    assert first["end_ns"] - first["start_ns"] >= first["service_ns"] + pause_ns - _CLOCKS_DIFFER_NS
    # What was in service goes on for the rest of its time, and the next follows it.
    assert second["start_ns"] - first["start_ns"] == pytest.approx(2e8 + pause_ns, abs=_CLOCKS_DIFFER_NS)
    assert pause_ns >= 3e8


def test_errors_come_at_once_and_end_with_normal(mount: Mount) -> None:
    drive = mount(shape_of(read="30s"))
    path = drive.mount_point / "f"
    path.write_bytes(b"x")
    with ThreadPoolExecutor(2) as pool:
        reads = [pool.submit(path.read_bytes) for _ in range(2)]
        until(lambda: drive.control("status").waiting == 1)
        began_s = time.monotonic()
        assert drive.control("errors").errors
        assert [getattr(read.exception(), "errno", None) for read in reads] == [errno.EIO, errno.EIO]
        assert time.monotonic() - began_s < 10
    for action in (lambda: path.write_bytes(b"y"), lambda: list(drive.mount_point.iterdir())):
        with pytest.raises(OSError) as caught:
            action()
        assert caught.value.errno == errno.EIO
    status = drive.control("normal")
    assert not status.errors and status.in_service == status.waiting == 0
    path.write_bytes(b"z")
    assert {each["error"] for each in accesses(drive, "read")} == {errno.EIO}


def test_a_full_drive_takes_no_new_data(mount: Mount) -> None:
    drive = mount(shape_of())
    path = drive.mount_point / "f"
    path.write_bytes(b"x")
    drive.control("full")
    assert os.statvfs(drive.mount_point).f_bavail == 0
    for action in (lambda: path.write_bytes(b"y"), (drive.mount_point / "g").touch, (drive.mount_point / "h").mkdir):
        with pytest.raises(OSError) as caught:
            action()
        assert caught.value.errno == errno.ENOSPC
    path.read_bytes()
    path.unlink()
    drive.control("full off")
    assert os.statvfs(drive.mount_point).f_bavail > 0
    path.write_bytes(b"z")


@pytest.mark.parametrize("command", ["sloer 5", "slower", "slower 0", "slower -2", "slower x", "frozen on now", ""])
def test_a_wrong_command_changes_nothing(mount: Mount, command: str) -> None:
    drive = mount(shape_of())
    with pytest.raises(InputError, match="slower FACTOR"):
        drive.control(command)
    status = drive.control("status")
    assert (status.slower, status.frozen, status.errors, status.full) == (1, False, False, False)


def test_a_client_that_says_nothing_does_not_block_the_others(mount: Mount) -> None:
    drive = mount(shape_of())
    with socket.socket(socket.AF_UNIX) as silent:
        folder = os.open(drive.folder, os.O_PATH)
        silent.connect(f"/proc/self/fd/{folder}/{drive.socket.name}")
        os.close(folder)
        assert drive.control("status").served == 0


# Files


def test_what_stores_need_of_a_file_system_works(mount: Mount) -> None:
    drive = mount(shape_of(read="0.1ms", write="0.1ms", fsync="0.1ms"))
    top = drive.mount_point
    with mmap.mmap(-1, 8192) as buffer:
        buffer[:] = bytes(range(256)) * 32
        direct = os.open(top / "direct", os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_DIRECT)
        assert os.write(direct, buffer) == 8192
        os.fdatasync(direct)
        os.close(direct)
        synced = os.open(top / "synced", os.O_CREAT | os.O_WRONLY | os.O_DSYNC)
        os.write(synced, b"abc")
        os.close(synced)
    assert (top / "direct").read_bytes() == bytes(range(256)) * 32
    assert [(each["kind"], each["path"]) for each in accesses(drive, "write", "fsync")] == [
        ("write", "direct"),
        ("fsync", "direct"),
        ("write", "synced"),
        ("fsync", "synced"),
    ]
    os.setxattr(top / "direct", "user.name", b"value")
    assert os.getxattr(top / "direct", "user.name") == b"value" and os.listxattr(top / "direct") == ["user.name"]
    os.removexattr(top / "direct", "user.name")
    with pytest.raises(OSError):
        os.getxattr(top / "direct", "user.name")
    (top / "a" / "b").mkdir(parents=True)
    (top / "direct").rename(top / "a" / "b" / "new\tname %")
    (top / "a").rename(top / "c")
    assert [path.name for path in (top / "c" / "b").iterdir()] == ["new\tname %"]
    assert ("direct", "a/b/new%09name %25") in [(each["path"], each["to"]) for each in accesses(drive, "rename")]
    with pytest.raises(OSError) as caught:
        (top / "c").rmdir()
    assert caught.value.errno == errno.ENOTEMPTY
    os.link(top / "synced", top / "linked")
    (top / "symbolic").symlink_to("linked")
    assert (top / "symbolic").read_bytes() == b"abc" and (top / "synced").stat().st_nlink == 2
    with (top / "linked").open("ab") as file:
        file.write(b"def")
    assert (top / "synced").read_bytes() == b"abcdef"
    os.truncate(top / "synced", 2)
    assert (top / "synced").read_bytes() == b"ab"
    with (top / "synced").open("rb") as file:
        (top / "synced").unlink()
        (top / "linked").unlink()
        assert file.read() == b"ab"
    (top / "c").chmod(0o700)
    assert (drive.backing / "c").stat().st_mode & 0o777 == 0o700


def test_every_synced_write_is_followed_by_a_sync(mount: Mount) -> None:
    drive = mount(shape_of(fsync="1ms"))
    file = os.open(drive.mount_point / "f", os.O_CREAT | os.O_WRONLY)
    os.pwritev(file, [b"x"], 0, os.RWF_DSYNC)
    os.pwritev(file, [b"x"], 0)
    os.close(file)
    folder = os.open(drive.mount_point, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    assert [each["kind"] for each in accesses(drive, "write", "fsync")] == ["write", "fsync", "write", "fsync"]


# Beginnings and ends


def test_a_killed_drive_leaves_nothing_behind(mount: Mount) -> None:
    drive = mount(shape_of(read="30s"))
    (drive.mount_point / "f").write_bytes(b"kept")
    with ThreadPoolExecutor(1) as pool:
        reads = pool.submit((drive.mount_point / "f").read_bytes)
        until(lambda: drive.control("status").in_service == 1)
        (process,) = processes.marked([mark_of(drive)])[mark_of(drive)]
        process.send_signal(signal.SIGKILL)
        assert getattr(reads.exception(), "errno", None) in (errno.ENOTCONN, errno.ECONNABORTED)
    assert is_mounted(drive.mount_point) and drive.status() is None
    with pytest.raises(InputError, match="does not respond"):
        drive.control("status")
    drive.end(mark_of(drive))
    assert not is_mounted(drive.mount_point) and not drive.socket.exists()
    assert (drive.backing / "f").read_bytes() == b"kept"


def test_a_killed_drive_can_be_mounted_again(mount: Mount) -> None:
    drive = mount(shape_of())
    (drive.mount_point / "f").write_bytes(b"kept")
    (process,) = processes.marked([mark_of(drive)])[mark_of(drive)]
    process.send_signal(signal.SIGKILL)
    drive.start(mark_of(drive))
    assert (drive.mount_point / "f").read_bytes() == b"kept"
    assert [each["kind"] for each in accesses(drive)].count("read") == 1
    assert len(processes.marked([mark_of(drive)])[mark_of(drive)]) == 1


@pytest.mark.parametrize("frozen", [False, True])
def test_a_drive_ends_also_if_it_is_frozen_and_in_use(mount: Mount, frozen: bool) -> None:
    drive = mount(shape_of(read="30s"))
    (drive.mount_point / "f").write_bytes(b"x")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((drive.mount_point / "f").read_bytes)
        until(lambda: drive.control("status").in_service == 1)
        if frozen:
            drive.control("frozen")
        drive.end(mark_of(drive))
        assert read.exception() is not None
    assert not processes.marked([mark_of(drive)])[mark_of(drive)]
    drive.end(mark_of(drive))


def test_a_drive_that_cannot_be_mounted_says_why(mount: Mount, tmp_path: Path) -> None:
    drive = Drive(tmp_path / "backing", tmp_path / "there", tmp_path / "run", "d", shape_of(), 1)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "d.accesses.tsv").mkdir()
    with pytest.raises(InputError, match=r"d\.accesses\.tsv"):
        drive.start(mark_of(drive))


def until(holds: Callable[[], bool], within_s: float = 10.0) -> None:
    """Wait until something holds."""
    limit_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < limit_s
        time.sleep(0.005)


def test_drives_that_start_at_the_same_time_compile_the_program_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with ThreadPoolExecutor(4) as pool:
        programs = {each.result() for each in [pool.submit(build) for _ in range(4)]}
    (program,) = programs
    assert os.access(program, os.X_OK) and len(list(program.parent.glob("drive-*"))) == 2  # and the lock


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"cc.*pkg-config"):
        build()


# The page cache


def test_the_page_cache_has_the_most_recent_pages(mount: Mount) -> None:
    drive = mount(shape_of(page_cache=4 * 4096))
    for name in "abc":
        (drive.mount_point / name).write_bytes(bytes(2 * 4096))  # writes pass through the cache: it has b and c

    def reads(name: str, direct: bool = False) -> list[str]:
        before = len(accesses(drive, "read", "cached_read"))
        file = os.open(drive.mount_point / name, os.O_RDONLY | (os.O_DIRECT if direct else 0))
        with mmap.mmap(-1, 2 * 4096) as buffer:
            assert os.preadv(file, [buffer], 0) == 2 * 4096
        os.close(file)
        return [row["kind"] for row in accesses(drive, "read", "cached_read")[before:]]

    assert [reads(name) for name in "cbacb"] == [["cached_read"], ["cached_read"], ["read"], ["read"], ["read"]]
    assert [reads(name) for name in "cb"] == [["cached_read"]] * 2
    assert [reads("a", direct=True), reads("a"), reads("b")] == [["read"], ["read"], ["cached_read"]]
    assert all(row["service_ns"] == 0 for row in accesses(drive, "cached_read"))


def test_the_page_cache_forgets_direct_writes_and_files_that_are_gone(mount: Mount) -> None:
    drive = mount(shape_of(page_cache=1 << 20))
    path = drive.mount_point / "f"

    def kind() -> str:
        with path.open("rb", buffering=0) as file:
            file.read(4096)
        return str(accesses(drive, "read", "cached_read")[-1]["kind"])

    path.write_bytes(bytes(4096))
    assert kind() == "cached_read"
    file = os.open(path, os.O_WRONLY | os.O_DIRECT)
    with mmap.mmap(-1, 4096) as buffer:
        os.pwritev(file, [buffer], 0)
    os.close(file)
    assert [kind(), kind()] == ["read", "cached_read"]
    path.unlink()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)  # it may get the same inode
    with mmap.mmap(-1, 4096) as buffer:
        os.pwritev(file, [buffer], 0)
    os.close(file)
    assert kind() == "read"
