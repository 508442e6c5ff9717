"""Lines of delimited fields, with or without quotes, and the names of their columns in a header line."""

from __future__ import annotations

import csv
import io
import re

import polars as pl

from traces.readers.layout import Divide, refuse
from traces.readers.source import BLANK, Lines

DELIMITERS = ",;\t|"
UNCLOSED = refuse(pl.col("unclosed"), "has a quotation mark without its other half")

_QUOTED = '"[^"]*"'
_SPACED = r'"[^"]*"|\[[^\]]*\]|[^ \t]+'


def field(place: int) -> pl.Expr:
    """Return the field at a place, from 0."""
    return pl.col(f"field_{place}")


def too_few(width: int) -> pl.Expr:
    """Return whether a line has fewer fields than that."""
    return pl.col("fields") < width


def delimited(delimiter: str, width: int, quotes: bool = True) -> Divide:
    """Return a function that divides lines at a delimiter.

    It gives the first `width` fields (``field_0`` …), empty where a line has fewer, the number of ``fields`` of each
    line, and whether a quotation mark is ``unclosed``.

    Args:
        delimiter: one character.
        width: number of fields wanted.
        quotes: whether a field may be in double quotes, in which quotes are doubled and the delimiter may occur.
    """

    def divide(lines: Lines) -> pl.DataFrame:
        rows = lines.frame()
        text = pl.col("text")
        quoted = quotes and b'"' in lines.data
        unclosed = (text.str.count_matches('"', literal=True) % 2 == 1) if quoted else pl.lit(False)
        rows = rows.with_columns(unclosed=unclosed)
        if quoted:
            rows = rows.with_columns(text=pl.when("unclosed").then(pl.lit("")).otherwise("text"))
        bare = text.str.replace_all(_QUOTED, "") if quoted else text
        count = rows.select(bare.str.count_matches(delimiter, literal=True).cast(pl.Int64) + 1).to_series()
        found = _fields(rows["text"], delimiter, width, quoted)
        return rows.with_columns(count.alias("fields"), *found)

    return divide


def spaced(width: int) -> Divide:
    """Return a function that divides lines at blanks and tabs; a field may be in double quotes or in brackets.

    It gives the same columns as `delimited`.
    """

    def divide(lines: Lines) -> pl.DataFrame:
        rows = lines.frame()
        found = pl.col("text").str.extract_all(_SPACED)
        names = [found.list.get(i, null_on_oob=True).fill_null("") for i in range(width)]
        plain = [name.str.replace(r'^["\[](.*)["\]]$', "${1}").alias(f"field_{i}") for i, name in enumerate(names)]
        return rows.with_columns(found.list.len().cast(pl.Int64).alias("fields"), *plain, unclosed=pl.lit(False))

    return divide


def _fields(texts: pl.Series, delimiter: str, width: int, quoted: bool) -> list[pl.Series]:
    top = delimiter * (width - 1)  # the first line of a CSV file tells how many columns there are
    data = "\n".join([top, texts.str.join("\n")[0] or ""]).encode()
    names = [f"field_{i}" for i in range(width)]
    found = pl.read_csv(
        io.BytesIO(data),
        has_header=False,
        separator=delimiter,
        quote_char='"' if quoted else None,
        schema=dict.fromkeys(names, pl.String),
        truncate_ragged_lines=True,
        empty_string_is_null=False,
    )
    if len(found) != len(texts) + 1:
        raise ValueError("its fields cannot be told apart")
    return found[1:].get_columns()


def header_line(data: bytes, comment: str = "") -> tuple[int, str]:
    """Return the number of the first line of a file's start that is not blank and no comment, and its text; 0: none."""
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if line.strip(BLANK) and not (comment and line.startswith(comment)):
            return number, line.rstrip("\r")
    return 0, ""


def names_in(line: str, delimiter: str) -> list[str]:
    """Return the fields of a header line; none if it is not one of delimited fields."""
    if delimiter == " ":
        return [name.strip('"[]') for name in re.findall(_SPACED, line.lstrip("#"))]
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def delimiter_of(line: str) -> str:
    """Return the most frequent delimiter of a line; a blank if there is none of `DELIMITERS`."""
    found = max(DELIMITERS, key=line.count)
    return found if found in line else " "
