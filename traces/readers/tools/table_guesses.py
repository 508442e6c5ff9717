"""What the first rows of a table tell about its columns: forms of times, targets of HTTP requests in place of keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import polars as pl

from traces.errors import InputError
from traces.readers.layout import Divide
from traces.readers.source import Lines, Source
from traces.readers.tools.table_layout import DATED, GUESSED, Column

_ROWS = 1000
_CLF = re.compile(r"\[?\d{1,2}/[A-Za-z]{3}/\d{4}:")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
_SINCE_1970 = {"epoch": 1e8, "epoch_ms": 1e11, "epoch_us": 1e14, "epoch_ns": 1e17}  # times of 1973 to 5138
_METHODS = frozenset({"GET", "PUT", "HEAD", "DELETE", "POST", "OPTIONS"})
_TARGET = re.compile(r"(?:https?://[^/]+)?/")
_OF_S3 = re.compile(
    r"\?(?:.*&)?(?:X-Amz-[A-Za-z]+|AWSAccessKeyId|Signature|list-type|prefix|delimiter|partNumber|uploadId|uploads|"
    r"versionId|delete|location|acl|tagging)(?:[=&]|$)"
)


def sample_of(
    source: Source, blocks: Callable[[Source], Iterator[Lines]], divide: Divide, fields: Mapping[str, pl.Expr]
) -> Mapping[str, list[str]]:
    """Return the texts of the fields in the first rows that have any, without empty ones and ``-``."""
    block = next((block for block in blocks(source) if block.data), None)
    if block is None:
        return {}
    while block.count > 2 * _ROWS:
        block = block.halves()[0]
    try:
        rows = divide(block)
        found = rows.select(**fields)
    except (ValueError, pl.exceptions.PolarsError):
        return {}
    return {name: [text for text in found[name] if text not in (None, "", "-")][:_ROWS] for name in fields}


def interpreted(
    columns: Mapping[str, Column], sample: Mapping[str, list[str]], where: str
) -> tuple[dict[str, Column], list[str]]:
    """Return the columns with what the first rows tell of them, and what was guessed.

    Raises:
        InputError: times are numbers that may be of any unit.
    """
    found, notes = dict(columns), list[str]()
    for name in ("time", "end"):
        if name in columns and columns[name].form == GUESSED:
            form = _form_of(name, columns[name], sample.get(name, []), where)
            found[name] = replace(columns[name], form=form)
            if form != "iso":
                notes.append(
                    f"{name} has no form; the first rows are like {form}, as {name}={columns[name].place}:{form}"
                )
    if _are_targets(columns, sample):
        found["request"] = found.pop("key")
        notes.append("keys are targets of HTTP requests, and are read like request=")
    return found, notes


def _form_of(name: str, column: Column, texts: list[str], where: str) -> str:
    first = texts[0] if texts else ""
    if _CLF.match(first):
        return "clf"
    if not _NUMBER.fullmatch(first):
        return "iso"
    value = float(first.replace(",", "."))
    form = next((form for form, least in reversed(_SINCE_1970.items()) if value >= least), None)
    if form is None:
        raise InputError(
            f"{where}: {name} is {first!r} in the first row, a number without a unit; write {name}={column.place}:s "
            f"for relative times in seconds (or ms, us, ns), or {name}={column.place}:epoch for times since 1970 "
            f"(or {', '.join(list(DATED)[1:])})"
        )
    return form


def _are_targets(columns: Mapping[str, Column], sample: Mapping[str, list[str]]) -> bool:
    """Whether keys are targets of requests to a store: all begin like one, and some have a query of the S3 API."""
    if "bucket" in columns or "request" in columns or "key" not in columns:
        return False
    keys = sample.get("key", [])
    methods = sample.get("op", [])
    return (
        bool(keys)
        and bool(methods)
        and all(method in _METHODS for method in methods)
        and all(_TARGET.match(key) for key in keys)
        and any(_OF_S3.search(key) for key in keys)
    )
