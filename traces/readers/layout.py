"""The layout of a log's rows: how a block is divided into fields, and what the fields mean, as Polars expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from traces.operations import LIST
from traces.readers.blocks import Parse
from traces.readers.records import LONGEST_NS, NO_OBJECT, RECORDS, Parsed, unread
from traces.readers.source import Lines

Divide = Callable[[Any], pl.DataFrame]
"""Divides a block into one row per line or object: its number (``line``) and its fields. If rows cannot be divided,
``trouble`` says why, and is null for the others."""

Fate = Literal["left out", "joined", "unreadable"]

_COLUMNS = {
    pa.int64(): pl.Int64,
    pa.int32(): pl.Int32,
    pa.int16(): pl.Int16,
    pa.int8(): pl.Int8,
    pa.string(): pl.String,
}
_LONGEST_NAME = 60
_AMOUNTS = tuple(name for name in RECORDS.names if name.endswith(("_bytes", "_ns")) and name != "time_ns")


@dataclass(frozen=True)
class RowVerdict:
    """Why a row is not a request.

    Attributes:
        when: for which rows, Boolean; null is false.
        why: the reason.
        fate: what the row counts as.
        each: rows that are left out are counted by these texts; None: all together.
    """

    when: pl.Expr
    why: str
    fate: Fate
    each: pl.Expr | None = None


def refuse(when: pl.Expr, why: str) -> RowVerdict:
    """Return the verdict on rows that cannot be read."""
    return RowVerdict(when, why, "unreadable")


def leave_out(when: pl.Expr, why: str, each: pl.Expr | None = None) -> RowVerdict:
    """Return the verdict on rows that a Trace cannot represent; those of each text of `each` are counted apart."""
    return RowVerdict(when, why, "left out", each)


def join(when: pl.Expr) -> RowVerdict:
    """Return the verdict on rows that are a further part of a request that has a row of its own."""
    return RowVerdict(when, "", "joined")


def if_invalid(fields: Mapping[str, str], names: Mapping[str, str] | None = None) -> tuple[RowVerdict, ...]:
    """Return the verdicts on fields that hold something else than their value: null is ``value``, not null ``field``.

    Args:
        fields: name of a field for each value. ``-`` and an empty field stand for a value that is not there.
        names: what to call a field in the reason (default: its name).
    """
    return tuple(
        refuse(pl.col(value).is_null() & ~nothing(pl.col(field)), f"{(names or {}).get(field, field)} cannot be read")
        for value, field in fields.items()
    )


def nothing(field: pl.Expr) -> pl.Expr:
    """Return whether a field is missing, empty or ``-``."""
    return field.is_null() | field.is_in(["", "-"])


@dataclass(frozen=True)
class Layout:
    """The layout of a log's rows. Verdicts are in order of precedence.

    Attributes:
        divide: divides a block.
        steps: values computed from the fields, step by step; a name may replace a field of the same name.
        verdicts: why rows are no requests.
        columns: columns of `RECORDS`. In place of ``time_ns`` there may be ``end_ns``, and ``local`` tells where this
            time is not UTC but in the zone of the import. Missing columns are null.
        doubts: which requests may be something else, and what is to be said of them.
    """

    divide: Divide
    steps: tuple[Mapping[str, pl.Expr], ...]
    verdicts: tuple[RowVerdict, ...]
    columns: Mapping[str, pl.Expr]
    doubts: tuple[tuple[pl.Expr, str], ...] = ()


def parser(layout: Layout) -> Parse:
    """Return the function that parses a block by a layout."""
    columns = [column.alias(name) for name, column in layout.columns.items()]

    def parse(lines: Lines) -> Iterator[Parsed]:
        found, judged = requests(layout, lines)
        read = records_of(found.select("line", *columns), lines.zone, judged.left_out)
        unreadable = tuple(sorted([*judged.unreadable, *read.unreadable]))
        doubts = Counter({why: int(found.select(when.sum()).item() or 0) for when, why in layout.doubts})
        yield replace(read, joined=judged.joined, unreadable=unreadable, doubts=+doubts)

    return parse


def requests(layout: Layout, lines: Lines) -> tuple[pl.DataFrame, Parsed]:
    """Return the rows of a block that are requests, with their fields, and an account of the other rows."""
    rows, troubles = layout.divide(lines), []
    if "trouble" in rows.columns:
        troubles = rows.filter(pl.col("trouble").is_not_null()).select("line", "trouble").rows()
        rows = rows.filter(pl.col("trouble").is_null())
    for step in layout.steps:
        rows = rows.with_columns(**step)
    verdict = rows.select(_code(layout.verdicts).alias("verdict"))["verdict"]
    left_out = Counter[str]()
    joined, unreadable = _judge(rows, verdict, layout.verdicts, left_out)
    if verdict.null_count() < len(verdict):
        rows = rows.filter(verdict.is_null())
    return rows, replace(unread(*troubles, *unreadable), joined=joined, left_out=left_out)


def _code(verdicts: tuple[RowVerdict, ...]) -> pl.Expr:
    """Return the number of the first verdict that applies to each row; null if none does."""
    return pl.coalesce(
        [pl.lit(None, pl.Int16), *(pl.when(v.when).then(pl.lit(i, pl.Int16)) for i, v in enumerate(verdicts))]
    )


def _judge(
    rows: pl.DataFrame, verdict: pl.Series, verdicts: tuple[RowVerdict, ...], left_out: Counter[str]
) -> tuple[int, list[tuple[int, str]]]:
    """Count the rows left out; return how many are joined, and line and reason of those that cannot be read."""
    joined, unreadable = 0, []
    if verdict.null_count() < len(verdict):
        for number, count in verdict.drop_nulls().value_counts().iter_rows():
            each = verdicts[number].each
            if verdicts[number].fate == "left out" and each is not None:
                names = rows.filter(verdict == number).select(each.alias("name"))["name"].value_counts(sort=True)
                for name, some in names.iter_rows():
                    left_out[f"{verdicts[number].why}: {_printable(str(name))}"] += some
            elif verdicts[number].fate == "left out":
                left_out[verdicts[number].why] += count
            elif verdicts[number].fate == "joined":
                joined += count
            else:
                unreadable += [(line, verdicts[number].why) for line in rows["line"].filter(verdict == number)]
    return joined, unreadable


def _printable(name: str) -> str:
    """Return a short text from a log without characters that a terminal executes."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name[:_LONGEST_NAME])


