"""The Run: what happened, simulated or measured; one schema for both."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Run:
    """A table of `RUN_SCHEMA`, what is known about the run, and for a simulated one the stations' figures.

    `info` has at least ``kind`` (``simulated`` or ``measured``), ``started_at`` (ISO 8601) and ``versions``; a
    simulated one has ``seed``, ``spec`` and ``engine``, a measured one ``environment``.
    """

    requests: pa.Table
    info: dict[str, Any]
    stations: pa.Table | None = field(default=None)

    @staticmethod
    def of(requests: pa.Table, info: dict[str, Any], stations: pa.Table | None = None, source: str = "run") -> Run:
        """A checked Run.

        Raises:
            InputError: the columns do not fit `RUN_SCHEMA`, or a request ends before it starts.
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
        return Run(requests, info, stations)

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
        stations = folder / "stations.parquet"
        return Run.of(
            read_parquet(folder / "requests.parquet"),
            info,
            read_parquet(stations) if stations.exists() else None,
            source=str(folder / "requests.parquet"),
        )
