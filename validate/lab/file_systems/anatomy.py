"""The anatomy of file operations: which requests reach the store and Redis for each, at once and afterwards."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from traces.errors import InputError
from traces.tables import atomic_file
from validate.lab.file_systems.file_system import FileSystem
from validate.lab.file_systems.operations import OPERATIONS, FileOperation
from validate.lab.file_systems.place import Place, place_of
from validate.lab.file_systems.traffic import Recording, Traffic

_EXPIRES_S = 1.4
"""Attributes and entries of a mount of JuiceFS expire after 1 s, and what follows a preparation ends."""

_AFTERWARDS_S = 2.5
"""How long requests after an operation are counted; the usage of folders is written 1 s after."""


@dataclass(frozen=True)
class FileOperationAnatomy:
    """What an operation requests of the store and of Redis.

    Of several repetitions, it is the one with the fewest requests and rounds: others contain background work. What was
    in progress when the operation returned is counted as later, as it did not wait for it.

    Attributes:
        options: of the file system, with added delays.
        repeats: number of repetitions.
        seconds: until the operation returned.
        requests: number of each kind before the operation returned, such as ``9 PUT part, 1 POST completion``.
        at_once: maximum number of them in progress.
        connections: number of connections that they had.
        rounds, commands: to Redis, before the operation returned.
        most_rounds: the maximum of the repetitions.
        first_commands: the first command of each round, with numbers in its key as ``#``.
        sent_bytes, received_bytes: bodies of objects to and from the store, also afterwards.
        later_requests: number of each kind afterwards.
        later_rounds: rounds to Redis afterwards.
    """

    file_system: str
    version: str
    options: str
    operation: str
    condition: str
    repeats: int
    seconds: float
    requests: str
    at_once: int
    connections: int
    rounds: int
    most_rounds: int
    commands: int
    first_commands: str
    sent_bytes: int
    received_bytes: int
    later_requests: str
    later_rounds: int


@dataclass(frozen=True)
class _Repetition:
    seconds: float
    during: Traffic
    later: Traffic

    @property
    def weight(self) -> int:
        """What a repetition without background work has the least of."""
        return sum(len(each.requests) + len(each.rounds) for each in (self.during, self.later))


def operations_of(fs: FileSystem, only: str = "") -> list[FileOperation]:
    """Return the operations of a file system whose name or condition contains a text.

    Raises:
        InputError: there is none.
    """
    available = [operation for operation in OPERATIONS if operation.is_for(fs)]
    found = [each for each in available if only.lower() in f"{each.name}, {each.condition}".lower()]
    if not found:
        names = "; ".join(dict.fromkeys(each.name for each in available))
        raise InputError(f"{fs.name} has no operation with {only!r}; there are {names}")
    return found


def file_anatomy(
    fs: FileSystem, only: str = "", progress: Callable[[str], None] = lambda line: None
) -> list[FileOperationAnatomy]:
    """Perform operations on a file system, one at a time, and return what each requested.

    Args:
        only: a text that the operation's name or condition contains (default: all operations).
        progress: called with the name of each operation.

    Raises:
        InputError: the file system is not up or has no recorders, there is no such operation, or one fails.
    """
    if not fs.alive:
        raise InputError(f"{fs.name} has died; start it again: tailcast lab up {fs.name}")
    recording, found = Recording(fs), []
    wanted = operations_of(fs, only)
    name = "preparation"
    try:
        with place_of(fs) as place:
            _warm_up(place)
            for operation in wanted:
                progress(name := operation.name)
                found.append(_observed(fs, operation, place, recording))
    except (OSError, BotoCoreError, ClientError) as error:
        said = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"{fs.name}: {name}: {said or error}") from error
    return found


def _warm_up(place: Place) -> None:
    """Perform the first operation once: JuiceFS fetches numbers of inodes and files for thousands of operations."""
    first = operations_of(place.fs)[0]
    first.prepare(place)
    first.act(place)


def _observed(fs: FileSystem, operation: FileOperation, place: Place, recording: Recording) -> FileOperationAnatomy:
    tried = [_repetition(operation, place, recording) for _ in range(operation.repeats)]
    least = min(tried, key=lambda each: each.weight)
    during, later = least.during, least.later
    return FileOperationAnatomy(
        file_system=f"{fs.name} gateway" if fs.form.gateway else fs.name,
        version=fs.version,
        options=_options(fs),
        operation=operation.name,
        condition=operation.condition,
        repeats=len(tried),
        seconds=round(least.seconds, 4),
        requests=_counts(during),
        at_once=during.most_at_once,
        connections=during.connections,
        rounds=len(during.rounds),
        most_rounds=max(len(each.during.rounds) for each in tried),
        commands=during.commands,
        first_commands=", ".join(each.commands[0] for each in during.rounds[:_SHOWN]),
        sent_bytes=during.sent_bytes + later.sent_bytes,
        received_bytes=during.received_bytes + later.received_bytes,
        later_requests=_counts(later),
        later_rounds=len(later.rounds),
    )


_SHOWN = 40


def _repetition(operation: FileOperation, place: Place, recording: Recording) -> _Repetition:
    operation.prepare(place)
    time.sleep(_EXPIRES_S)
    marks = recording.marks()
    begin_s = time.perf_counter()
    operation.act(place)
    end_s = time.perf_counter()
    time.sleep(_AFTERWARDS_S)
    traffic = recording.since(marks)
    place.close()
    return _Repetition(end_s - begin_s, traffic.ended_by(end_s), traffic.ended_after(end_s))


def _counts(traffic: Traffic) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in traffic.kinds.items())


def _options(fs: FileSystem) -> str:
    delays = {"store delay": fs.form.store_delay_s, "Redis delay": fs.form.metadata_delay_s}
    given = [f"{name}={value}" for name, value in fs.options.items()]
    meta = [f"metadata in {fs.form.meta}"] if fs.form.meta not in ("", "redis") else []
    return ", ".join([*meta, *given, *(f"{name} {1000 * s:g} ms" for name, s in delays.items() if s)])


def write_csv(found: Sequence[FileOperationAnatomy], path: Path) -> None:
    """Write a table with a row for each operation."""
    with atomic_file(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(FileOperationAnatomy)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(each) for each in found)
