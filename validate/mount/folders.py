"""The folder that a replay on a mount makes, with a folder for each bucket of the trace, and its removal."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from traces.errors import InputError
from validate.mount.mount_path import MountPoint
from validate.s3.account import DataPath
from validate.s3.preload import write_each


class Record(Protocol):
    """Where a replay writes down what it is about to make."""

    def add(self, bucket: str) -> None:
        """Record a name."""


class Contents(Protocol):
    """The contents of files."""

    def parts(self, key: str, size_bytes: int) -> list[memoryview]:
        """Return those of a file."""


class Stored(Protocol):
    """A file that must exist before a replay."""

    @property
    def bucket(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def size_bytes(self) -> int: ...


class Folders:
    """Folders made for one replay, in the place of buckets.

    Attributes:
        names: the folder for each bucket of the trace, relative to the mount.
        server: type of the file system.
    """

    def __init__(self, mount: MountPoint, record: Record, written: Mapping[str, Iterable[str]]):
        self._mount, self._record, self._written = mount, record, written
        self.names: dict[str, str] = {}
        self.server: str | None = mount.file_system

    def create(self, wanted: Sequence[str]) -> None:
        """Make ``tailcast-<random>-0`` with a folder for each bucket, and the folders of all keys.

        Raises:
            InputError: the file system refuses.
        """
        top = f"tailcast-{secrets.token_hex(8)}-0"
        self._record.add(top)
        try:
            (self._mount.folder / top).mkdir()
            for number, bucket in enumerate(wanted):
                self.names[bucket] = f"{top}/{number}"
                self._path(bucket).mkdir()
                for folder in _folders_of(self._written.get(bucket, ())):
                    (self._path(bucket) / folder).mkdir()
        except OSError as error:
            raise InputError(f"{self._mount.folder}: {self._mount.explain(error)}") from error

    def _path(self, bucket: str) -> Path:
        return self._mount.folder / self.names[bucket]

    def preload(
        self, path: DataPath, objects: Sequence[Stored], payload: Contents, progress: Callable[[int], None]
    ) -> None:
        """Write the files, several at a time, and drop their pages from the page cache: others have written them.

        Raises:
            InputError: a file could not be written.
        """

        def write(wanted: Stored) -> None:
            response = path.put(self.names[wanted.bucket], wanted.key, payload.parts(wanted.key, wanted.size_bytes))
            if response.error is not None:
                where = f"{self._mount.folder}: {wanted.bucket}/{wanted.key}"
                raise InputError(f"{where} cannot be written before the replay: {response.error}")
            _drop_pages(self._path(wanted.bucket) / wanted.key)

        write_each(objects, write, progress)

    def remove(self, written: Mapping[str, Iterable[str]]) -> list[str]:
        """Remove the files of the given keys, then the folders.

        Returns:
            A line with the reason if something could not be removed; a folder with foreign files is kept.
        """
        try:
            for bucket in self.names:
                keys = list(written.get(bucket, ()))
                for key in keys:
                    (self._path(bucket) / key).unlink(missing_ok=True)
                for folder in reversed(_folders_of(keys)):
                    _remove_folder(self._path(bucket) / folder)
                _remove_folder(self._path(bucket))
            for top in {name.partition("/")[0] for name in self.names.values()}:
                _remove_folder(self._mount.folder / top)
        except OSError as error:
            return [f"{error.filename} could not be removed: {self._mount.explain(error)}"]
        return []


def remove_tree(mount: Path, name: str) -> int:
    """Remove a folder of a mount with all that is in it, and return how many files there were.

    Raises:
        OSError: it is not there, is a link, or cannot be removed.
    """
    top = mount / name
    if top.is_symlink():
        raise OSError("it is a link")
    count = 0
    for entry in list(os.scandir(top)):
        if entry.is_dir(follow_symlinks=False):
            count += remove_tree(top, entry.name)
        else:
            Path(entry.path).unlink()
            count += 1
    top.rmdir()
    return count


def _folders_of(keys: Iterable[str]) -> list[str]:
    """Return the folders of keys, each after the one that it is in."""
    found = {"/".join(parts[:n]) for key in keys for parts in [key.split("/")] for n in range(1, len(parts))}
    return sorted(found, key=lambda folder: (folder.count("/"), folder))


def _remove_folder(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.rmdir()


def _drop_pages(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
