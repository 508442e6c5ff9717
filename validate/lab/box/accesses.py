"""The accesses of drives during a Run, from their logs, and the request that each was made for.

An access is made for a request if its file belongs to the request's object, or to a temporary file that is renamed into
it, while no other request for the object is in progress. Accesses of files that belong to no object are made for the
only request in progress, if there is one. Others have no request.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from traces.errors import InputError
from traces.operations import rows_that
from traces.run import DRIVE_ACCESS_SCHEMA, Run

_AFTER_S = 0.1
"""How long after a response an access of the request's object still counts as made for it."""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9A-Fa-f]{16,}")
_NUMBER = re.compile(r"\d+")

_NUMBERS = ("offset", "bytes", "arrival_ns", "start_ns", "end_ns", "service_ns", "error")
_COLUMNS = ("continued", "kind", "path", "to", *_NUMBERS)


@dataclass(frozen=True)
class DriveLog:
    """The access log of a drive.

    Attributes:
        host: number of the drive's host, from 0.
        drive: number of the drive on its host, from 0.
        path: the file that the drive has written.
    """

    host: int
    drive: int
    path: Path


class Access(NamedTuple):
    """A line of an access log; times in ns since 1970.

    Attributes:
        path, to: relative to the drive; `to` is the new name of what was renamed or linked, otherwise empty.
        error: errno; 0: none.
    """

    kind: str
    path: str
    to: str
    offset: int
    bytes: int
    arrival_ns: int
    start_ns: int
    end_ns: int
    service_ns: int
    error: int


class _Object(NamedTuple):
    """What a path says of an object.

    Attributes:
        bucket: as the Run calls it.
        key: of a requested object; None if it is another one, or the bucket itself.
        rest: path within the object, or within the bucket if there is no key.
    """

    bucket: str
    key: str | None
    rest: str


def read_access_log(path: Path, from_ns: int = 0, to_ns: int = 2**63 - 1) -> list[Access]:
    """Return the accesses of a log that arrived in a period, in the order of arrival.

    Parts of a request that the kernel has split, and that were paid for with the first part, are joined with it. A line
    that was broken off by a crash is left out.

    Raises:
        InputError: the file cannot be read, or a line has other columns.
    """
    import polars as pl

    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    types = dict.fromkeys(("continued", *_NUMBERS), pl.Int64) | dict.fromkeys(("kind", "path", "to"), pl.String)
    whole = text[: text.rfind(b"\n") + 1]
    try:
        table = pl.read_csv(whole, separator="\t", quote_char=None, schema_overrides=types, encoding="utf8-lossy")
        table = table.select(*_COLUMNS).filter(pl.col("arrival_ns").is_between(from_ns, to_ns, closed="left"))
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: is not an access log: {str(error).splitlines()[0]}") from error
    found: list[Access] = []
    parts: dict[tuple[str, str], int] = {}  # the access that further parts belong to
    for continued, kind, file, to, *numbers in table.fill_null("").sort("arrival_ns", maintain_order=True).iter_rows():
        access = Access(kind, unquote(file), unquote(to), *numbers)
        first = parts.get((kind, file)) if continued else None
        if first is None:
            parts[kind, file] = len(found)
            found.append(access)
        else:
            found[first] = found[first]._replace(bytes=found[first].bytes + access.bytes, end_ns=access.end_ns)
    return found


def drive_accesses(logs: Sequence[DriveLog], run: Run, file_name: Callable[[str], str] | None = None) -> pa.Table:
    """Return the accesses of drives during a Run, in the order of arrival, as a table of `DRIVE_ACCESS_SCHEMA`.

    Args:
        logs: those of all drives of the store.
        run: measured, with the calendar time of its time 0.
        file_name: the name of a file that belongs to no object, without what varies (default: without identifiers and
            numbers).

    Raises:
        InputError: a log cannot be read, or the Run does not record its time 0.
    """
    zero_at = run.info.get("zero_at")
    if not isinstance(zero_at, int | float):
        raise InputError("the Run does not record the calendar time of its time 0 (zero_at)")
    zero_ns = round(zero_at * 1e9)
    last_s = float(run.column("end_s").max()) if len(run) else 0.0
    requests = _Requests(run)
    rows: list[tuple[Any, ...]] = []
    for log in logs:
        accesses = read_access_log(log.path, zero_ns, zero_ns + round((last_s + _AFTER_S) * 1e9))
        for access, (file, owner) in zip(accesses, _owners(accesses, requests, file_name or _general), strict=True):
            at_s = (access.arrival_ns - zero_ns) * 1e-9
            rows.append((
                log.host, log.drive, access.kind, file, access.offset, access.bytes, at_s,
                (access.start_ns - access.arrival_ns) * 1e-9, access.service_ns * 1e-9,
                (access.end_ns - zero_ns) * 1e-9, access.error, requests.made(owner, at_s),
            ))  # fmt: skip
    rows.sort(key=lambda row: row[DRIVE_ACCESS_SCHEMA.get_field_index("arrival_s")])
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(DRIVE_ACCESS_SCHEMA)
    arrays = [
        pa.array(column, field.type.value_type).dictionary_encode().cast(field.type)
        if pa.types.is_dictionary(field.type)
        else pa.array(column, field.type)
        for column, field in zip(columns, DRIVE_ACCESS_SCHEMA, strict=True)
    ]
    return pa.table(arrays, schema=DRIVE_ACCESS_SCHEMA)


