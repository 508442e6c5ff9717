"""What the tests of s3fs have in common: specs, traces of given operations, and requests as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from models.s3fs.series import PAYLOAD, Call, Series
from models.store import spec_of
from tests.models.below.test_blocks import STORES
from traces.spec.spec_file import override
from traces.trace import TRACE_SCHEMA, Pacing, Trace

MIB = 1 << 20
BELOW: dict[str, dict[str, Any]] = {
    "minio": STORES["minio"] | {
        "hosts": {"count": 4, "nic": "25Gbit/s", "cpu": {
            "GET": "0.3ms", "PUT": "0.4ms", "HEAD": "0.2ms", "DELETE": "0.2ms", "LIST": "1ms",
        }},
    },
    "ceph": STORES["ceph"] | {"stored": {"objects": 0}},
    "swift": STORES["swift"],
}  # fmt: skip
WORKLOAD: dict[str, Any] = {"clients": 1, "operations": 20, "object_size": "4KiB", "mix": {"PUT": 1}}

Row = tuple[str, str, int, int | None, int | None]
"""Operation, key, size, and range of a request."""


def mounted(*assignments: str, below: str | dict[str, Any] = "minio", workload: dict[str, Any] = WORKLOAD) -> Any:
    """The spec of s3fs over a store."""
    data = {"store": "s3fs", "workload": workload, "below": BELOW[below] if isinstance(below, str) else below}
    return spec_of(override(data, assignments), "test")


def trace_of(rows: Sequence[Row], arrival_s: Sequence[float] | None = None) -> Trace:
    """A trace of these requests, by one client or at these times."""
    op, key, size, start, length = (list(column) for column in zip(*rows, strict=True))
    count = len(rows)
    values: dict[str, Any] = {
        "arrival_s": [0.0] * count if arrival_s is None else list(arrival_s), "think_s": np.zeros(count),
        "phase": np.zeros(count, np.int32), "op": op, "bucket": ["bucket"] * count, "key": key, "size_bytes": size,
        "range_start_bytes": start, "range_bytes": length, "client": [None] * count,
    }  # fmt: skip
    columns = [pa.array(values[field.name]).cast(field.type) for field in TRACE_SCHEMA]
    pacing = Pacing("closed") if arrival_s is None else Pacing()
    return Trace.of(pa.Table.from_arrays(columns, schema=TRACE_SCHEMA), pacing)


def text_of(series: Series, payload_bytes: int) -> str:
    """A series as text: rounds after semicolons, several requests of a round after ``+``."""
    rounds = [" + ".join(_text(call, payload_bytes) for call in each.calls) for each in series if each.calls]
    begun = [n for n, each in enumerate(rounds) if each == "1 part"]
    for number in begun:
        rounds[number], rounds[number + 2] = "initiate", "complete"
    return "; ".join(rounds)


def _text(call: Call, payload_bytes: int) -> str:
    name = {"PUT": "part", "COPY": "copy"}[call.op] if call.of_part else call.op
    size = payload_bytes if call.size_bytes == PAYLOAD else call.size_bytes
    count = f"{call.count} " if call.of_part or call.count > 1 else ""
    return f"{count}{name} {size}".removesuffix(" 0")
