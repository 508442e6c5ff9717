"""Counts the accesses of a file system to its drive for each request of a store, with metadata in memory and without.

    python benchmarks/file_system_accesses.py --out CSV [--objects N …] [--file-system xfs …] [--layout minio …]

A file system in a sparse image of 4 TB is mounted through a loop device, and filled with the files of N objects. Then
come the system calls of a store's requests, as ``strace`` shows them of MinIO (7aac2a2c) and Swift 2.30 and as sources
say of MinIO in 2019; the loop device counts accesses and flushes. They are measured after the file system was mounted
again, when none of its metadata is in memory (``cold``), and again on the same objects (``warm``). PUTs come at a
steady rate for some periods in which the file system writes metadata back, and those accesses count. Root only.
"""

# The system calls are those of a store.
# ruff: noqa: PTH102, PTH103, PTH104, PTH106, PTH108, PTH110, PTH120, PTH123, PTH208

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

IMAGE_BYTES = 4_000_000_000_000
WRITE_BACK_S = 30.0
"""After this time, XFS writes all metadata back (xfs_syncd_centisecs), and Linux dirty inodes (dirty_expire)."""
MAKE = {
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1", "-i", "65536"],
}
MOUNT = {"xfs": "noatime", "ext4": "noatime,noinit_itable"}
_STAT = {"reads": 0, "read_sectors": 2, "writes": 4, "write_sectors": 6, "flushes": 15}
COLUMNS = ("file_system", "layout", "objects", "memory", "op", "operations", "rate_ops", *_STAT)


@dataclass(frozen=True)
class Layout:
    """The files of a store's objects, and the system calls of its requests, in a folder.

    Attributes:
        prepare: makes the folders that the store always has.
        put: stores a new object, given its key and whether writes are made durable.
        get, head: read an object.
        delete: removes an object.
    """

    prepare: Callable[[Path], None]
    put: Callable[[Path, str, bool], None]
    get: Callable[[Path, str], None]
    head: Callable[[Path, str], None]
    delete: Callable[[Path, str], None]


def _write(path: str, size: int, durable: bool, xattr: bytes = b"") -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(handle, bytes(size))
    if xattr:
        os.setxattr(handle, "user.swift.metadata", xattr)
    if durable:
        os.fdatasync(handle)
    os.close(handle)


def _read(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOATIME)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)
    while os.read(handle, 1 << 20):
        pass
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)  # the data are read again, the metadata are not
    os.close(handle)


# MinIO: a folder for each object, with xl.meta, and a further folder with part.1 if the data are not inline.


def _minio_prepare(root: Path) -> None:
    (root / "tmp/.trash").mkdir(parents=True)
    (root / "bucket").mkdir()


def _minio_put(root: Path, key: str, durable: bool) -> None:
    final, made = f"{root}/bucket/{key}", f"{root}/tmp/{uuid.uuid4()}"
    if os.path.exists(f"{final}/xl.meta"):
        raise FileExistsError(final)
    os.mkdir(made)
    _write(f"{made}/xl.meta", 3200, durable)
    os.mkdir(final)
    os.rename(f"{made}/xl.meta", f"{final}/xl.meta")
    os.rmdir(made)


def _minio_parts_put(root: Path, key: str, durable: bool) -> None:
    final, made, data = f"{root}/bucket/{key}", f"{root}/tmp/{uuid.uuid4()}", str(uuid.uuid4())
    if os.path.exists(f"{final}/xl.meta"):
        raise FileExistsError(final)
    os.mkdir(made)
    os.mkdir(f"{made}/{data}")
    _write(f"{made}/{data}/part.1", 3200, durable)
    _write(f"{made}/xl.meta", 400, durable)
    os.mkdir(final)
    os.rename(f"{made}/{data}", f"{final}/{data}")
    os.rename(f"{made}/xl.meta", f"{final}/xl.meta")
    os.rmdir(made)


def _minio_2019_put(root: Path, key: str, durable: bool) -> None:
    final, made = f"{root}/bucket/{key}", f"{root}/tmp/{uuid.uuid4()}"
    os.mkdir(made)
    _write(f"{made}/part.1", 3200, False)  # posix.CreateFile syncs nothing
    if os.path.exists(f"{final}/xl.json"):
        raise FileExistsError(final)
    _write(f"{made}/xl.json", 600, durable)
    os.rename(made, final)


