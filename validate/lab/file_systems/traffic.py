"""What reached the store and the metadata of a file system, as its recorders have written it down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from traces.errors import InputError
from validate.lab.file_systems.file_system import METADATA_RECORDER, STORE_RECORDER, FileSystem
from validate.lab.file_systems.framing import HttpExchange

_HEARTBEAT_KEYS = {"allSessions", "sessionInfos", "sessions", "setting", "lastCleanupSessions", "dirQuotaUsedInodes"}
_HEARTBEAT_COMMANDS = {"GET usedSpace", "GET totalInodes"}
_CONNECTING = {"HELLO", "SELECT", "CLIENT"}
_BACKGROUND = ("LLEN c", "WATCH c", "HEXISTS dirUsed", "HINCRBY dir", "ZREM delfiles", "HDEL sliceRef")
"""What JuiceFS's removal of written data, and its count of what folders have, begin with."""


class Round(NamedTuple):
    """Commands that were sent together, and the time to their responses (s of `time.perf_counter`).

    Attributes:
        background: whether no operation waits for it, though it may end before the operation does.
    """

    connection: int
    commands: tuple[str, ...]
    begin_s: float
    end_s: float
    background: bool = False


@dataclass(frozen=True)
class Traffic:
    """Requests to the store and rounds to Redis, in the order of their beginning."""

    requests: tuple[HttpExchange, ...]
    rounds: tuple[Round, ...]

    def ended_by(self, end_s: float) -> Traffic:
        """Return what ended until a time, without background work."""
        rounds = tuple(each for each in self.rounds if not each.background and each.end_s <= end_s)
        return Traffic(tuple(each for each in self.requests if each.end_s <= end_s), rounds)

    def ended_after(self, end_s: float) -> Traffic:
        """Return what ended after a time, and background work."""
        rounds = tuple(each for each in self.rounds if each.background or each.end_s > end_s)
        return Traffic(tuple(each for each in self.requests if each.end_s > end_s), rounds)

    @property
    def kinds(self) -> dict[str, int]:
        """The number of requests of each kind, in the order of the first one of a kind."""
        return dict(Counter(kind_of(each) for each in self.requests))

    @property
    def commands(self) -> int:
        """Number of commands to Redis."""
        return sum(len(each.commands) for each in self.rounds)

    @property
    def most_at_once(self) -> int:
        """The maximum number of requests in progress."""
        return most_at_once([(each.begin_s, each.end_s) for each in self.requests])

    @property
    def connections(self) -> int:
        """Number of connections of the requests."""
        return len({each.connection for each in self.requests})

    @property
    def sent_bytes(self) -> int:
        """Bytes of objects in requests, without lists of parts and other documents."""
        return sum(each.request_bytes for each in self.requests if kind_of(each).startswith("PUT"))

    @property
    def received_bytes(self) -> int:
        """Bytes of objects in responses, without lists and other documents."""
        return sum(each.response_bytes for each in self.requests if kind_of(each).startswith("GET"))


def kind_of(request: HttpExchange) -> str:
    """Return what a request of S3 is, from its method and query."""
    query = request.query
    if "uploadId" in query:
        if request.method == "PUT":
            return "PUT part copy" if request.copies else "PUT part"
        return {"POST": "POST completion", "DELETE": "DELETE upload"}.get(request.method, f"{request.method} parts")
    if request.method == "POST":
        return "POST upload" if "uploads" in query else "POST deletes" if "delete" in query else "POST"
    if request.method == "GET" and "/" not in request.path.strip("/"):
        return "LIST" if {"prefix", "delimiter", "list-type"} & query.keys() else "GET bucket"
    if request.method == "GET":
        return "GET range" if request.range else "GET"
    return "PUT copy" if request.copies else request.method


def most_at_once(spans: Sequence[tuple[float, float]]) -> int:
    """Return the maximum number of spans of time that overlap; one that ends as another begins does not."""
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def without_heartbeats(rounds: Sequence[Round]) -> list[Round]:
    """Return rounds without those that JuiceFS makes whatever is done: every 12 s, and on new connections.

    Of a heartbeat are rounds with keys that no operation uses, and the UNWATCH after such a round. Of the others, those
    of background work are marked, with all of a transaction, which ends with UNWATCH.
    """
    found: list[Round] = []
    heartbeats: set[int] = set()  # connections whose last round was one
    transactions: set[int] = set()  # those with a transaction of background work
    for each in rounds:
        connection, first = each.connection, each.commands[0]
        if first != "UNWATCH":
            (heartbeats.add if any(map(_is_of_heartbeat, each.commands)) else heartbeats.discard)(connection)
        begins = first.startswith(_BACKGROUND)
        if connection not in heartbeats:
            found.append(each._replace(background=begins or connection in transactions))
        if begins and first.startswith("WATCH"):
            transactions.add(connection)
        elif first == "UNWATCH":
            transactions.discard(connection)
    return found


def _is_of_heartbeat(command: str) -> bool:
    name, _, key = command.partition(" ")
    return key in _HEARTBEAT_KEYS or command in _HEARTBEAT_COMMANDS or name in _CONNECTING


class Recording:
    """The files of a file system's recorders.

    Raises:
        InputError: it has no recorders.
    """

    def __init__(self, fs: FileSystem):
        if not fs.form.recorded:
            raise InputError(
                f"{fs.name} is up without recorders, so what reaches {fs.store} is not known; start it with them"
            )
        self._store = fs.record(STORE_RECORDER)
        self._metadata = fs.record(METADATA_RECORDER) if METADATA_RECORDER in fs.ports else None

    def marks(self) -> tuple[int, int]:
        """Return how far the files are written now."""
        return _length(self._store), 0 if self._metadata is None else _length(self._metadata)

    def since(self, marks: tuple[int, int]) -> Traffic:
        """Return what has been written since, without heartbeats."""
        requests = [HttpExchange(**entry) for entry in _entries(self._store, marks[0])]
        rounds = [
            Round(entry["connection"], tuple(entry["commands"]), entry["begin_s"], entry["end_s"])
            for entry in ([] if self._metadata is None else _entries(self._metadata, marks[1]))
        ]
        by_time = sorted(requests, key=lambda each: each.begin_s)
        in_order = sorted(rounds, key=lambda each: each.begin_s)
        return Traffic(tuple(by_time), tuple(without_heartbeats(in_order)))


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _entries(path: Path, begin: int) -> Iterable[Mapping[str, Any]]:
    """Yield the whole lines of a file from a position."""
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(begin)
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)
