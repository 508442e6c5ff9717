"""The rows of a Trace as calls on files below the folders of a replay."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from traces.trace import Trace
from validate.mount.contents import FileContents
from validate.mount.file_calls import FileCall, perform
from validate.mount.file_plan import FilePlan
from validate.mount.file_rows import file_rows
from validate.mount.mount_path import MountPath
from validate.mount.open_files import OpenFiles, Turns
from validate.s3.account import Response


class FileRequests:
    """The calls of the rows; a context manager that closes the files that the trace leaves open.

    Args:
        folders: the folder for each bucket of the trace.
        verify: says of which rows the bytes that they read are compared.
        limit_s: seconds after which a row that waits for another one, or the close of a file at the end, is given up.
        stopped: when set, no row waits any more.
    """

    def __init__(
        self,
        trace: Trace,
        plan: FilePlan,
        folders: Mapping[str, str],
        contents: FileContents,
        verify: Callable[[int], bool],
        limit_s: float,
        stopped: threading.Event,
    ):
        self._plan, self._folders, self._contents, self._verify = plan, folders, contents, verify
        self._rows, self._keys = list(file_rows(trace)), trace.table.column("key").to_pylist()
        self._open, self._turns = OpenFiles(plan.written), Turns(plan.order.waits, stopped, limit_s)
        self._limit_s = limit_s

    def __enter__(self) -> Callable[[int], Callable[[MountPath], Response]]:
        return lambda row: partial(self._perform, row)

    def __exit__(self, *_: object) -> None:
        self._open.close(self._limit_s)

    def _perform(self, row: int, mount: MountPath) -> Response:
        try:
            with self._turns.turn(row):
                return perform(self._rows[row].op.name, self._call(row, mount))
        except TimeoutError as error:
            return Response(0, error=error.strerror)

    def _call(self, row: int, mount: MountPath) -> FileCall:
        op, place, target, size, span = self._rows[row]
        folder, name = self._folders[place[0]], self._plan.opened[row]
        facts = self._plan.facts.get(place)
        parts: Sequence[memoryview] = ()
        if op.writes:
            content = place[1] if facts is None or facts.content is None else facts.content
            parts = self._contents.between(content, *(span or (0, size)))
        return FileCall(
            mount.path_of(folder, place[1]),
            self._keys[row].rpartition("/")[2] if op.name == "LIST" else "",
            None if target is None else mount.path_of(folder, target[1]),
            parts,
            span,
            facts,
            self._plan.order.least_bytes[row],
            self._contents if op.reads and self._verify(row) else None,
            None if name is None else self._open.of(name),
            row,
        )
