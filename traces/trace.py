"""The Trace: the requests issued to a store, one per row."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from traces.errors import InputError
from traces.operations import OPS, ops_that, rows_that
from traces.origin import Origin
from traces.spec.suggestions import no_such_file
from traces.tables import (
    LABEL,
    atomic_file,
    codes,
    conform,
    metadata_of,
    parquet_writer,
    read_parquet,
    require,
    with_column,
    with_metadata,
)

V = TypeVar("V")

TRACE_SCHEMA = pa.schema([
    pa.field("arrival_s", pa.float64(), nullable=False),  # since the start of the trace; 0 in a closed loop
    pa.field("think_s", pa.float64(), nullable=False),  # closed loop: think time before this request
    pa.field("phase", pa.int32(), nullable=False),  # closed loop: starts when all earlier phases have completed
    pa.field("op", LABEL, nullable=False),
    pa.field("bucket", LABEL, nullable=False),
    pa.field("key", LABEL, nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),  # of the object
    pa.field("range_start_bytes", pa.int64()),  # of a GET, READ or WRITE of a range; null: of all of the object
    pa.field("range_bytes", pa.int64()),
    pa.field("client", pa.int32()),  # if recorded in the log
])  # fmt: skip

GROUP_FIELD = pa.field("group", LABEL)  # of clients, if the workload has groups
TARGET_FIELD = pa.field("target", LABEL)  # second key, which exists afterwards: of a RENAME or COPY
HANDLE_FIELD = pa.field("handle", pa.int64())  # operations with the same one are on the same open file

OPTIONAL_FIELDS = (GROUP_FIELD, TARGET_FIELD, HANDLE_FIELD)
"""Columns that a Trace or a Run has only if they are used."""

CSV_MARK = "# tailcast-trace "
"""The start of the first line of a Trace in CSV; pacing and origin follow as JSON."""


@dataclass(frozen=True)
class Pacing:
    """When the requests of a Trace are issued.

    Attributes:
        loop: ``open``: requests are issued at `arrival_s`, whatever the store does; ``closed``: `clients` take the
            rows in order, each as soon as its last request has completed and it has paused for the row's `think_s`.
        clients: number of clients of a closed loop.
        stagger_s: closed loop: client i starts i times this later.
        duration_s: no request is issued at or after this time; None means no limit.
        repeat: closed loop: the rows are repeated from the first until `duration_s` is over.
        groups: ``mixed``: the pacing of each group of clients, by name; at least one is a closed loop.
    """

    loop: Literal["open", "closed", "mixed"] = "open"
    clients: int = 1
    stagger_s: float = 0.0
    duration_s: float | None = None
    repeat: bool = False
    groups: tuple[tuple[str, Pacing], ...] = ()

    def __post_init__(self) -> None:
        if self.loop not in ("open", "closed", "mixed"):
            raise InputError(f"loop is {self.loop!r}; allowed are open, closed and mixed")
        if (self.loop == "mixed") != bool(self.groups) or any(pacing.groups for _, pacing in self.groups):
            raise InputError(f"groups is {self.groups!r}; a mixed loop needs groups, each an open or a closed loop")
        if not isinstance(self.clients, int) or self.clients < 1:
            raise InputError(f"clients is {self.clients!r}; a whole number of at least 1 is needed")
        if not isinstance(self.stagger_s, int | float) or not 0 <= self.stagger_s < math.inf:
            raise InputError(f"stagger_s is {self.stagger_s!r}; a number of at least 0 is needed")
        limit = self.duration_s
        if limit is not None and (not isinstance(limit, int | float) or not 0 < limit < math.inf):
            raise InputError(f"duration_s is {limit!r}; a number above 0 is needed")
        if not isinstance(self.repeat, bool) or (self.repeat and (self.loop != "closed" or limit is None)):
            raise InputError(f"repeat is {self.repeat!r}; only a closed loop with a duration_s can repeat")

    @property
    def last_start_s(self) -> float:
        """Time in s at or after which no request is issued; infinite if there is no such limit."""
        each = [pacing.last_start_s for _, pacing in self.groups]
        return max(each) if each else math.inf if self.duration_s is None else self.duration_s

    def known(self) -> dict[str, Any]:
        """Return the values as JSON has them; groups only if there are any."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "groups"}
        groups = {name: pacing.known() for name, pacing in self.groups}
        return values | ({"groups": groups} if groups else {})


