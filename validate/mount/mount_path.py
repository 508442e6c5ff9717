"""A mount as a data path of replays."""

from __future__ import annotations

import platform
from collections.abc import Collection, Sequence
from pathlib import Path

from traces.errors import InputError
from validate.mount.file_calls import FileCall, perform
from validate.s3.account import CancellablePath, Response
from validate.s3.body_check import ExpectedBody

MOUNT = "mount"
"""The name of this data path."""

_LONGEST_NAME_BYTES = 255


class MountPoint:
    """A folder of a mounted file system, in which a replay makes one folder of its own.

    Attributes:
        endpoint_url: the folder as a URL.
        file_system: type of the file system, such as ``fuse.s3fs``.
        mounted_at: its mount point.

    Raises:
        InputError: there is no such folder.
    """

    def __init__(self, folder: Path):
        if not folder.is_dir():
            raise InputError(f"{folder}: is no folder of a mount")
        self.folder = folder.resolve()
        self.endpoint_url = self.folder.as_uri()
        self.mounted_at, self.file_system = _mount_of(self.folder)

    def explain(self, error: Exception) -> str:
        """Return one line on an error."""
        return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _mount_of(folder: Path) -> tuple[Path, str]:
    """Return mount point and type of the file system of a folder; of several at one place, that mounted last."""
    found = Path("/"), "unknown"
    mounts = Path("/proc/self/mountinfo")
    for line in mounts.read_text().splitlines() if mounts.exists() else ():
        fields = line.split()
        where = Path(fields[4].encode("latin-1", "backslashreplace").decode("unicode_escape"))
        if folder.is_relative_to(where) and len(where.parts) >= len(found[0].parts):
            found = where, fields[fields.index("-") + 1]
    return found


class MountPath:
    """A `DataPath` of files: a bucket is a folder below the mount, a key the path of a file in it.

    Calls on files cannot be given up: no attempt has a timeout, and none is cancelled.
    """

    def __init__(self, mount: MountPoint):
        self._mount = mount
        self.cancellable: CancellablePath | None = None
        self.facts = {"name": MOUNT, "version": platform.release(), "file_system": mount.file_system}

    def _path(self, bucket: str, key: str) -> Path:
        return self._mount.folder / bucket / key

    def get(
        self, bucket: str, key: str, span: tuple[int, int] | None, expected: ExpectedBody | None = None
    ) -> Response:
        return perform("GET", FileCall(self._path(bucket, key), span=span, expected=expected))

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        return perform("PUT", FileCall(self._path(bucket, key), parts))

    def head(self, bucket: str, key: str, sizes: Collection[int] = ()) -> Response:
        return perform("HEAD", FileCall(self._path(bucket, key), sizes=sizes))

    def delete(self, bucket: str, key: str) -> Response:
        return perform("DELETE", FileCall(self._path(bucket, key)))

    def list(self, bucket: str, prefix: str) -> Response:
        folder, _, beginning = prefix.rpartition("/")
        where = self._path(bucket, folder)
        return perform("LIST", FileCall(where / beginning if beginning else where / "*"))


def unsendable_path(op: str, key: str) -> str | None:
    """Return why a key cannot be the path of a file below a replay's folder, or None if it can.

    Of LIST, it is the beginning of a path, which may end with a slash or be empty.
    """
    segments = key.split("/")
    if op == "LIST" and segments[-1] == "":
        segments.pop()
    if "." in segments or ".." in segments:
        return "paths with the segments '.' or '..' are refused, as they could leave the folder of the replay"
    if "" in segments or "\0" in key:
        return "paths of files have no empty segments (slashes at the ends, or two in a row) and no NUL"
    if any(len(segment.encode()) > _LONGEST_NAME_BYTES for segment in segments):
        return f"names of files have at most {_LONGEST_NAME_BYTES} bytes"
    return None


def files_as_folders(keys: Collection[str]) -> str | None:
    """Return a key that would have to be both a file and a folder, or None."""
    folders = {"/".join(parts[:n]) for key in keys for parts in [key.split("/")] for n in range(1, len(parts))}
    return next((key for key in keys if key in folders), None)
