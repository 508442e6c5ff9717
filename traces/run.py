"""The Run: the requests of a simulation or a measurement with their outcomes, in one schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.errors import InputError
from traces.operations import OPS
from traces.provenance import CodeVersion, code_version
from traces.run_files import RUN_FILES, read_info, write_info
from traces.spec.suggestions import did_you_mean_file
from traces.tables import LABEL, atomic_folder, codes, conform, read_parquet, require, with_column, write_parquet
from traces.trace import TRACE_SCHEMA, Pacing, Trace, group_codes, group_names, optional_columns, with_optional

KINDS = ("simulated", "measured")

RUN_SCHEMA = pa.schema([
    pa.field("arrival_s", pa.float64(), nullable=False),  # intended start; latency is measured from here
    pa.field("start_s", pa.float64(), nullable=False),  # actual start; later than arrival_s if the client lagged
    pa.field("first_byte_s", pa.float64()),  # of the response body; null without one
    pa.field("end_s", pa.float64(), nullable=False),
    pa.field("op", LABEL, nullable=False),
    pa.field("bucket", LABEL, nullable=False),
    pa.field("key", LABEL, nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),  # of the object
    pa.field("transfer_bytes", pa.int64(), nullable=False),  # payload transferred
    pa.field("client", pa.int32(), nullable=False),
    pa.field("status", pa.int16(), nullable=False),  # HTTP status; 0 without a response
    pa.field("attempts", pa.int16(), nullable=False),
    pa.field("winner", pa.int16(), nullable=False),  # the attempt that completed the request, from 1; 0 if none did
    pa.field("error", pa.string()),  # null on success
])  # fmt: skip

STATION_SCHEMA = pa.schema([
    pa.field("name", pa.string(), nullable=False),
    pa.field("role", pa.string(), nullable=False),
    pa.field("servers", pa.int32()),  # null: infinite server
    pa.field("visits", pa.int64(), nullable=False),
    pa.field("utilization", pa.float64(), nullable=False),  # busy servers / servers; infinite server: mean busy
    pa.field("mean_queue", pa.float64(), nullable=False),  # waiting jobs, excluding those in service
])  # fmt: skip

CRITICAL_PATH_SCHEMA = pa.schema([
    pa.field("request", pa.int64(), nullable=False),  # row of the requests, ascending
    pa.field("role", pa.dictionary(pa.int32(), pa.string()), nullable=False),  # of a station, or EARLIER_ATTEMPTS
    pa.field("waiting_s", pa.float64(), nullable=False),
    pa.field("service_s", pa.float64(), nullable=False),
])  # fmt: skip

DRIVE_ACCESS_SCHEMA = pa.schema([
    pa.field("host", pa.int16(), nullable=False),  # from 0
    pa.field("drive", pa.int16(), nullable=False),  # of the host, from 0
    pa.field("kind", LABEL, nullable=False),  # read, write, fsync or a metadata operation such as rename
    pa.field("file", LABEL, nullable=False),  # the file within its object, or its path; <id> and # for what varies
    pa.field("offset_bytes", pa.int64(), nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),  # read or written
    pa.field("arrival_s", pa.float64(), nullable=False),  # at the drive, by the clock of the requests
    pa.field("queued_s", pa.float64(), nullable=False),  # until its service began
    pa.field("served_s", pa.float64(), nullable=False),  # its service time
    pa.field("end_s", pa.float64(), nullable=False),  # when the store had the result
    pa.field("errno", pa.int16(), nullable=False),  # 0: none
    pa.field("request", pa.int64()),  # row of the requests; null if unknown
])  # fmt: skip


class StationRow(TypedDict):
    """A row of `STATION_SCHEMA`."""

    name: str
    role: str
    servers: int | None
    visits: int
    utilization: float
    mean_queue: float


EARLIER_ATTEMPTS = "earlier attempts"
"""The role of the time before the winning attempt began; all of it counts as waiting."""


@dataclass(frozen=True)
class Run:
    """A table of `RUN_SCHEMA` with the metadata of the run.

    Attributes:
        info: at least ``kind`` (``simulated`` or ``measured``), ``started_at`` (ISO 8601) and ``versions``; a
            simulated Run also has ``seed``, ``spec`` and ``engine``, a measured Run ``environment``. A written Run has
            ``tailcast``, the version that made it (`traces.provenance`).
        stations: station statistics of a simulated Run.
        critical_path: waiting and service times of each successful request of a simulated Run, along the branches
            that determined its completion; the rows of a request add up to its time from start to end.
        trace: the Trace that was issued, if recorded.
        drive_accesses: accesses of the drives in the order of arrival; of Runs on drives that log them.
    """

    requests: pa.Table
    info: dict[str, Any]
    stations: pa.Table | None = None
    critical_path: pa.Table | None = None
    trace: Trace | None = None
    drive_accesses: pa.Table | None = None

    @staticmethod
    def of(
        requests: pa.Table,
        info: dict[str, Any],
        stations: pa.Table | None = None,
        critical_path: pa.Table | None = None,
        trace: Trace | None = None,
        source: str = "run",
        drive_accesses: pa.Table | None = None,
    ) -> Run:
        """Build a Run and check it.

        Raises:
            InputError: the columns do not match their schema, a request ends before it starts, or the critical path
                or an access of a drive refers to a request that does not exist.
        """
        if "winner" not in requests.column_names and {"attempts", "error"} <= set(requests.column_names):
            import pyarrow.compute as pc

            # Clients that never have two attempts in progress need not record which one won.
            won = pc.if_else(requests.column("error").is_null(), requests.column("attempts"), 0)
            requests = requests.append_column("winner", won)
        requests = conform(requests, with_optional(RUN_SCHEMA, requests.column_names), source)
        op = codes(requests.column("op"), OPS)
        require(op >= 0, source, "op", f"allowed are {', '.join(OPS)}", requests.column("op"))
        start, end = requests.column("start_s").to_numpy(), requests.column("end_s").to_numpy()
        require(end >= start, source, "end_s", "it must not be before start_s", requests.column("end_s"))
        require(np.isfinite(end), source, "end_s", "it must be finite", requests.column("end_s"))
        arrival = requests.column("arrival_s").to_numpy()
        require(np.isfinite(arrival), source, "arrival_s", "it must be finite", requests.column("arrival_s"))
        _require_ranges(requests, source)
        if info.get("kind") not in KINDS:
            raise InputError(f"{source}: kind is {info.get('kind')!r}; allowed are {', '.join(KINDS)}")
        if stations is not None:
            stations = conform(stations, STATION_SCHEMA, source)
        if critical_path is not None:
            critical_path = conform(critical_path, CRITICAL_PATH_SCHEMA, source)
            _require_rows(critical_path, requests, source)
        if drive_accesses is not None:
            drive_accesses = conform(drive_accesses, DRIVE_ACCESS_SCHEMA, source)
            _require_rows(drive_accesses.filter(drive_accesses.column("request").is_valid()), requests, source)
        return Run(requests, info, stations, critical_path, trace, drive_accesses)

    @property
    def station_rows(self) -> list[StationRow]:
        """The rows of the station table; none if there is no table."""
        rows: list[StationRow] = [] if self.stations is None else self.stations.to_pylist()
        return rows

    def __len__(self) -> int:
        return int(self.requests.num_rows)

    @cached_property
    def op(self) -> NDArray[np.int32]:
        """Operation of each request as an index into `OPS`, shape (requests,)."""
        return codes(self.requests.column("op"), OPS)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of clients, sorted; empty if there are none."""
        return group_names(self.requests)

    def has(self, subject: str) -> NDArray[np.bool_]:
        """Return whether each request is one of an operation such as ``GET``, or of a group such as ``backup.PUT``."""
        group, _, op = subject.rpartition(".")
        issued: NDArray[np.bool_] = self.op == OPS.index(op)
        if not group:
            return issued
        if group not in self.groups:
            return np.zeros(len(self), bool)
        mine: NDArray[np.bool_] = group_codes(self.requests, self.groups) == self.groups.index(group)
        return issued & mine

    @cached_property
    def latency_s(self) -> NDArray[np.float64]:
        """Latency from intended start to end, so that a late client does not hide a slow store; shape (requests,)."""
        latency: NDArray[np.float64] = self.column("end_s") - self.column("arrival_s")
        return latency

    @cached_property
    def lag_s(self) -> NDArray[np.float64]:
        """Delay from intended to actual start, shape (requests,)."""
        lag: NDArray[np.float64] = self.column("start_s") - self.column("arrival_s")
        return lag

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """Whether each request failed, shape (requests,)."""
        result: NDArray[np.bool_] = self.requests.column("error").is_valid().to_numpy()
        return result

    @property
    def duration_s(self) -> float:
        """Time from the first intended start to the last end; 0 without requests."""
        if not len(self):
            return 0.0
        return float(self.column("end_s").max() - self.column("arrival_s").min())

    @property
    def made_by(self) -> CodeVersion | None:
        """The version of tailcast that made the Run; None if it does not record one."""
        return CodeVersion.of(self.info["tailcast"]) if "tailcast" in self.info else code_version()

    def column(self, name: str) -> NDArray[Any]:
        """Return a column as an array; nulls of a float column become NaN."""
        values: NDArray[Any] = self.requests.column(name).to_numpy()
        return values

    def write(self, folder: str | Path) -> None:
        """Write the Run's folder atomically.

        Raises:
            InputError: the folder cannot be written, or the name is taken by something other than a Run.
        """
        with atomic_folder(Path(folder), RUN_FILES) as temporary:
            write_parquet(self.requests, temporary / "requests.parquet")
            if self.stations is not None:
                write_parquet(self.stations, temporary / "stations.parquet")
            if self.critical_path is not None:
                write_parquet(self.critical_path, temporary / "critical_path.parquet")
            if self.drive_accesses is not None:
                write_parquet(self.drive_accesses, temporary / "drive_accesses.parquet")
            if self.trace is not None:
                self.trace.write(temporary / "trace.parquet")
            write_info(temporary, self.info)

    @staticmethod
    def read(folder: Path) -> Run:
        """Read a folder written by `write`.

        Raises:
            InputError: the folder or one of its files is missing or does not match the schema.
        """
        path = folder / "run.json"
        if folder.is_file():
            raise InputError(f"{folder}: {_file_kind(folder)}; a Run, which is a folder with a run.json, is needed")
        if not folder.exists():
            raise InputError(f"{folder}: no such Run, which is a folder with a run.json{did_you_mean_file(folder)}")
        info = read_info(folder)
        if info.get("kind") not in KINDS:
            raise InputError(f"{path}: not a Run: the field kind must be one of {', '.join(KINDS)}")
        info.setdefault("tailcast", None)  # unknown, and not the version that reads it
        stations, path_file, trace, accesses = (
            folder / f"{name}.parquet" for name in ("stations", "critical_path", "trace", "drive_accesses")
        )
        return Run.of(
            read_parquet(folder / "requests.parquet"),
            info,
            read_parquet(stations) if stations.exists() else None,
            read_parquet(path_file) if path_file.exists() else None,
            Trace.read(trace) if trace.exists() else None,
            source=str(folder / "requests.parquet"),
            drive_accesses=read_parquet(accesses) if accesses.exists() else None,
        )


