"""What a replay of a Trace will do to a store, worked out before it is touched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from traces.errors import InputError
from traces.tables import OPS
from traces.trace import Trace
from validate.bucket import StoredObject
from validate.s3 import DATA_PATHS, unsendable

MAX_IN_FLIGHT = 4096
LARGEST_OBJECT_BYTES = 1 << 30


@dataclass(frozen=True)
class Options:
    """How a Trace is replayed.

    Attributes:
        speed: an open loop's times are divided by it.
        max_in_flight: requests an open loop has under way at most; later ones are late.
        data_path: one of `DATA_PATHS`.
        timeout_s: of one request; there are no retries.
        keep: leave the buckets and their objects there.
    """

    speed: float = 1.0
    max_in_flight: int = 256
    data_path: str = "obstore"
    timeout_s: float = 60.0
    keep: bool = False

    def __post_init__(self) -> None:
        if not (self.speed > 0 and math.isfinite(self.speed)):
            raise InputError(f"speed is {self.speed}; it must be above 0")
        if not 1 <= self.max_in_flight <= MAX_IN_FLIGHT:
            raise InputError(f"max-in-flight is {self.max_in_flight}; allowed are 1 to {MAX_IN_FLIGHT}")
        if self.data_path not in DATA_PATHS:
            raise InputError(f"data path {self.data_path!r} is unknown; allowed are {', '.join(DATA_PATHS)}")
        if not self.timeout_s > 0:
            raise InputError(f"timeout is {self.timeout_s} s; it must be above 0")


@dataclass(frozen=True)
class Plan:
    """What a replay does to the store.

    Attributes:
        buckets: those of the trace; each gets one of its own on the store.
        preload: objects that are written beforehand.
        largest_put_bytes: 0 where nothing is written.
        written: the keys that may be there afterwards, by bucket.
    """

    trace: Trace
    options: Options
    buckets: list[str]
    preload: list[StoredObject]
    largest_put_bytes: int
    written: dict[str, set[str]]

    def facts(self) -> dict[str, Any]:
        """The plan in figures."""
        trace, limit_s = self.trace, self.trace.pacing.duration_s
        in_time = np.arange(len(trace)) < trace.issued
        counts = Counter(OPS[op] for op in trace.op[in_time].tolist())
        open_loop = trace.pacing.loop == "open"
        return {
            "buckets": len(self.buckets),
            "preload_objects": len(self.preload),
            "preload_bytes": sum(o.size_bytes for o in self.preload),
            "requests": {op: counts[op] for op in OPS if counts[op]},
            "put_bytes": int(trace.transfer_bytes[in_time & (trace.op == OPS.index("PUT"))].sum()),
            "duration_s": float(trace.arrival_s[in_time].max(initial=0)) / self.options.speed if open_loop else limit_s,
            "pacing": asdict(trace.pacing),
            "speed": self.options.speed,
            "max_in_flight": self.options.max_in_flight if open_loop else trace.pacing.clients,
            "data_path": self.options.data_path,
        }


def plan_of(trace: Trace, options: Options) -> Plan:
    """What a replay of the trace would do; touches no store.

    An object is written beforehand unless a request of an earlier phase writes it: requests of one phase overlap, and
    a read could overtake the write that stands before it.

    Raises:
        InputError: the trace is empty, an object is too large, or a key cannot be sent on the chosen data path.
    """
    if not len(trace):
        raise InputError("the trace has no requests")
    if trace.pacing.loop == "closed":
        if options.speed != 1:
            raise InputError("speed is for open loops; the clients of a closed loop go as fast as the store answers")
        if trace.pacing.clients > MAX_IN_FLIGHT:
            raise InputError(f"the trace has {trace.pacing.clients} clients; a replay has at most {MAX_IN_FLIGHT}")
    preload: list[StoredObject] = []
    written: dict[str, set[str]] = {}
    there: dict[tuple[str, str], int] = {}  # since which phase an object has been there
    largest, phases = 0, trace.phase.tolist()
    for row, ((op, bucket, key, size), phase) in enumerate(zip(requests_of(trace), phases, strict=True), start=1):
        if reason := unsendable(options.data_path, op, key):
            raise InputError(f"row {row}: {op} of key {key!r}: {reason}; --data-path boto3 takes any key")
        keys = written.setdefault(bucket, set())
        if op == "LIST":
            continue
        if op == "PUT":
            there.setdefault((bucket, key), phase)
        elif there.get((bucket, key), phase) >= phase:
            preload.append(StoredObject(bucket, key, size))
            there[bucket, key] = -1
        largest = max(largest, size)
        keys.add(key)
    if largest > LARGEST_OBJECT_BYTES:
        raise InputError(f"the trace writes an object of {largest} bytes; a replay writes at most 1 GiB in one piece")
    return Plan(trace, options, list(written), preload, largest, written)


def requests_of(trace: Trace) -> Iterator[tuple[str, str, str, int]]:
    """Operation, bucket, key and size of the object in bytes, of each row."""
    table = trace.table
    columns = (table.column(name).to_pylist() for name in ("op", "bucket", "key", "size_bytes"))
    return zip(*columns, strict=True)
