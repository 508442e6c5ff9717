"""Operations on a mount or a gateway that are performed one at a time, to see which requests each of them makes."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError
from validate.lab.file_systems.file_system import FileSystem
from validate.lab.file_systems.place import GATEWAY_BUCKET, Place

KIB, MIB = 1 << 10, 1 << 20
SMALL_BYTES = 4 * KIB
LARGE_BYTES = 512 * MIB
_SEQUENTIAL_BYTES = 256 * MIB
_WRITE_BYTES = MIB
_BLOCK_BYTES = 4 * MIB  # JuiceFS's; s3fs has parts of 10 MiB
_ENTRIES = 25

_PATTERN = random.Random(0).randbytes(_WRITE_BYTES)


Act = Callable[[Place], object]


@dataclass(frozen=True)
class FileOperation:
    """An operation whose requests are counted.

    Attributes:
        condition: of the file or the caches; empty: none.
        prepare: makes what it needs; is not counted.
        act: the operation.
        kinds: names of the file systems that it is for; empty: all.
        through_gateway: whether it is one of a gateway instead of a mount.
        repeats: how many times it is performed.
    """

    name: str
    condition: str
    prepare: Act
    act: Act
    kinds: tuple[str, ...] = ()
    through_gateway: bool = False
    repeats: int = 3

    def is_for(self, fs: FileSystem) -> bool:
        """Whether a file system has it."""
        return self.through_gateway == fs.form.gateway and (not self.kinds or fs.name in self.kinds)


def write(path: Path, size_bytes: int, sync: bool = False) -> None:
    """Write a file in pieces of 1 MiB, and close it."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        for at in range(0, size_bytes, _WRITE_BYTES):
            _write_all(file, memoryview(_PATTERN)[: min(_WRITE_BYTES, size_bytes - at)])
        if sync:
            os.fsync(file)
    finally:
        os.close(file)


def _write_all(file: int, data: memoryview) -> None:
    while len(data):
        data = data[os.write(file, data) :]


def _with_file(size_bytes: int) -> Act:
    """Return a preparation that makes a new file."""
    return lambda place: write(place.new(), size_bytes)


def _large(place: Place) -> Path:
    """Return a file of `LARGE_BYTES`, made when it is first needed; one that is larger would not fit small disks."""
    path = Path("large")
    if path not in place.made:
        place.made.insert(0, path)
        write(path, LARGE_BYTES, sync=True)
    return path