def records_of(found: pl.DataFrame, zone: str, left_out: Counter[str]) -> Parsed:
    """Return the records of the rows with columns of a layout; what cannot be any is counted in `left_out` as well."""
    found = _times(found, zone)
    found = found.with_columns(
        pl.lit(None, _COLUMNS[field.type]).alias(field.name) for field in RECORDS if field.name not in found.columns
    )
    verdict = found.select(_COMMON_CODE.alias("verdict"))["verdict"]
    _, unreadable = _judge(found, verdict, _COMMON, left_out)
    if verdict.null_count() < len(verdict):
        found = found.filter(verdict.is_null())
    arrays = []
    for field in RECORDS:
        column = found[field.name].cast(_COLUMNS[field.type])
        arrays.append(column.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(field.type))
    records = pa.RecordBatch.from_arrays(arrays, schema=RECORDS)
    repeated = found["repeated_ns"].to_numpy() if "repeated_ns" in found.columns else None
    return Parsed(records, left_out=left_out, unreadable=tuple(unreadable), repeated_ns=repeated)


_COMMON = (
    leave_out(pl.col("op").is_null(), NO_OBJECT),
    refuse(pl.col("time_ns").is_null(), "has no time"),
    refuse(pl.col("time_ns") < 0, "time is before 1970"),
    refuse(pl.col("key").is_null() | ((pl.col("key") == "") & (pl.col("op") != LIST)), "has no key"),
    refuse(
        pl.col("key").str.contains("\0", literal=True) | pl.col("bucket").str.contains("\0", literal=True),
        "key or bucket holds a NUL",
    ),
    refuse((pl.col("latency_ns") < 0) | (pl.col("latency_ns") > LONGEST_NS), "latency is not a duration"),
    *(refuse(pl.col(name) < 0, f"{name} is negative") for name in _AMOUNTS if name != "latency_ns"),
)
_COMMON_CODE = _code(_COMMON)


def _times(found: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Convert local times to UTC, and ends of requests to starts.

    A local time that occurs twice is the first one, and ``repeated_ns`` tells how much later the second one is.
    """
    name = "end_ns" if "end_ns" in found.columns else "time_ns"
    if "local" in found.columns and zone != "UTC" and found["local"].any():
        local = found[name].cast(pl.Datetime("ns")).to_arrow()
        utc, latest = (_utc(local, zone, which) for which in ("earliest", "latest"))
        found = found.with_columns(pl.when(pl.col("local")).then(utc).otherwise(pl.col(name)).alias(name))
        repeated = (latest - utc).fill_null(0)
        if (repeated != 0).any():
            found = found.with_columns(repeated_ns=pl.when(pl.col("local")).then(repeated).otherwise(0))
    if name == "end_ns":
        found = found.with_columns(time_ns=pl.col("end_ns") - pl.col("latency_ns").fill_null(0))
    return found


def _utc(local: pa.Array, zone: str, ambiguous: str) -> pl.Series:
    import pyarrow.compute as pc

    utc = pc.assume_timezone(local, zone, ambiguous=ambiguous, nonexistent="earliest")
    return pl.Series(pl.from_arrow(utc.cast(pa.int64())))