def _minio_get(root: Path, key: str) -> None:
    _read(f"{root}/bucket/{key}/xl.meta")


def _minio_parts_get(root: Path, key: str) -> None:
    folder = f"{root}/bucket/{key}"
    _read(f"{folder}/xl.meta")
    data = next(name for name in os.listdir(folder) if name != "xl.meta")  # the store knows the name
    _read(f"{folder}/{data}/part.1")


def _minio_2019_get(root: Path, key: str) -> None:
    _read(f"{root}/bucket/{key}/xl.json")
    _read(f"{root}/bucket/{key}/part.1")


def _minio_delete(root: Path, key: str) -> None:
    folder, gone = f"{root}/bucket/{key}", f"{root}/tmp/.trash/{uuid.uuid4()}"
    os.rename(folder, gone)
    shutil.rmtree(gone)


# Swift: partition / suffix / hash / timestamp.data, whose metadata are an extended attribute; the suffix is noted in
# hashes.invalid of its partition.


_PARTITIONS = 1024


def _swift_folder(root: Path, key: str) -> str:
    return f"{root}/objects/{int(key[:8], 16) % _PARTITIONS}/{key[-3:]}/{key}"


def _swift_prepare(root: Path) -> None:
    (root / "tmp").mkdir()
    (root / "objects").mkdir()


def _swift_put(root: Path, key: str, durable: bool) -> None:
    final, made = _swift_folder(root, key), f"{root}/tmp/{uuid.uuid4()}"
    if os.path.exists(final):
        raise FileExistsError(final)
    _write(made, 3200, durable, xattr=bytes(range(1, 251)))
    new = [folder for folder in (final, os.path.dirname(final)) if not os.path.exists(folder)]
    os.makedirs(final)
    os.rename(made, f"{final}/1700000000.00000.data")
    with open(f"{os.path.dirname(os.path.dirname(final))}/hashes.invalid", "ab") as invalid:
        invalid.write(f"{key[-3:]}\n".encode())
    for folder in (final, *map(os.path.dirname, new)) if durable else ():
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(handle)
        os.close(handle)


def _swift_head(root: Path, key: str) -> None:
    folder = _swift_folder(root, key)
    name = os.listdir(folder)[0]
    os.getxattr(f"{folder}/{name}", "user.swift.metadata")


def _swift_get(root: Path, key: str) -> None:
    folder = _swift_folder(root, key)
    name = os.listdir(folder)[0]
    os.getxattr(f"{folder}/{name}", "user.swift.metadata")
    _read(f"{folder}/{name}")


def _swift_delete(root: Path, key: str) -> None:
    folder, made = _swift_folder(root, key), f"{root}/tmp/{uuid.uuid4()}"
    _write(made, 0, True, xattr=bytes(range(1, 101)))
    old = os.listdir(folder)[0]
    os.rename(made, f"{folder}/1800000000.00000.ts")
    os.unlink(f"{folder}/{old}")
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(handle)
    os.close(handle)


LAYOUTS = {
    "minio": Layout(_minio_prepare, _minio_put, _minio_get, _minio_get, _minio_delete),
    "minio parts": Layout(_minio_prepare, _minio_parts_put, _minio_parts_get, _minio_get, _minio_delete),
    "minio 2019": Layout(
        _minio_prepare, _minio_2019_put, _minio_2019_get, lambda root, key: _read(f"{root}/bucket/{key}/xl.json"),
        _minio_delete,
    ),
    "swift": Layout(_swift_prepare, _swift_put, _swift_get, _swift_head, _swift_delete),
}  # fmt: skip


class Image:
    """A file system in a sparse file, mounted through a loop device."""

    def __init__(self, kind: str, folder: Path):
        self.kind, self.folder = kind, folder
        self.file, self.root = folder / "image", folder / "mounted"
        self.root.mkdir()
        with open(self.file, "wb") as file:
            file.truncate(IMAGE_BYTES)
        subprocess.run([*MAKE[kind], self.file], check=True)
        self.device = subprocess.run(
            ["losetup", "--find", "--show", self.file], check=True, capture_output=True, text=True
        ).stdout.strip()
        self.mount()

    def mount(self) -> None:
        """Mount the file system."""
        subprocess.run(["mount", "-o", MOUNT[self.kind], self.device, self.root], check=True)

    def forget(self) -> None:
        """Mount the file system again, so that none of it is in memory."""
        subprocess.run(["umount", self.root], check=True)
        self.mount()

    def counted(self) -> dict[str, int]:
        """Return the accesses to the device so far."""
        fields = Path(f"/sys/block/{Path(self.device).name}/stat").read_text().split()
        return {name: int(fields[at]) for name, at in _STAT.items()}

    def close(self) -> None:
        """Unmount the file system, and remove the image."""
        subprocess.run(["umount", self.root], check=False)
        subprocess.run(["losetup", "-d", self.device], check=False)
        shutil.rmtree(self.folder)