@dataclass(frozen=True)
class Trace:
    """A table of `TRACE_SCHEMA` with its pacing and, if imported, its origin; build it with `Trace.of`."""

    table: pa.Table
    pacing: Pacing
    origin: Origin | None = None

    @staticmethod
    def of(table: pa.Table, pacing: Pacing, source: str = "trace", origin: Origin | None = None) -> Trace:
        """Build a Trace and check it.

        Raises:
            InputError: the columns do not match `TRACE_SCHEMA`, a value is out of range, or open-loop arrivals descend.
        """
        table = conform(table, with_optional(TRACE_SCHEMA, table.column_names), source)
        for column in ("arrival_s", "think_s"):
            values = table.column(column).to_numpy()
            require(np.isfinite(values) & (values >= 0), source, column, "it must be at least 0", table.column(column))
        arrival = table.column("arrival_s").to_numpy()
        ascending = np.concatenate([[True], np.diff(arrival) >= 0]) if len(arrival) else np.empty(0, bool)
        require(ascending, source, "arrival_s", "rows must ascend in time", table.column("arrival_s"))
        op = codes(table.column("op"), OPS)
        require(op >= 0, source, "op", f"allowed are {', '.join(OPS)}", table.column("op"))
        for column in ("size_bytes", "range_start_bytes", "range_bytes", "phase"):
            numbers = _known_numbers(table.column(column))
            require(numbers >= 0, source, column, "it must be at least 0", table.column(column))
        phase = table.column("phase").to_numpy()
        ascending = np.concatenate([[True], np.diff(phase) >= 0]) if len(phase) else np.empty(0, bool)
        require(ascending, source, "phase", "phases must not descend", table.column("phase"))
        if HANDLE_FIELD.name in table.column_names:
            handle = table.column(HANDLE_FIELD.name)
            require(handle.fill_null(0).to_numpy() >= 0, source, "handle", "it must be at least 0", handle)
        if TARGET_FIELD.name in table.column_names:
            target = table.column(TARGET_FIELD.name)
            fits = rows_that(op, "names_two") | target.is_null().to_numpy()
            rule = f"only {' and '.join(ops_that('names_two'))} have a second key"
            require(fits, source, "target", rule, target)
        if pacing.groups and set(group_names(table)) - {name for name, _ in pacing.groups}:
            raise InputError(f"{source}: column 'group' has a group that the pacing does not have")
        return Trace(table, pacing, origin)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def issued(self) -> int:
        """Number of rows that an open loop issues before `duration_s`; all rows of a closed or mixed loop."""
        if self.pacing.loop != "open" or self.pacing.duration_s is None:
            return len(self)
        return int(np.searchsorted(self.arrival_s, self.pacing.duration_s))

    @cached_property
    def arrival_s(self) -> NDArray[np.float64]:
        """Arrival time of each request, seconds since the start of the trace, shape (requests,)."""
        return self._numbers("arrival_s")

    @cached_property
    def think_s(self) -> NDArray[np.float64]:
        """Think time before each request of a closed loop, seconds, shape (requests,)."""
        return self._numbers("think_s")

    @cached_property
    def phase(self) -> NDArray[np.int32]:
        """Phase of each request, shape (requests,)."""
        return self._numbers("phase")

    @cached_property
    def op(self) -> NDArray[np.int32]:
        """Operation of each request as an index into `OPS`, shape (requests,)."""
        return codes(self.table.column("op"), OPS)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of clients, sorted; empty if there are none."""
        return group_names(self.table)

    @cached_property
    def group(self) -> NDArray[np.int32]:
        """The group of each request as an index into `groups`, shape (requests,); -1: none."""
        return group_codes(self.table, self.groups)

    @cached_property
    def handle(self) -> NDArray[np.int64]:
        """The open file that each request is on, shape (requests,); -1: none is known."""
        if HANDLE_FIELD.name not in self.table.column_names:
            return np.full(len(self), -1, np.int64)
        values: NDArray[np.int64] = self.table.column(HANDLE_FIELD.name).fill_null(-1).to_numpy()
        return values

    @cached_property
    def size_bytes(self) -> NDArray[np.int64]:
        """Size of the object that each request names, shape (requests,)."""
        return self._numbers("size_bytes")

    @cached_property
    def transfer_bytes(self) -> NDArray[np.int64]:
        """Payload of each request, shape (requests,): the object or its range if the operation moves bytes, else 0.

        What is read ends with the object; what is written may lie beyond its end.
        """
        size = self.size_bytes
        length = self.table.column("range_bytes")
        if length.null_count < len(length):
            wanted = length.fill_null(-1).to_numpy()
            start = self.table.column("range_start_bytes").fill_null(0).to_numpy()
            extends = rows_that(self.op, "writes") & rows_that(self.op, "has_range")
            ranged = np.where(extends, wanted, np.clip(size - start, 0, wanted))
            size = np.where(wanted >= 0, ranged, size)
        result: NDArray[np.int64] = np.where(rows_that(self.op, "moves_bytes"), size, 0)
        return result

    @cached_property
    def handled_bytes(self) -> NDArray[np.int64]:
        """Bytes that the store reads or writes for each request, shape (requests,): its payload, or what it copies."""
        result: NDArray[np.int64] = np.where(rows_that(self.op, "copies"), self.size_bytes, self.transfer_bytes)
        return result

    def _numbers(self, column: str) -> NDArray[Any]:
        values: NDArray[Any] = self.table.column(column).to_numpy()
        return values

    def once(self, make: Callable[[Trace], V]) -> V:
        """Return what a function makes of the trace, made once; it must not be changed."""
        if make not in self._made:
            self._made[make] = make(self)
        found: V = self._made[make]
        return found

    @cached_property
    def _made(self) -> dict[Callable[[Trace], Any], Any]:
        """What `once` has returned, by function."""
        return {}

    def with_keys(self, keys: pa.Array) -> Trace:
        """Return the same requests with other names of their objects, shape (requests,)."""
        at = self.table.schema.get_field_index("key")
        return Trace.of(self.table.set_column(at, "key", keys), self.pacing, origin=self.origin)

    def write(self, path: Path) -> None:
        """Write the Trace atomically, as CSV if the name ends in ``.csv``, else as parquet.

        Raises:
            InputError: the file cannot be written.
        """
        schema = with_optional(TRACE_SCHEMA, self.table.column_names)
        with trace_writer(path, self.pacing, self.origin, schema) as write:
            write(self.table)

    @staticmethod
    def read(path: Path) -> Trace:
        """Read a file written by `write`, or any CSV with the columns ``op`` and ``key``.

        A CSV without the pacing line is an open loop.

        Raises:
            InputError: the file is missing or is not a Trace; the message names row and column.
        """
        if path.is_dir():
            raise InputError(f"{path}: is {_folder_kind(path)}; a trace file is needed, parquet or CSV")
        try:
            return _read_csv(path) if path.suffix == ".csv" else _read_parquet(path)
        except InputError as error:
            from traces.results.registry import description_of

            if results := description_of(path):
                raise InputError(
                    f"{path}: is a table of figures ({results}), not requests; a trace is needed"
                ) from error
            raise


def _known_numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of a column, 0 for nulls; of one of nulls alone none."""
    if column.null_count == len(column):
        return np.empty(0, np.int64)
    # `fill_null` loads pyarrow's functions, which take longer than reading a spec.
    numbers: NDArray[Any] = (column.fill_null(0) if column.null_count else column).to_numpy()
    return numbers


