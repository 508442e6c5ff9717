"""The operations that requests perform on a store, and their properties.

Traces, statistics, models of parts that stores share, reports and pages read the properties, and do not tell
operations apart by name. So a new operation is a declaration here, and nothing else. Which operations a store serves is
a property of its model (`models.store.Store`); those that a replay issues are those of S3.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from traces.known_names import OneOf


@dataclass(frozen=True)
class Operation:
    """What one kind of request does.

    Attributes:
        name: unique; upper case, so that options accept it in any case.
        direction: of the payload, seen from the client: ``read`` in the response, or ``written`` in the request;
            None: it has no payload.
        effect: ``creates`` or replaces the object that it names, ``changes`` or ``removes`` it; None: the store stays
            as it is.
        target: ``object``: it names one object; ``path``: a bucket, prefix or directory.
        is_idempotent: whether a repetition leaves the store as the first request did (RFC 9110, 9.2.2).
        copies: whether the store itself reads the bytes of the object and writes them, without a payload.
        once: whether it fails if it is repeated, because it found its object or path absent, or the other way round.
        names_two: whether it names a second object or path, which exists afterwards.
    """

    name: str
    direction: Literal["read", "written"] | None = None
    effect: Literal["creates", "changes", "removes"] | None = None
    target: Literal["object", "path"] = "object"
    is_idempotent: bool = True
    copies: bool = False
    once: bool = False
    names_two: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", self.name):
            raise ValueError(f"{self.name!r}: an operation's name has upper-case letters, digits and underscores")

    @property
    def reads(self) -> bool:
        """Whether the response has the payload."""
        return self.direction == "read"

    @property
    def writes(self) -> bool:
        """Whether the request has the payload."""
        return self.direction == "written"

    @property
    def moves_bytes(self) -> bool:
        """Whether there is a payload."""
        return self.direction is not None

    @property
    def creates(self) -> bool:
        """Whether the object exists afterwards, with the payload as all of its content."""
        return self.effect == "creates"

    @property
    def removes(self) -> bool:
        """Whether the object no longer exists afterwards."""
        return self.effect == "removes"

    @property
    def changes(self) -> bool:
        """Whether the store is another afterwards."""
        return self.effect is not None

    @property
    def names_object(self) -> bool:
        """Whether it names one object."""
        return self.target == "object"

    @property
    def names_own(self) -> bool:
        """Whether each such request of a workload needs an object or path of its own."""
        return self.removes or self.once

    @property
    def creates_empty(self) -> bool:
        """Whether the object exists afterwards without content."""
        return self.creates and not self.moves_bytes and not self.names_two

    @property
    def has_range(self) -> bool:
        """Whether the payload may be a range of the object; that of an append, which has no offset, is none."""
        return self.moves_bytes and not self.creates and self.is_idempotent


Property = Literal[
    "reads", "writes", "moves_bytes", "creates", "removes", "changes", "names_object", "is_idempotent", "names_two",
    "names_own", "creates_empty", "has_range", "copies",
]  # fmt: skip

OPERATIONS: list[Operation] = []
"""All operations; tables and arrays refer to one by its index here."""

OPS: list[str] = []
"""Their names, in the same order."""


def register(operation: Operation) -> None:
    """Add an operation.

    Raises:
        ValueError: there is one of this name.
    """
    if operation.name in OPS:
        raise ValueError(f"there are two operations with the name {operation.name}")
    OPERATIONS.append(operation)
    OPS.append(operation.name)


def ops_that(has: Property) -> tuple[str, ...]:
    """Return the names of the operations with a property, in the order of `OPS`."""
    return tuple(operation.name for operation in OPERATIONS if getattr(operation, has))


def rows_that(op: NDArray[np.integer], has: Property) -> NDArray[np.bool_]:
    """Return whether each request's operation has a property; `op` are indices into `OPS`, same shape."""
    result: NDArray[np.bool_] = np.array([getattr(operation, has) for operation in OPERATIONS], bool)[op]
    return result


for _operation in (
    Operation("GET", "read"),
    Operation("PUT", "written", "creates"),
    Operation("HEAD"),
    Operation("DELETE", effect="removes"),
    Operation("LIST", target="path"),  # its key is the prefix
):
    register(_operation)

S3 = tuple(OPS)
"""The operations of object stores with the protocol of S3."""

GET, PUT, HEAD, DELETE, LIST = map(OPS.index, S3)
"""Their indices in `OPS`."""

Op = Annotated[str, OneOf(lambda: OPS)]
"""The name of an operation."""

ObjectOp = Annotated[str, OneOf(lambda: ops_that("names_object"))]
"""The name of an operation on an object."""

KeepingOp = Annotated[str, OneOf(lambda: [op for op in ops_that("names_object") if op not in ops_that("removes")])]
"""The name of an operation on an object that exists afterwards."""

S3Op = Annotated[str, OneOf(lambda: S3)]
"""The name of an operation of S3."""

for _operation in (
    Operation(
        "COPY", effect="creates", copies=True, names_two=True
    ),  # its size is what is copied; with a range: a part
    Operation("CREATE", effect="creates", is_idempotent=False, once=True),  # an empty file, which is open then
    Operation("OPEN"),
    Operation("READ", "read"),
    Operation("WRITE", "written", "changes"),
    Operation("FSYNC"),
    Operation("CLOSE"),
    Operation("RENAME", effect="changes", is_idempotent=False, once=True, names_two=True),
    Operation("UNLINK", effect="removes", is_idempotent=False, once=True),
    Operation("STAT"),
    Operation("SETATTR", effect="changes"),
    Operation("READDIR", target="path"),
    Operation("MKDIR", effect="changes", target="path", is_idempotent=False, once=True),
):
    register(_operation)

COPY = OPS.index("COPY")
"""The index of copies within a store in `OPS`."""

FILE = tuple(OPS[COPY + 1 :])
"""The operations of file systems (POSIX, IEEE 1003.1). Those of S3 mean whole files there: a PUT creates a file, writes
and closes it, a GET opens and reads it, a HEAD is a STAT, a DELETE an UNLINK, and a LIST a READDIR."""


def worked(ops: Collection[Op]) -> list[Op]:
    """Return the operations whose work a server does for these: a copy is the work of a GET and a PUT."""
    found = dict.fromkeys(op for op in ops if op != OPS[COPY])
    return list(found if len(found) == len(set(ops)) else found | dict.fromkeys(("GET", "PUT")))
