"""The folder that a replay on a mount makes, with a folder for each bucket of the trace, and its removal."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from traces.errors import InputError
from validate.mount.bounded import within
from validate.mount.mount_path import MountPoint
from validate.s3.account import Reached
from validate.s3.preload import Contents, Stored, write_each

_REMOVED_WITHIN_S = 60.0


class Record(Protocol):
    """Where a replay writes down what it is about to make."""

    def add(self, bucket: str) -> None:
        """Record a name."""


class Folders:
    """Folders made for one replay, in the place of buckets. A call that hangs is given up after `limit_s`.

    Attributes:
        names: the folder for each bucket of the trace, relative to the mount.
        server: type of the file system.
    """

    def __init__(self, mount: MountPoint, record: Record, presupposed: Mapping[str, Sequence[str]], limit_s: float):
        self._mount, self._record, self._presupposed, self._limit_s = mount, record, presupposed, limit_s
        self.names: dict[str, str] = {}
        self.server: str | None = mount.file_system

    def create(self, wanted: Sequence[str]) -> None:
        """Make ``tailcast-<random>-0`` with a folder for each bucket, and the folders that the trace presupposes.

        Raises:
            InputError: the file system refuses, or does not respond.
        """
        top = f"tailcast-{secrets.token_hex(8)}-0"
        self._record.add(top)
        try:
            self._make(self._mount.folder / top)
            for number, bucket in enumerate(wanted):
                self.names[bucket] = f"{top}/{number}"
                self._make(self._path(bucket))
                for folder in self._presupposed.get(bucket, ()):
                    self._make(self._path(bucket) / folder)
        except OSError as error:
            raise InputError(f"{self._mount.folder}: {self._mount.explain(error)}") from error

    def _make(self, path: Path) -> None:
        within(self._limit_s, path.mkdir)

    def _path(self, bucket: str) -> Path:
        return self._mount.folder / self.names[bucket]

    def preload(
        self, path: Reached, objects: Sequence[Stored], payload: Contents, progress: Callable[[int], None]
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
        """Remove what is in the folder made for this replay, and the folder.

        Returns:
            A line with the reason if something could not be removed.
        """
        for top in {name.partition("/")[0] for name in self.names.values()}:
            try:
                remove_tree(self._mount.folder, top, self._limit_s)
            except FileNotFoundError:
                pass
            except OSError as error:
                where = error.filename or self._mount.folder / top
                return [f"{where} could not be removed: {self._mount.explain(error)}"]
        return []


def remove_tree(mount: Path, name: str, limit_s: float = _REMOVED_WITHIN_S) -> int:
    """Remove a folder of a mount with all that is in it, and return how many files there were.

    Args:
        mount: folder that it is in.
        name: of the folder.
        limit_s: seconds that one call may take.

    Raises:
        OSError: it is not there, is a link, cannot be removed, or the file system does not respond.
    """
    top = mount / name
    if within(limit_s, top.is_symlink):
        raise OSError("it is a link")
    count = 0
    for entry in within(limit_s, lambda: [(each, each.is_dir(follow_symlinks=False)) for each in os.scandir(top)]):
        if entry[1]:
            count += remove_tree(top, entry[0].name, limit_s)
        else:
            within(limit_s, Path(entry[0].path).unlink)
            count += 1
    within(limit_s, top.rmdir)
    return count


def _drop_pages(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
