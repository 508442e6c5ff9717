"""A mount as a data path of replays."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from traces.errors import InputError
from traces.operations import ops_that
from validate.mount.bounded import within
from validate.mount.file_calls import FileCall, perform
from validate.s3.account import CancellablePath, Response

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
    """A mount as what a replay reaches: a bucket is a folder below the mount, a key the path of a file in it.

    Calls on files cannot be cancelled. Its own calls, before and after a loop, are left behind after `limit_s`.
    """

    def __init__(self, mount: MountPoint, limit_s: float):
        self._mount, self._limit_s = mount, limit_s
        self.cancellable: CancellablePath | None = None
        self.facts = {"name": MOUNT, "version": platform.release(), "file_system": mount.file_system}

    def path_of(self, bucket: str, key: str) -> Path:
        """Return the path of a key."""
        return self._mount.folder / bucket / key

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        return self._within_limit("PUT", FileCall(self.path_of(bucket, key), parts=parts))

    def head(self, bucket: str, key: str) -> Response:
        return self._within_limit("HEAD", FileCall(self.path_of(bucket, key)))

    def _within_limit(self, op: str, call: FileCall) -> Response:
        try:
            return within(self._limit_s, lambda: perform(op, call))
        except TimeoutError as error:
            return Response(0, error=error.strerror)


def unsendable_path(op: str, key: str) -> str | None:
    """Return why a key cannot be a path below a replay's folder, or None if it can.

    That of a folder may end with a slash, and be empty for the topmost one; of a LIST, it is the beginning of a path.
    """
    segments = key.split("/")
    if segments[-1] == "" and op not in ops_that("names_object"):
        segments.pop()
    if "." in segments or ".." in segments:
        return "paths with the segments '.' or '..' are refused, as they could leave the folder of the replay"
    if ("" in segments and key != "/") or "\0" in key:
        return "paths of files have no empty segments (slashes at the ends, or two in a row) and no NUL"
    if any(len(segment.encode()) > _LONGEST_NAME_BYTES for segment in segments):
        return f"names of files have at most {_LONGEST_NAME_BYTES} bytes"
    return None
