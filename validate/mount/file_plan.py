"""What a Trace needs on a mount, worked out beforehand: files and folders that it presupposes, and its order.

A path whose first operation does not create it exists before the trace begins. Operations of one open file are
performed in the order of the trace; one that creates, renames or removes a path, after those before it on this path or
below it, and those behind it afterwards. All others overlap as their times say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traces.errors import InputError
from traces.operations import OPS
from traces.trace import Trace
from validate.mount.file_order import Order, order_of
from validate.mount.file_rows import ON_OPEN, OPENING, FileRow, OpenName, Place, file_rows
from validate.mount.file_tree import FileFacts, PresupposedFile, Tree


@dataclass(frozen=True)
class FilePlan:
    """What a replay does on a mount.

    Attributes:
        files: files to write beforehand.
        folders: by bucket, folders to make beforehand, each after the one that it is in.
        opened: for each row, the open file that it uses; None: none, or one of its own.
        written: the open files that are written to.
        order: of the rows.
        facts: of each path.
    """

    files: list[PresupposedFile]
    folders: dict[str, list[str]]
    opened: list[OpenName | None]
    written: set[OpenName]
    order: Order
    facts: dict[Place, FileFacts]

    @property
    def in_order(self) -> bool:
        """Whether any row waits for another or uses an open file, so that one process must issue all of them."""
        return any(self.order.waits) or any(name is not None for name in self.opened)


def file_plan(trace: Trace) -> FilePlan:
    """Plan the replay of a trace on a mount.

    Raises:
        InputError: a path would be a file and a folder; or rows repeat that can succeed only once.
    """
    rows = list(file_rows(trace))
    once = sorted({row.op.name for row in rows if row.op.once})
    if trace.pacing.repeat and once:
        raise InputError(
            f"the closed loop repeats its rows until its duration ends, but {', '.join(once)} of a path succeeds only "
            "once; give the workload a number of operations"
        )
    opened = _opened(trace, rows)
    tree = Tree()
    for row in rows:
        tree.take(row)
    written = {name for name, row in zip(opened, rows, strict=True) if name is not None and row.op.writes}
    files = tree.presupposed_files()
    order = order_of(rows, opened, trace.phase.tolist(), {(each.bucket, each.key): each.size_bytes for each in files})
    return FilePlan(files, tree.presupposed_folders(), opened, written, order, tree.facts)


def _opened(trace: Trace, rows: Sequence[FileRow]) -> list[OpenName | None]:
    """Return the open file of each row: that of its handle, else of its path if the trace opens or closes files."""
    has_opens = bool(np.isin(trace.op, [OPS.index(op) for op in OPENING]).any())
    return [
        None
        if row.op.name not in ON_OPEN
        else (row.place[0], handle)
        if handle >= 0
        else row.place
        if has_opens
        else None
        for row, handle in zip(rows, trace.handle.tolist(), strict=True)
    ]