def shifted(requests: pa.Table, by_s: NDArray[np.float64] | float) -> pa.Table:
    """Return a table of `RUN_SCHEMA` whose requests happen later, by a time of all or of each, shape (requests,)."""
    import pyarrow.compute as pc

    later_s = pa.scalar(by_s) if isinstance(by_s, float) else pa.array(by_s)
    for name in ("arrival_s", "start_s", "first_byte_s", "end_s"):
        requests = with_column(requests, name, pc.add(requests.column(name), later_s))
    return requests


def _require_ranges(requests: pa.Table, source: str) -> None:
    """Check the order of times and the ranges of numbers."""
    columns = {name: requests.column(name) for name in requests.column_names}
    numbers = {name: columns[name].to_numpy() for name in ("arrival_s", "start_s", "end_s", "attempts", "winner")}

    def check(good: NDArray[np.bool_], column: str, rule: str) -> None:
        require(good, source, column, rule, columns[column])

    check(numbers["start_s"] >= numbers["arrival_s"], "start_s", "it must not be before arrival_s")
    first_byte = columns["first_byte_s"].to_numpy()
    check(
        np.isnan(first_byte) | (first_byte >= numbers["arrival_s"]), "first_byte_s", "it must not be before arrival_s"
    )
    for name in ("size_bytes", "transfer_bytes", "status", "attempts", "winner"):
        check(columns[name].to_numpy() >= 0, name, "it must be at least 0")
    check(numbers["winner"] <= numbers["attempts"], "winner", "it must not be beyond the attempts")


