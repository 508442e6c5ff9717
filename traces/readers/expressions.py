"""Polars expressions for the values of log fields: numbers, durations, times, percent escapes, operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote

import polars as pl

from traces.operations import OPS
from traces.readers.layout import Divide, nothing
from traces.readers.source import Lines

# Polars wraps times that do not fit into 64 bits, so years are limited.
_YEARS = r"^(?:19[7-9]|20|21)[0-9]"
_CLF_YEARS = r"^[0-9]{1,2}/[A-Za-z]{3}/(?:19[7-9]|2[01][0-9])[0-9]:"
_ESCAPES = {f"%{code:02X}": chr(code) for code in range(128)}
_NOT_ASCII = "%[89A-Fa-f][0-9A-Fa-f]"


def matches(*patterns: str) -> Divide:
    """Return a function that divides lines by the first of some regular expressions that matches.

    The first group of a pattern is one that every match has.

    The groups of the patterns are the fields; patterns may have different ones. A line that no pattern matches has
    null in all fields, and its ``text`` remains. Patterns that leave no choice where a group ends (``[^ ]+ ``, not
    ``.+ ``) are read in one pass, three times as fast.
    """
    first = [next(iter(pl.Series([""]).str.extract_groups(pattern).struct.schema)) for pattern in patterns]

    def divide(lines: Lines) -> pl.DataFrame:
        done: list[pl.DataFrame] = []
        rest = lines.frame()
        for pattern, group in zip(patterns, first, strict=True):
            found = rest.with_columns(pl.col("text").str.extract_groups(pattern).alias("fields")).unnest("fields")
            missed = found[group].is_null()
            if len(patterns) == 1 or not missed.any():
                return pl.concat([*done, found], how="diagonal").sort("line") if done else found
            done.append(found.filter(~missed))
            rest = rest.filter(missed)
        return pl.concat([*done, rest], how="diagonal").sort("line")

    return divide


def number(field: pl.Expr) -> pl.Expr:
    """Return a whole number of at least 0; null if the field is none."""
    value = field.cast(pl.Int64, strict=False)
    return pl.when(value >= 0).then(value)


def decimal(field: pl.Expr, places: int) -> pl.Expr:
    """Return a decimal number of at least 0 times ten to the power of `places`, rounded; null if the field is none."""
    value = field.cast(pl.Decimal(28, places), strict=False).to_physical().cast(pl.Int64, strict=False)
    return pl.when(value >= 0).then(value)


def seconds(field: pl.Expr) -> pl.Expr:
    """Return ns of a decimal number of seconds such as ``0.0659`` or ``3.7e-05``; null if the field is none."""
    value = pl.when(field.str.contains(r"^[0-9]+(?:\.[0-9]*)?(?:e-[0-9]+)?$")).then(
        field.cast(pl.Float64, strict=False)
    )
    return (value * 1e9).round().cast(pl.Int64, strict=False)


def clf_time(field: pl.Expr) -> pl.Expr:
    """Return ns since 1970 of a time such as ``21/Nov/2026:10:44:01 +0000``; null if the field is none."""
    time = field.str.to_datetime("%d/%b/%Y:%H:%M:%S%.f %z", time_unit="ns", strict=False).cast(pl.Int64)
    return pl.when(field.str.contains(_CLF_YEARS)).then(time)


def local_clf_time(field: pl.Expr) -> pl.Expr:
    """Return ns since 1970 of a time such as ``21/Nov/2026:10:44:01.620`` without a zone; null if the field is none."""
    time = field.str.to_datetime("%d/%b/%Y:%H:%M:%S%.f", time_unit="ns", strict=False).cast(pl.Int64)
    return pl.when(field.str.contains(_CLF_YEARS)).then(time)


_GO_UNITS_NS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_GO_PARTS = "".join(rf"(?:(?<{unit}>\d+(?:\.\d*)?|\.\d+){unit})?" for unit in _GO_UNITS_NS)
_SIZE_UNITS = {
    f"{letter}{i}b": base**power for power, letter in enumerate(("", *"kmgtp")) for i, base in (("i", 1024), ("", 1000))
}
_AMOUNT = r"^(\d+(?:\.\d+)?) ?([kmgtp]?i?b)$"


def go_duration(field: pl.Expr) -> pl.Expr:
    """Return ns of a duration as Go writes it (time.Duration.String), such as ``3m18.7s``, ``152µs`` or ``0s``."""
    text = field.str.replace("µs|μs", "us").str.replace("^0$", "0s")
    parts = text.str.extract_groups(f"^{_GO_PARTS}$").struct
    ns = [(parts.field(unit).cast(pl.Float64, strict=False) * unit_ns) for unit, unit_ns in _GO_UNITS_NS.items()]
    whole = pl.sum_horizontal(ns).round().cast(pl.Int64, strict=False)
    return pl.when(text.str.contains(f"^{_GO_PARTS.replace('?<', '?P<')}$") & (text.str.len_bytes() > 0)).then(whole)


def amount(field: pl.Expr) -> pl.Expr:
    """Return bytes of a size such as ``28 MiB``, ``1.5 kB``, ``49 B`` or ``49``; null if the field is none."""
    found = field.str.to_lowercase().str.replace(r"^(\d+)$", "${1} b")
    unit = found.str.extract(_AMOUNT, 2).replace_strict(
        list(_SIZE_UNITS), list(_SIZE_UNITS.values()), default=None, return_dtype=pl.Float64
    )
    return (found.str.extract(_AMOUNT, 1).cast(pl.Float64, strict=False) * unit).round().cast(pl.Int64, strict=False)


def iso_time(field: pl.Expr) -> pl.Expr:
    """Return ns since 1970 of an ISO 8601 time (``ns``), and whether it names no zone (``local``), as a struct.

    Date and time may be separated by a blank; null if the field is no such time.
    """
    return field.map_batches(_iso_time, return_dtype=pl.Struct({"ns": pl.Int64, "local": pl.Boolean}))


def _iso_time(texts: pl.Series) -> pl.Series:
    form = "%Y-%m-%dT%H:%M:%S%.f"
    good = texts.str.contains(_YEARS)
    ns = texts.str.to_datetime(form + "%#z", time_unit="ns", strict=False).cast(pl.Int64)
    frame = pl.DataFrame({"text": texts, "ns": ns, "local": False})
    if (frame["ns"].is_null() & good).any():
        plain = frame["text"].str.replace(r"^(.{10}) ", "${1}T").str.replace(r",(\d+)", ".$1").str.replace(" ", "")
        zoned = plain.str.to_datetime(form + "%#z", time_unit="ns", strict=False).cast(pl.Int64)
        local = plain.str.to_datetime(form, time_unit="ns", strict=False).cast(pl.Int64)
        frame = frame.with_columns(ns=pl.coalesce(frame["ns"], zoned, local), local=(ns.is_null() & zoned.is_null()))
    return frame.select(
        pl.struct(pl.when(good.fill_null(False)).then(pl.col("ns")).alias("ns"), "local").alias(texts.name)
    ).to_series()


def operation(field: pl.Expr, operations: Mapping[str, str]) -> pl.Expr:
    """Return the index in `OPS` of each name of an operation; null if `operations` does not have it."""
    return field.replace_strict(
        list(operations), [OPS.index(op) for op in operations.values()], default=None, return_dtype=pl.Int8
    )


def text_or_null(field: pl.Expr) -> pl.Expr:
    """Return a field; null if it is empty or ``-``."""
    return pl.when(~nothing(field)).then(field)


def identity(field: pl.Expr) -> pl.Expr:
    """Return a number for each text, the same for equal ones during an import (64 bits of a hash); null stays null."""
    return pl.when(field.is_not_null()).then(field.hash(0).reinterpret(signed=True))


def unescaped(field: pl.Expr) -> pl.Expr:
    """Resolve percent escapes. Bytes that are not UTF-8 become escapes such as ``\\xff``."""
    return by_batch(_unescaped, field)


def by_batch(function: Callable[[pl.Series], pl.Series], field: pl.Expr) -> pl.Expr:
    """Apply a function to the texts of a field."""
    return field.map_batches(function, return_dtype=pl.String)


def _unescaped(texts: pl.Series) -> pl.Series:
    escaped = texts.str.contains("%", literal=True).fill_null(False)
    if not escaped.any():
        return texts
    if not escaped.all():
        return texts.scatter(escaped.arg_true(), _unescaped(texts.filter(escaped)))
    plain = texts.str.replace_many(list(_ESCAPES), list(_ESCAPES.values()), ascii_case_insensitive=True)
    beyond = texts.str.contains(_NOT_ASCII)
    if not beyond.any():
        return plain
    distinct = texts.filter(beyond).unique()
    whole = pl.Series([unquote(text, errors="backslashreplace") for text in distinct], dtype=pl.String)
    return plain.zip_with(~beyond.fill_null(False), texts.replace(distinct, whole))