def with_optional(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Return the schema with those of `OPTIONAL_FIELDS` that are named."""
    return pa.schema([*schema, *(field for field in OPTIONAL_FIELDS if field.name in names)])


def optional_columns(table: pa.Table) -> list[str]:
    """Return the names of the columns of `OPTIONAL_FIELDS` that a table has."""
    return [field.name for field in OPTIONAL_FIELDS if field.name in table.column_names]


def group_names(table: pa.Table) -> tuple[str, ...]:
    """Return the names in the column of groups, sorted; empty without the column."""
    if GROUP_FIELD.name not in table.column_names:
        return ()
    return tuple(sorted(name for name in table.column(GROUP_FIELD.name).unique().to_pylist() if name))


def group_codes(table: pa.Table, names: tuple[str, ...]) -> NDArray[np.int32]:
    """Return the group of each row as an index into `names`, shape (rows,); -1: none."""
    if not names:
        return np.full(len(table), -1, np.int32)
    column = table.column(GROUP_FIELD.name)
    if column.null_count:
        column = column.cast(pa.string()).fill_null("").dictionary_encode()
    return codes(column, names)


def refuse_mixed(trace: Trace, what: str) -> None:
    """Refuse a trace whose groups have loops of their own.

    Raises:
        InputError: the message says what is not possible.
    """
    if trace.pacing.loop == "mixed":
        raise InputError(
            f"{what} is for one open or closed loop; the trace has groups of clients with loops of their own: "
            f"{', '.join(name for name, _ in trace.pacing.groups)}"
        )


@contextlib.contextmanager
def trace_writer(
    path: Path, pacing: Pacing, origin: Origin | None = None, schema: pa.Schema = TRACE_SCHEMA
) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends tables of `schema` to a file in the format of `Trace.write`, atomically.

    Raises:
        InputError: the file cannot be written.
    """
    known = pacing.known() | ({} if origin is None else {"origin": asdict(origin)})
    with atomic_file(path) as temporary:
        if path.suffix != ".csv":
            schema = with_metadata(schema.empty_table(), known).schema
            with parquet_writer(temporary, schema) as writer:
                yield writer.write_table
            return
        with temporary.open("wb") as file:
            file.write(f"{CSV_MARK}{json.dumps(known)}\n".encode())
            plain = pa.schema([pa.field(f.name, pa.string() if f.type == LABEL else f.type) for f in schema])
            with pacsv.CSVWriter(file, plain) as writer:
                yield lambda table: writer.write_table(table.cast(plain))


def _known(data: Any) -> tuple[Pacing, Origin | None]:
    """Return pacing and origin from the metadata of a file."""
    if not isinstance(data, dict):
        raise InputError(f"pacing is {data!r}; a JSON object is needed")
    origin = Origin.of(data["origin"]) if "origin" in data else None
    given = {name: value for name, value in data.items() if name != "origin"}
    known = [f.name for f in fields(Pacing)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(f"pacing has the unknown field {unknown[0]!r}; allowed are {', '.join(known)}")
    return _pacing(given), origin


def _pacing(given: dict[str, Any]) -> Pacing:
    groups = given.get("groups") or {}
    if not isinstance(groups, dict) or not all(isinstance(of_group, dict) for of_group in groups.values()):
        raise InputError(f"groups is {groups!r}; a JSON object of each group is needed")
    try:
        return Pacing(**given | {"groups": tuple((name, _pacing(each)) for name, each in groups.items())})
    except TypeError as error:
        raise InputError(f"groups: {error}") from error


def _folder_kind(path: Path) -> str:
    if (path / "trace.parquet").is_file():
        return f"a Run, whose trace is {path / 'trace.parquet'}"
    return "a folder"


def _read_parquet(path: Path) -> Trace:
    table = read_parquet(path)
    try:
        pacing, origin = _known(metadata_of(table))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return Trace.of(table, pacing, str(path), origin)


def _read_csv(path: Path) -> Trace:
    pacing, origin, header, begin = Pacing(), None, "", 0
    plain = {f.name: pa.string() if f.type == LABEL else f.type for f in (*TRACE_SCHEMA, *OPTIONAL_FIELDS)}
    convert = pacsv.ConvertOptions(column_types=plain, strings_can_be_null=False)
    parse = pacsv.ParseOptions(newlines_in_values=True)
    try:
        with path.open("rb") as file:
            header = file.readline().decode("utf-8", "replace")
            if header.startswith(CSV_MARK):
                pacing, origin = _known(json.loads(header.removeprefix(CSV_MARK)))
                begin, header = file.tell(), file.readline().decode("utf-8", "replace")
            file.seek(begin)
            one_thread = pacsv.ReadOptions(use_threads=False)  # with threads, errors do not name their row
            table = pacsv.read_csv(file, one_thread, parse, convert)
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line 1: the pacing is not JSON: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: line 1: {error}") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: {_csv_problem(str(error), header)}") from error
    absent = [f for f in TRACE_SCHEMA if f.name not in table.column_names and f.name not in ("op", "key")]
    for field in absent:
        if field.nullable:
            column = pa.nulls(len(table), field.type)
        else:
            column = pa.array(["bucket"] * len(table)) if field.name == "bucket" else pa.array(np.zeros(len(table)))
        table = table.append_column(field.name, column)
    if TARGET_FIELD.name in table.column_names:
        import pyarrow.compute as pc  # takes as long as all of pyarrow; most commands do without it

        target = table.column(TARGET_FIELD.name)
        table = with_column(table, TARGET_FIELD.name, pc.if_else(pc.equal(target, ""), None, target))
    return Trace.of(table, pacing, str(path), origin)


def _csv_problem(message: str, header: str) -> str:
    """Reword Arrow's message: the column by name, the row counted from 1 without the header."""
    names = next(csv.reader([header]), [])
    found = re.match(r"(?:In CSV column #(\d+): |CSV parse error: )Row #(\d+): (.*)", message)
    if found is None:
        return f"cannot be read as CSV: {message.splitlines()[0]}"
    column = "" if found[1] is None or int(found[1]) >= len(names) else f"column {names[int(found[1])]!r}: "
    return f"row {int(found[2]) - 1}: {column}{found[3]}"