def _opened(size_bytes: int, flags: int) -> Act:
    """Return a preparation that opens a file of a size, `LARGE_BYTES` or less, without cached pages."""

    def prepare(place: Place) -> None:
        path = _large(place)
        if size_bytes < LARGE_BYTES:
            path = place.new()
            write(path, size_bytes, sync=True)
        place.descriptor = os.open(path, flags)
        os.posix_fadvise(place.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    return prepare


_UNREAD = itertools.count(80, 3)  # blocks behind those of the sequential read, each far from the one before


def _read(offset_in_block: int, size_bytes: int) -> Act:
    """Return a read in a block that has not been read."""

    def act(place: Place) -> None:
        at = next(_UNREAD) % (LARGE_BYTES // _BLOCK_BYTES - 1) * _BLOCK_BYTES + offset_in_block
        if len(os.pread(place.descriptor, size_bytes, at)) != size_bytes:
            raise InputError(f"{place.fs.name}: a read of {size_bytes:,} bytes at {at:,} is short")

    return act


def _read_sequentially(place: Place) -> None:
    for at in range(0, _SEQUENTIAL_BYTES, _WRITE_BYTES):
        os.pread(place.descriptor, _WRITE_BYTES, at)


def _overwrite(at: int) -> Act:
    def act(place: Place) -> None:
        os.pwrite(place.descriptor, _PATTERN[:SMALL_BYTES], at)
        os.fsync(place.descriptor)

    return act


def _append(place: Place) -> None:
    os.write(place.descriptor, _PATTERN[:SMALL_BYTES])
    os.fsync(place.descriptor)


def _folder(own: bool) -> Act:
    """Return a preparation that makes a folder of files, by the file system or as another client of the store."""

    def prepare(place: Place) -> None:
        folder = place.new()
        folder.mkdir()
        for number in range(_ENTRIES):
            if own:
                write(folder / f"f{number}", SMALL_BYTES)
            else:
                key = f"{place.folder.name}/{folder}/f{number}"
                place.store.put_object(Bucket=place.fs.bucket, Key=key, Body=_PATTERN[:SMALL_BYTES])

    return prepare


def _list(place: Place) -> None:
    with os.scandir(place.last) as entries:
        found = [entry.stat() for entry in entries]
    if len(found) != _ENTRIES:
        raise InputError(f"{place.fs.name}: a folder of {_ENTRIES} files has {len(found)} entries")


def _put(place: Place) -> None:
    place.gateway.put_object(Bucket=GATEWAY_BUCKET, Key=place.key, Body=_PATTERN[:SMALL_BYTES])


def _put_new(place: Place) -> None:
    place.new()
    _put(place)


def _head(place: Place) -> None:
    place.gateway.head_object(Bucket=GATEWAY_BUCKET, Key=place.key)


def _get(place: Place) -> None:
    place.gateway.get_object(Bucket=GATEWAY_BUCKET, Key=place.key)["Body"].read()


def _delete(place: Place) -> None:
    place.gateway.delete_object(Bucket=GATEWAY_BUCKET, Key=place.key)


def _open(place: Place) -> None:
    place.descriptor = os.open(place.last, os.O_RDONLY)


def _read_small(place: Place) -> None:
    os.pread(place.descriptor, SMALL_BYTES, 0)


def _open_small(place: Place) -> None:
    write(place.new(), SMALL_BYTES)
    _open(place)


def _look_up_absent(place: Place) -> None:
    if place.new().exists():
        raise InputError(f"{place.last}: exists already")


def _rename(place: Place) -> None:
    source = place.last
    source.rename(place.new())


_J, _S = ("juicefs",), ("s3fs",)
_EXPIRED = "attributes expired"
_SMALL = _with_file(SMALL_BYTES)

OPERATIONS = (
    FileOperation("create + write 4 KiB + close", _EXPIRED, lambda p: p.new(), lambda p: write(p.last, SMALL_BYTES)),
    FileOperation("lookup of an absent name", "", lambda p: None, _look_up_absent),
    FileOperation("stat", _EXPIRED, _SMALL, lambda p: p.last.stat()),
    FileOperation("open", _EXPIRED, _SMALL, _open),
    FileOperation("read 4 KiB file", "opened before", _open_small, _read_small),
    FileOperation("chmod", _EXPIRED, _SMALL, lambda p: p.last.chmod(0o600)),
    FileOperation("rename", _EXPIRED, _SMALL, _rename),
    FileOperation("unlink", _EXPIRED, _SMALL, lambda p: p.last.unlink()),
    FileOperation("mkdir", _EXPIRED, lambda p: p.new(), lambda p: p.last.mkdir()),
    FileOperation("readdir of 25 files", "own files", _folder(own=True), _list),
    FileOperation("readdir of 25 files", "files of another client", _folder(own=False), _list, _S),
    FileOperation("write 9 MiB + close", "", lambda p: p.new(), lambda p: write(p.last, 9 * MIB), repeats=2),
    FileOperation("write 24 MiB + close", "", lambda p: p.new(), lambda p: write(p.last, 24 * MIB), _S, repeats=2),
    FileOperation("write 100 MiB + close", "", lambda p: p.new(), lambda p: write(p.last, 100 * MIB), repeats=2),
    FileOperation(
        "write 512 MiB + fsync + close", "", lambda p: p.new(), lambda p: write(p.last, LARGE_BYTES, True), repeats=1
    ),
    FileOperation(
        "overwrite 4 KiB in 512 MiB + fsync", "opened before", _opened(LARGE_BYTES, os.O_RDWR), _overwrite(5000), _J
    ),
    FileOperation(
        "overwrite 4 KiB in 100 MiB + fsync", "opened before", _opened(100 * MIB, os.O_RDWR), _overwrite(50 * MIB), _S,
        repeats=2,
    ),
    FileOperation(
        "append 4 KiB + fsync", "opened before", _opened(LARGE_BYTES, os.O_WRONLY | os.O_APPEND), _append, _J
    ),
    FileOperation(
        "sequential read 256 MiB", "cold, opened before", _opened(LARGE_BYTES, os.O_RDONLY), _read_sequentially,
        repeats=1,
    ),
    FileOperation(
        "read 4 KiB", "cold, offset in block > 0", _opened(LARGE_BYTES, os.O_RDONLY), _read(MIB, SMALL_BYTES), _J
    ),
    FileOperation(
        "read 4 KiB", "cold, start of a block", _opened(LARGE_BYTES, os.O_RDONLY), _read(0, SMALL_BYTES), _J
    ),
    FileOperation(
        "read 2 MiB", "cold, over two blocks", _opened(LARGE_BYTES, os.O_RDONLY), _read(3 * MIB, 2 * MIB), _J
    ),
    FileOperation(
        "read 4 KiB in 512 MiB", "cold, opened before", _opened(LARGE_BYTES, os.O_RDONLY), _read(MIB, SMALL_BYTES), _S,
        repeats=2,
    ),
    FileOperation("PUT 4 KiB, new key", _EXPIRED, lambda p: None, _put_new, through_gateway=True),
    FileOperation("PUT 4 KiB over a key", _EXPIRED, _put_new, _put, through_gateway=True),
    FileOperation("HEAD", _EXPIRED, _put_new, _head, through_gateway=True),
    FileOperation("GET 4 KiB", "block in the disk cache", _put_new, _get, through_gateway=True),
    FileOperation("DELETE", _EXPIRED, _put_new, _delete, through_gateway=True),
)  # fmt: skip
"""All operations, in the order in which they are performed."""