class _Requests:
    """The requests of a Run, to find those that an access may have been made for."""

    def __init__(self, run: Run):
        self._start_s, self._end_s = run.column("start_s"), run.column("end_s")
        created: Mapping[str, str] = run.info.get("created_buckets") or run.info.get("buckets") or {}
        on_object = rows_that(run.op, "names_object").tolist()
        names = {column: run.requests.column(column).to_pylist() for column in ("bucket", "key")}
        self._buckets = {created.get(bucket, bucket): bucket for bucket in names["bucket"]}
        self._of_object: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._lists: dict[str, list[int]] = defaultdict(list)
        self._keys = names["key"]
        self._objects: dict[str, _Object | None] = {}
        self._longest_s = float((self._end_s - self._start_s).max()) if len(run) else 0.0
        for row in np.argsort(self._start_s, kind="stable").tolist():
            if on_object[row]:
                self._of_object[names["bucket"][row], names["key"][row]].append(row)
            else:
                self._lists[names["bucket"][row]].append(row)
        # At each instant, how many requests are in progress, and the sum of their rows: the row itself if it is one.
        times = np.concatenate([self._start_s, self._end_s])
        rows = np.arange(len(run))
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        self._in_progress = np.cumsum(
            np.concatenate([np.ones(len(run), np.int64), -np.ones(len(run), np.int64)])[order]
        )
        self._sum_of_rows = np.cumsum(np.concatenate([rows, -rows])[order])

    def object_of(self, path: str) -> _Object | None:
        """Return the object that a path belongs to; None if no bucket of the Run is in it."""
        if path not in self._objects:
            self._objects[path] = self._found(path)
        return self._objects[path]

    def _found(self, path: str) -> _Object | None:
        parts = path.split("/")
        at = next((i for i, part in enumerate(parts) if part in self._buckets), None)
        if at is None:
            return None
        bucket, within = self._buckets[parts[at]], parts[at + 1 :]
        for length in range(len(within), 0, -1):
            if (bucket, key := "/".join(within[:length])) in self._of_object:
                return _Object(bucket, key, "/".join(within[length:]))
        return _Object(bucket, None, "/".join(within))

    def made(self, owner: _Object | None, at_s: float) -> int | None:
        """Return the request for which a file of an object, or of none, was accessed; None if it is not known."""
        if owner is None:
            return self._only_one(at_s)
        name = owner.key if owner.key is not None else owner.rest
        rows = self._near(self._of_object.get((owner.bucket, name), ()), at_s)
        rows += [row for row in self._near(self._lists.get(owner.bucket, ()), at_s) if self._lists_it(row, name)]
        current = [row for row in rows if at_s <= self._end_s[row]]
        fitting = current or rows
        return fitting[0] if len(fitting) == 1 else None

    def _near(self, rows: Sequence[int], at_s: float) -> list[int]:
        """Return those of rows, in the order of their start, that have begun by a time and not ended long before."""
        found: list[int] = []
        for i in range(bisect.bisect_right(rows, at_s, key=self._start_s.__getitem__) - 1, -1, -1):
            if self._start_s[rows[i]] < at_s - _AFTER_S - self._longest_s:
                break
            if at_s <= self._end_s[rows[i]] + _AFTER_S:
                found.append(rows[i])
        return found

    def _lists_it(self, row: int, name: str) -> bool:
        """Whether a LIST may come across an object of that name, or across the bucket itself."""
        return not name or name.startswith(self._keys[row])

    def _only_one(self, at_s: float) -> int | None:
        last = int(np.searchsorted(self._times, at_s, side="right")) - 1
        return int(self._sum_of_rows[last]) if last >= 0 and self._in_progress[last] == 1 else None


def _owners(
    accesses: Sequence[Access], requests: _Requests, general: Callable[[str], str]
) -> list[tuple[str, _Object | None]]:
    """Return for each access of a drive the name of its file, without what varies, and the object it belongs to."""
    final: dict[str, str] = {}  # from here on in time, the last name of what is now called so
    inside: dict[str, set[tuple[str, str]]] = defaultdict(set)  # objects whose files came from a folder
    created = {access.path for access in accesses if access.kind == "mkdir"}
    found: list[tuple[str, _Object | None]] = []
    for access in reversed(accesses):
        before = requests.object_of(access.path)
        if access.kind == "rename" and not access.error and (before is None or before.key is None):
            final[access.path] = target = _renamed(access.to, final)
            owner = requests.object_of(target)
            if owner is not None and owner.key is not None:
                for folder in _folders(access.path):
                    inside[folder].add((owner.bucket, owner.key))
        path = _renamed(access.path, final)
        found.append((path, requests.object_of(path)))
    return [_file_and_owner(*each, created, inside, general) for each in reversed(found)]


def _file_and_owner(
    path: str,
    owner: _Object | None,
    created: set[str],
    inside: Mapping[str, set[tuple[str, str]]],
    general: Callable[[str], str],
) -> tuple[str, _Object | None]:
    """Return the name of a file, and the object it belongs to; a new folder belongs to the only object inside."""
    if owner is None:
        objects = inside.get(path, ()) if path in created else ()
        return general(path), _Object(*next(iter(objects)), "") if len(objects) == 1 else None
    if owner.key is None:  # of another object, or the bucket itself
        return _general(owner.rest.rpartition("/")[2]) or "(bucket)", owner
    return _general(owner.rest) or "(object)", owner


def _renamed(path: str, final: Mapping[str, str]) -> str:
    """Return the last name of a path, of which a folder above may have been renamed."""
    if path in final:
        return final[path]
    for folder in _folders(path):
        if folder in final:
            return final[folder] + path[len(folder) :]
    return path


def _folders(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


@lru_cache(maxsize=1 << 14)
def _general(path: str) -> str:
    """Return a path with ``<id>`` for identifiers and ``#`` for numbers."""
    parts = (_NUMBER.sub("#", part) if not _ID.search(part) else _ID.sub("<id>", part) for part in path.split("/"))
    return "/".join(parts)