def _require_rows(table: pa.Table, requests: pa.Table, source: str) -> None:
    """Check that the column `request` has rows of the requests."""
    row = table.column("request").to_numpy()
    require((row >= 0) & (row < requests.num_rows), source, "request", "no such row", table.column("request"))


def _file_kind(path: Path) -> str:
    from traces.results.registry import description_of

    if results := description_of(path):
        return f"is a table of figures ({results}), not requests"
    return "is a trace" if path.suffix in (".parquet", ".csv") else "is a file"


def trace_of_run(run: Run) -> Trace:
    """Return the Trace of a Run; without a recorded one, an open loop at the intended starts."""
    if run.trace is not None:
        return run.trace
    requests = run.requests.take(pa.array(np.argsort(run.column("arrival_s"), kind="stable")))
    arrival = requests.column("arrival_s").to_numpy()
    named = ["op", "bucket", "key", "size_bytes", "client", *optional_columns(run.requests)]
    columns = {name: requests.column(name) for name in named}
    columns["arrival_s"] = pa.array(arrival - arrival[:1])
    columns |= {"think_s": pa.array(np.zeros(len(run))), "phase": pa.array(np.zeros(len(run), np.int32))}
    nothing = pa.nulls(len(run), pa.int64())
    table = pa.table({name: columns.get(name, nothing) for name in (*TRACE_SCHEMA.names, *named[5:])})
    return Trace.of(table, Pacing(), "run")


def read_trace_or_run(path: Path) -> tuple[Trace, Run | None]:
    """Read a Trace from a file, or the Trace of a Run from its folder together with the Run.

    Raises:
        InputError: the path is neither.
    """
    if path.is_dir():
        run = Run.read(path)
        return trace_of_run(run), run
    return Trace.read(path), None


def read_recorded_trace(path: Path) -> Trace:
    """Read a Trace from a file, or the Trace that a Run recorded from its folder, without the Run's outcomes.

    Raises:
        InputError: the path is neither, or the Run has no trace.
    """
    if not (path / "run.json").is_file():
        return Trace.read(path)
    trace = path / "trace.parquet"
    if not trace.is_file():
        raise InputError(f"{path}: is a Run without a trace; a trace file is needed, or a Run with a trace.parquet")
    return Trace.read(trace)
