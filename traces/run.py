"""The Run: what happened, simulated or measured; one schema for both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from traces.errors import InputError
from traces.tables import LABEL, OPS, codes, conform, read_parquet, require, whole_folder
from traces.trace import Trace

KINDS = ("simulated", "measured")

RUN_SCHEMA = pa.schema([
    pa.field("arrival_s", pa.float64(), nullable=False),  # intended start: latency counts from here
    pa.field("start_s", pa.float64(), nullable=False),  # the client began; later than arrival_s when it lagged
    pa.field("first_byte_s", pa.float64()),  # of the answer's body; null where there is none
    pa.field("end_s", pa.float64(), nullable=False),
    pa.field("op", LABEL, nullable=False),
    pa.field("bucket", LABEL, nullable=False),
    pa.field("key", LABEL, nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),  # of the object
    pa.field("transfer_bytes", pa.int64(), nullable=False),  # payload moved
    pa.field("client", pa.int32(), nullable=False),
    pa.field("status", pa.int16(), nullable=False),  # HTTP status; 0 where no answer came
    pa.field("attempts", pa.int16(), nullable=False),
    pa.field("winner", pa.int16(), nullable=False),  # which attempt ended it, counted from 1; 0 where none did
    pa.field("error", pa.string()),  # null where it went well
])  # fmt: skip

STATION_SCHEMA = pa.schema([
    pa.field("name", pa.string(), nullable=False),
    pa.field("role", pa.string(), nullable=False),
    pa.field("servers", pa.int32()),  # null: infinite server
    pa.field("visits", pa.int64(), nullable=False),
    pa.field("utilization", pa.float64(), nullable=False),  # busy servers / servers; infinite: mean busy
    pa.field("mean_queue", pa.float64(), nullable=False),  # jobs that wait, those in service not counted
])  # fmt: skip

CRITICAL_PATH_SCHEMA = pa.schema([
    pa.field("request", pa.int64(), nullable=False),  # row of the requests, ascending
    pa.field("role", pa.dictionary(pa.int32(), pa.string()), nullable=False),  # of a station, or EARLIER_ATTEMPTS
    pa.field("waiting_s", pa.float64(), nullable=False),
    pa.field("service_s", pa.float64(), nullable=False),
])  # fmt: skip

EARLIER_ATTEMPTS = "earlier attempts"
"""The role of the time before the attempt that won was begun: all of it waiting."""


@dataclass(frozen=True)
class Run:
    """A table of `RUN_SCHEMA`, and what is known about the run.

    Attributes:
        info: at least ``kind`` (``simulated`` or ``measured``), ``started_at`` (ISO 8601) and ``versions``; a
            simulated one has ``seed``, ``spec`` and ``engine``, a measured one ``environment``.
        stations: the stations' figures, of a simulated Run.
        critical_path: where the time of each successful request went, of a simulated Run: along the branches that
            decided when it ended, so that its rows add up to the time from start to end.
        trace: what was asked, where it is known as such.
    """

    requests: pa.Table
    info: dict[str, Any]
    stations: pa.Table | None = None
    critical_path: pa.Table | None = None
    trace: Trace | None = None

    @staticmethod
    def of(
        requests: pa.Table,
        info: dict[str, Any],
        stations: pa.Table | None = None,
        critical_path: pa.Table | None = None,
        trace: Trace | None = None,
        source: str = "run",
    ) -> Run:
        """A checked Run.

        Raises:
            InputError: the columns do not fit their schema, a request ends before it starts, or the critical path
                names a request that is not there.
        """
        if "winner" not in requests.column_names and {"attempts", "error"} <= set(requests.column_names):
            # Runs of clients that never have two attempts under way need not say which one won.
            won = pc.if_else(requests.column("error").is_null(), requests.column("attempts"), 0)
            requests = requests.append_column("winner", won)
        requests = conform(requests, RUN_SCHEMA, source)
        op = codes(requests.column("op"), OPS)
        require(op >= 0, source, "op", f"allowed are {', '.join(OPS)}", requests.column("op"))
        start, end = requests.column("start_s").to_numpy(), requests.column("end_s").to_numpy()
        require(end >= start, source, "end_s", "it must not be before start_s", requests.column("end_s"))
        require(np.isfinite(end), source, "end_s", "it must be finite", requests.column("end_s"))
        arrival = requests.column("arrival_s").to_numpy()
        require(np.isfinite(arrival), source, "arrival_s", "it must be finite", requests.column("arrival_s"))
        if info.get("kind") not in KINDS:
            raise InputError(f"{source}: kind is {info.get('kind')!r}; allowed are {', '.join(KINDS)}")
        if stations is not None:
            stations = conform(stations, STATION_SCHEMA, source)
        if critical_path is not None:
            critical_path = conform(critical_path, CRITICAL_PATH_SCHEMA, source)
            row = critical_path.column("request").to_numpy()
            known = (row >= 0) & (row < requests.num_rows)
            require(known, source, "request", "no such row", critical_path.column("request"))
        return Run(requests, info, stations, critical_path, trace)

    def __len__(self) -> int:
        return int(self.requests.num_rows)

    @cached_property
    def op(self) -> NDArray[np.int32]:
        """The index in `OPS` of each request's operation."""
        return codes(self.requests.column("op"), OPS)

    @cached_property
    def latency_s(self) -> NDArray[np.float64]:
        """From the intended start to the end, so that a late client does not hide a slow store."""
        latency: NDArray[np.float64] = self.column("end_s") - self.column("arrival_s")
        return latency

    @cached_property
    def lag_s(self) -> NDArray[np.float64]:
        """How much later than intended the client began."""
        lag: NDArray[np.float64] = self.column("start_s") - self.column("arrival_s")
        return lag

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """Whether each request failed."""
        result: NDArray[np.bool_] = self.requests.column("error").is_valid().to_numpy()
        return result

    @property
    def duration_s(self) -> float:
        """From the first intended start to the last end."""
        if not len(self):
            return 0.0
        return float(self.column("end_s").max() - self.column("arrival_s").min())

    def column(self, name: str) -> NDArray[Any]:
        """A column without nulls as an array; nulls of a float column become NaN."""
        values: NDArray[Any] = self.requests.column(name).to_numpy()
        return values

    def write(self, folder: Path) -> None:
        """Write the Run's folder; whole or not at all.

        Raises:
            InputError: the folder cannot be written, or something else has that name.
        """
        with whole_folder(folder) as temporary:
            (temporary / "run.json").write_text(json.dumps(self.info, indent=1, sort_keys=True) + "\n")
            pq.write_table(self.requests, temporary / "requests.parquet", compression="zstd")
            if self.stations is not None:
                pq.write_table(self.stations, temporary / "stations.parquet")
            if self.critical_path is not None:
                pq.write_table(self.critical_path, temporary / "critical_path.parquet", compression="zstd")
            if self.trace is not None:
                self.trace.write(temporary / "trace.parquet")

    @staticmethod
    def read(folder: Path) -> Run:
        """Read what `write` wrote.

        Raises:
            InputError: the folder or a file of it is missing or does not fit the schema.
        """
        path = folder / "run.json"
        try:
            info = json.loads(path.read_text())
        except FileNotFoundError as error:
            raise InputError(f"{folder}: not a Run: it has no run.json") from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: is not JSON: {error}") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        if not isinstance(info, dict) or info.get("kind") not in KINDS:
            raise InputError(f"{path}: is not a Run's: it needs the field kind, one of {', '.join(KINDS)}")
        stations, path_file, trace = (folder / f"{name}.parquet" for name in ("stations", "critical_path", "trace"))
        return Run.of(
            read_parquet(folder / "requests.parquet"),
            info,
            read_parquet(stations) if stations.exists() else None,
            read_parquet(path_file) if path_file.exists() else None,
            Trace.read(trace) if trace.exists() else None,
            source=str(folder / "requests.parquet"),
        )