def keys(seed: int, count: int) -> list[str]:
    """Return random keys of 32 hexadecimal digits."""
    source = random.Random(seed)
    return [f"{source.getrandbits(128):032x}" for _ in range(count)]


def measure(kind: str, name: str, objects: int, reads: int, periods: int, rate_ops: float) -> list[dict[str, object]]:
    """Return the accesses of all requests on a file system with this number of objects."""
    image, layout, found = Image(kind, Path(mkdtemp(dir="."))), LAYOUTS[name], []
    try:
        stored = keys(1, objects)
        layout.prepare(image.root)
        for key in stored:
            layout.put(image.root, key, False)
        some = random.Random(2).sample(stored, min(objects, 4 * reads))
        new = keys(3, 2 * max(1, round(periods * WRITE_BACK_S * rate_ops)))
        parts = {op: some[at * reads :][:reads] for at, op in enumerate(("GET", "HEAD", "DELETE"))}

        def counted(op: str, memory: str, of: list[str], gap_s: float, call: Callable[[str], None]) -> None:
            before, start_s = image.counted(), time.monotonic()
            for number, key in enumerate(of):
                time.sleep(max(0.0, start_s + number * gap_s - time.monotonic()))
                call(key)
            if gap_s and periods:
                time.sleep(1.5 * WRITE_BACK_S)  # until all is written back
            after = image.counted()
            row = {"file_system": kind, "layout": name, "objects": objects, "memory": memory, "op": op}
            row |= {"operations": len(of), "rate_ops": rate_ops if gap_s else 0}
            found.append(row | {each: after[each] - before[each] for each in _STAT})
            print(*found[-1].values(), flush=True)

        for op, call in (("GET", layout.get), ("HEAD", layout.head)):
            image.forget()
            for memory in ("cold", "warm"):
                counted(op, memory, parts[op], 0, lambda key, call=call: call(image.root, key))
        image.forget()
        half, gap_s = len(new) // 2, 1 / rate_ops
        counted("PUT", "cold", new[:half], gap_s, lambda key: layout.put(image.root, key, True))
        for key in stored:
            layout.head(image.root, key)
        counted("PUT", "warm", new[half:], gap_s, lambda key: layout.put(image.root, key, True))
        counted("DELETE", "warm", parts["DELETE"], gap_s, lambda key: layout.delete(image.root, key))
    finally:
        image.close()
    return found


def main(args: list[str]) -> None:
    """Measure, and write a row for each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV file to which rows are appended")
    parser.add_argument(
        "--objects",
        type=int,
        nargs="+",
        default=[100_000, 1_000_000],
        help="objects stored before (default: 100000 1000000)",
    )
    parser.add_argument(
        "--file-system", nargs="+", choices=tuple(MAKE), default=["xfs"], help="file systems (default: xfs)"
    )
    parser.add_argument(
        "--layout", nargs="+", choices=tuple(LAYOUTS), default=list(LAYOUTS), help="files of an object (default: all)"
    )
    parser.add_argument("--reads", type=int, default=1000, help="reads and DELETEs of each kind (default: 1000)")
    parser.add_argument(
        "--periods", type=int, default=3, help="times that PUTs are written back (default: 3); 0: one PUT"
    )
    parser.add_argument("--rate", type=float, default=18.0, help="PUTs and DELETEs a second (default: 18)")
    given = parser.parse_args(args)
    if os.geteuid():
        sys.exit("mounting a file system needs root")
    for kind in given.file_system:
        for name in given.layout:
            for objects in given.objects:
                rows = measure(kind, name, objects, given.reads, given.periods, given.rate)
                exists = given.out.exists()
                with open(given.out, "a", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    if not exists:
                        writer.writeheader()
                    writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
