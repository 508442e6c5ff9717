"""MinIO's request trace as ``mc admin trace -v`` prints it: several lines a request.

Layout: minio/mc cmd/admin-trace.go, traceMessage.String. Each line begins with the name of the node, if that is known.
A request has a line ``[REQUEST s3.GetObject] [time] [Client IP: …]``, its method and path, ``Proto:``, its header and
its body; then ``[RESPONSE] [time] [ Duration … ↑ … ↓ … ]``, the status, the header and the body of the response. Times
are those of arrival, without a zone; sizes and ranges are those of the header's fields. What is not a request to the
S3 API is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from traces.readers.blocks import by_block
from traces.readers.formats import Format, Head
from traces.readers.layout import leave_out, parser, refuse
from traces.readers.source import LONGEST_LINE_BYTES, Lines, Source
from traces.readers.stores import minio_request as minio
from traces.readers.stores import minio_trace
from traces.readers.stores.minio_trace_text import AMOUNT, DURATION, STAMP, as_in_json, layout_of

_NODE = r"^(?<node>[^ \[]+ )?"
_REQUEST = rf"{_NODE}\[REQUEST (?<api>[^\]]+)\] \[(?<time>[^\]]+)\](?: \[Client IP: (?<client>[^\]]*)\])?"
_OTHER = rf"{_NODE} ?\[(?<kind>[A-Z-]+) [^\]]*\] \[{STAMP}\] "
_TARGET = r"^[A-Z]+ /(?<path>[^?]*)(?:\?(?<query>.*))?$"
_RESPONSE = (
    rf"^\[RESPONSE\] \[[^\]]*\] \[ Duration +(?<duration>{DURATION}) +(?:TTFB +(?<first>{DURATION}) +)?"
    rf"↑ +(?<received>{AMOUNT}) +↓ +(?<sent>{AMOUNT}) *\]"
)
_OPENING = b"[REQUEST "
_BEGINS = re.compile(rb"^(?:[^ \[\n]+ )?\[REQUEST [^\]\n]+\] \[[\dT:.-]+\]", re.MULTILINE)

_text, _place = pl.col("text"), pl.col("place")


def _whole(source: Source) -> Iterator[Lines]:
    """Yield the lines of a file in blocks that end with a request."""
    held = Lines(source.name, 1, b"", source.zone)
    for lines in source.lines():
        if lines.unreadable:
            yield held
            yield lines
            held = Lines(source.name, lines.first + 1, b"", source.zone)
            continue
        data = held.data + lines.data
        cut = _last_begin(data)
        if not cut and len(data) > LONGEST_LINE_BYTES:
            cut = len(data)
        whole = Lines(source.name, held.first, data[:cut], source.zone)
        if cut:
            yield whole
        held = Lines(source.name, held.first + whole.count, data[cut:], source.zone)
    if held.data:
        yield held


def _last_begin(data: bytes) -> int:
    """Return where the last request in some lines begins; 0 if none does."""
    found = len(data)
    while (found := data.rfind(_OPENING, 0, found)) >= 0:
        begin = data.rfind(b"\n", 0, found) + 1
        if _BEGINS.match(data, begin):
            return begin
    return 0


def _divide(lines: Lines) -> pl.DataFrame:
    """Return one row per request, and per line that is none, with the texts of its parts."""
    rows = lines.frame()
    rows = (
        rows.with_columns(found=_text.str.extract_groups(_REQUEST))
        .unnest("found")
        .with_columns(other=_text.str.contains(_OTHER) & ~_text.str.contains(_REQUEST))
    )
    rows = rows.with_columns(number=(pl.col("api").is_not_null() | pl.col("other")).cum_sum())
    whole = rows.with_columns(
        text=_text.str.strip_prefix(pl.col("node").first().over("number").fill_null("")),
        place=pl.int_range(pl.len()).over("number"),
    ).with_columns(answer=_text.str.starts_with("[RESPONSE] "))
    answered = pl.col("place").filter("answer").first()

    def field(name: str, of_response: bool) -> pl.Expr:
        side = _place > answered if of_response else (_place < answered)
        return _text.filter(side & _text.str.starts_with(f"{name}: ")).first().str.strip_prefix(f"{name}: ")

    request = {name: field(name, False) for name in minio.REQUEST_NAMES}
    response = {name: field(name, True) for name in minio.RESPONSE_NAMES}
    entries = whole.group_by("number", maintain_order=True).agg(
        pl.col("line", "api", "time", "client", "other").first(),
        target=_text.filter(_place == 1).first(),
        proto=_text.filter(_place == 2).first(),
        answer=_text.filter(_place == answered).first(),
        code=_text.filter(_place == answered + 1).first().str.extract(r"^(\d{3}) "),
        **{f"request {name}": text for name, text in request.items()},
        **{f"response {name}": text for name, text in response.items()},
    )
    entries = entries.with_columns(
        target=pl.when(pl.col("proto").str.starts_with("Proto: ")).then(pl.col("target").str.extract_groups(_TARGET)),
        answer=pl.col("answer").str.extract_groups(_RESPONSE),
    ).unnest("target", "answer")
    return entries.with_columns(
        **as_in_json(
            {name: pl.col(f"request {name}") for name in request},
            {name: pl.col(f"response {name}") for name in response},
        )
    )


LAYOUT = layout_of(
    _divide,
    leave_out(pl.col("other"), minio_trace.NOT_S3),
    refuse(pl.col("api").is_null(), "has no [REQUEST …] line before it"),
    leave_out(~pl.col("api").str.starts_with("s3."), minio_trace.NOT_S3),
    refuse(pl.col("path").is_null(), "has no path"),
    refuse(pl.col("statusCode").is_null(), "has no response"),
)


def _recognises(head: Head) -> bool:
    return _BEGINS.search(head.data) is not None


FORMAT = Format(
    "minio-trace-verbose", "MinIO request trace as text (mc admin trace -v)", True, _recognises,
    by_block(parser(LAYOUT), _whole),
)  # fmt: skip
