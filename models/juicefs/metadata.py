"""What each operation on metadata asks of an engine: rounds, one after the other, each with the work of the server.

A *round* is a message to the engine and its answer. The places are those of juicedata/juicefs at a6a0299b (1.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

EngineName = Literal["redis", "sqlite", "sql", "tikv"]

READS = frozenset({"getattr", "lookup", "slices", "readdir"})
"""The operations that change nothing."""
IN_FOLDER = frozenset({"mknod", "mkdir", "unlink", "rename"})
"""Transactions on a folder, which a mount or gateway makes one after the other (pkg/meta/base.go txLock)."""
ON_FILE = frozenset({"setattr", "write"})
"""Transactions on the attributes of a file, which it makes likewise."""
REPEAT_S = 1e-3
"""A Redis transaction that conflicts with one of another client is repeated; before the k-th repetition JuiceFS pauses
for 0 to k^2 - 1 whole milliseconds, at random (pkg/meta/redis.go txn)."""


@dataclass(frozen=True)
class Round:
    """A message and its answer.

    Attributes:
        commands: commands or statements that the server executes for it.
        commits: whether the server makes a transaction durable before it answers.
    """

    commands: int = 1
    commits: bool = False


def _rounds(*commands: int, last: int = 0) -> tuple[Round, ...]:
    """Return rounds with these commands; the commit is the round before the `last` ones, if there is a transaction."""
    at = len(commands) - 1 - last
    return tuple(Round(count, len(commands) > 1 and k == at) for k, count in enumerate(commands))


# pkg/meta/redis.go: WATCH, the reads, one pipeline MULTI ... EXEC, and UNWATCH, which the client of Redis waits for. A
# look-up is a script with two commands. Commands of the pipelines: doMknod, doWrite, doUnlink, doRename, doMkdir.
_REDIS: Mapping[str, tuple[Round, ...]] = {
    "getattr": (Round(),),
    "lookup": (Round(3),),
    "slices": (Round(),),
    "readdir": (Round(), Round(), Round()),
    "mknod": _rounds(1, 1, 1, 7, 1, last=1),
    "mkdir": _rounds(1, 1, 1, 10, 1, last=1),
    "write": _rounds(1, 1, 5, 1, last=1),
    "setattr": _rounds(1, 1, 3, 1, last=1),
    "unlink": _rounds(1, 1, 1, 1, 9, 1, last=1),
    "rename": _rounds(1, 1, 1, 1, 1, 6, 1, last=1),
    "copy": _rounds(1, 1, 1, 6, 1, last=1),
    "compact": _rounds(1, 1, 6, 1, last=1),
    "usage": (Round(), Round()),
    "usage of a folder": (Round(),),
    "purge": (Round(), Round(), Round(), Round(4, commits=True), Round(), Round(), Round()),
    "heartbeat": (Round(),) * 10,
}

# pkg/meta/sql.go: BEGIN, a round for each statement, COMMIT; reads are single statements.
_SQL: Mapping[str, tuple[Round, ...]] = {
    "getattr": (Round(),),
    "lookup": (Round(),),
    "slices": (Round(),),
    "readdir": (Round(), Round()),
    "mknod": _rounds(*(1,) * 7),
    "mkdir": _rounds(*(1,) * 8),
    "write": _rounds(*(1,) * 6),
    "setattr": _rounds(*(1,) * 4),
    "unlink": _rounds(*(1,) * 10),
    "rename": _rounds(*(1,) * 10),
    "copy": _rounds(*(1,) * 8),
    "compact": _rounds(*(1,) * 6),
    "usage": _rounds(1, 1, 1),
    "usage of a folder": _rounds(1, 1, 1),
    "purge": _rounds(*(1,) * 7),
    "heartbeat": _rounds(1, 1, 1),
}

# pkg/meta/tkv.go, tkv_tikv.go: a timestamp, the reads, and a commit of one round (1PC and asynchronous commit are on).
_TIKV: Mapping[str, tuple[Round, ...]] = {
    "getattr": (Round(),),
    "lookup": (Round(), Round()),
    "slices": (Round(),),
    "readdir": (Round(), Round(), Round()),
    "mknod": _rounds(1, 1, 1, 4),
    "mkdir": _rounds(1, 1, 1, 5),
    "write": _rounds(1, 2, 3),
    "setattr": _rounds(1, 1, 1),
    "unlink": _rounds(1, 1, 2, 6),
    "rename": _rounds(1, 1, 3, 1, 5),
    "copy": _rounds(1, 2, 1, 4),
    "compact": _rounds(1, 1, 3),
    "usage": _rounds(1, 1, 1),
    "usage of a folder": _rounds(1, 1, 1),
    "purge": _rounds(1, 1, 1, 3),
    "heartbeat": _rounds(1, 1, 1),
}

_OF: Mapping[EngineName, Mapping[str, tuple[Round, ...]]] = {
    "redis": _REDIS, "sqlite": _SQL, "sql": _SQL, "tikv": _TIKV,
}  # fmt: skip


def conflicts(engine: EngineName) -> bool:
    """Whether a transaction of the engine conflicts with one of another client that changes the same folder or file.

    Redis watches the entries of the folder, or the file's attributes, which each of them changes. TiKV conflicts only
    on the attributes of the folder, which change once in 100 ms (skip-dir-mtime); SQL databases and SQLite lock rows.
    """
    return engine == "redis"


def rounds(engine: EngineName, name: str) -> tuple[Round, ...]:
    """Return the rounds of an operation on metadata, in order.

    With SQLite, which is a library of the mount, they are calls of functions.
    """
    return _OF[engine][name]
