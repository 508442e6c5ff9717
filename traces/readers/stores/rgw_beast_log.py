"""Access lines in the log of Ceph RADOS gateway, of its beast and its civetweb frontend (debug_rgw at 1 or more).

Beast (src/rgw/rgw_asio_frontend.cc, handle_connection): the time is the start of the request, latencies are of a coarse
clock (steps of 4 ms at 250 Hz). Lines without a latency are those of releases before Pacific (ceph pull requests 33083,
37642): an ISO 8601 time is that of the line, a request's end, and of Nautilus it names no zone. The bytes are those of
both bodies. A copy looks like a PUT of its answer's few bytes.

Civetweb (up to Pacific; log_access of github.com/ceph/civetweb): the time is that at which the connection was opened,
so a request's end is the time of the line. The bytes are those of the response with its header, some 300 bytes more
than an object, up to Luminous always 0; the size of a PUT is not logged.

Where an access line has no latency, the line before it of the same thread may have: ``====== req done req=0x… …
latency=…`` since Nautilus; before, ``====== starting new request`` tells the start (src/rgw/rgw_process.cc). A thread
of civetweb serves one request at a time. Beast writes the last two lines of a request in one thread, with one pointer.

Buckets are taken from the path, as the host's name is not logged. Where that names the bucket, a key's first part is
taken for it; of a key of one part a GET is a listing, and all else is left out. The operations log tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from traces.operations import GET, LIST, PUT
from traces.readers.blocks import by_block
from traces.readers.expressions import clf_time, iso_time, matches, number, seconds, text_or_null
from traces.readers.formats import Format, Head
from traces.readers.http_requests import (
    HEALTH_CHECK,
    below_swift,
    divided,
    error_of,
    for_server,
    http_status,
    is_error,
    prefix,
    requested,
    volumes,
    without_body,
)
from traces.readers.layout import Layout, if_invalid, join, leave_out, parser, refuse
from traces.readers.source import Lines, Source

# At most eight groups, and no ambiguity: then the first pattern is matched several times as fast.
_STAMP = r"(?:debug )?[0-9-]{10}[T ][0-9:.+-]+ [0-9a-f]+ +-?[0-9]+"
_PATTERN = (
    rf"^{_STAMP} (?:beast|civetweb): 0x[0-9a-f]+: (?<remote>[^ ]+) - [^ ]+ \[(?<time>[^\]]+)\] "
    r'"(?<method>[^ "]*) (?<path>[^ ?"]*)(?:\?(?<query>[^ "]*))?(?: [^ "]*)?" (?<status>[^ ]+) (?<bytes>[^ ]+)'
    r"(?<rest> .*)$"
)
_GENERAL = (
    r"(?:beast|civetweb): 0x[0-9a-f]+: (?<remote>[^ ]+) - .*? \[(?<time>[^\]]*)\] "
    r'"(?<method>[^ "]*)(?: (?<path>[^ ?]*)(?:\?(?<query>[^ ]*))?(?: [^ ]*)?)?" (?<status>[^ ]+) (?<bytes>[^ ]+)'
    r"(?<rest> .*)$"
)
_MARKS = "={6} (?:starting new request|req done) req="
_EVENT = (
    r"(?:^| )(?<stamp>\d{4}-\d\d-\d\d[T ][\d:.]+)(?<zone>[+-]\d{4})? (?<thread>[0-9a-f]+) +-?\d+ "
    rf"(?<event>beast: |civetweb: |{_MARKS})(?<pointer>0x[0-9a-f]+)"
)
_LATENCY = r" latency=(\d[0-9.]*).$"
_AGENT = r'^ [^ ]+ "([^"]*)"'
_DURATION = r" latency=\S\S+$"
_NAUTILUS = r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.(\d+(?:\.\d+)?(?:e-0?[1-9])?)s$"
_DAEMON = r"^(?:debug |\d{4}-\d\d-\d\d|\w{3} [ \d]\d \d\d:\d\d:\d\d)"
_OTHERS = ["admin", "auth"]  # rgw_admin_entry, Swift's tokens

_LINE = re.compile(rb"(?:beast|civetweb): 0x[0-9a-f]+: \S+ - .* \[[^\]]+\] \"[A-Z]+ ")
_TIMED = re.compile(rb"(?m): 0x[0-9a-f]+: .* latency=\S+$")
_OF_THREAD = re.compile(rb"(?m)^.*? ([0-9a-f]+) +-?\d+ (?:(====== (?:st|req d).*)|(?:beast|civetweb): 0x.*)$")

_TAIL_LINES = 2048
_SECOND_NS = 10**9


def _blocks(source: Source) -> Iterator[Lines]:
    """Yield the lines in blocks. Lines about a request whose access line is in the next block are moved there."""
    moved, after = b"", 1
    for lines in source.lines():
        after = lines.first + lines.count
        lines = replace(lines, first=lines.first - moved.count(b"\n"), data=moved + lines.data)
        cut = int(lines.ends[-_TAIL_LINES - 1]) if lines.count > _TAIL_LINES else 0
        tail, held = bytearray(lines.data[cut:]), list[bytes]()
        if not _TIMED.search(tail):
            pending: dict[bytes, list[tuple[int, int]]] = {}
            for found in _OF_THREAD.finditer(bytes(tail)):
                if found[2]:
                    pending.setdefault(found[1], []).append(found.span())
                else:
                    pending.pop(found[1], None)
            for start, stop in sorted((span for spans in pending.values() for span in spans), reverse=True):
                held.insert(0, bytes(tail[start:stop]) + b"\n")
                del tail[start:stop]  # a blank line remains
        moved = b"".join(held)
        yield replace(lines, data=lines.data[:cut] + tail)
    if moved:
        yield Lines(source.name, after - moved.count(b"\n"), moved, source.zone)


def _divide(lines: Lines) -> pl.DataFrame:
    """Divide lines into fields; find the latency of access lines without one."""
    rows = matches(_PATTERN, _GENERAL)(lines).with_columns(
        took_ns=seconds(pl.col("rest").str.extract(_LATENCY)), civetweb=False, joined=False
    )
    access, untimed = pl.col("status").is_not_null(), pl.col("took_ns").is_null()
    if not rows.select((access & untimed).any()).item():
        return rows.with_columns(line_ns=None, local=False).cast({"line_ns": pl.Int64})
    rows = rows.with_columns(civetweb=pl.col("text").str.contains("civetweb: 0x", literal=True))
    events = rows.select(
        "line", "time", "text", "civetweb", open=access & untimed & ~pl.col("rest").str.contains(_DURATION)
    )
    events = events.with_columns(pl.col("text").str.extract_groups(_EVENT).alias("event")).unnest("event")
    events = events.filter(pl.col("event").is_not_null()).with_columns(
        access=pl.col("event").is_in(["beast: ", "civetweb: "]),
        began_ns=iso_time(pl.col("stamp")).struct.field("ns"),
        done_ns=seconds(pl.col("text").str.extract(r"req done .* latency=(\d[\d.]*(?:e-\d+)?)s =")),
        zone=pl.coalesce("zone", pl.col("time").str.extract(r" ([+-]\d{4})$"), pl.lit("")),
    )
    # A "req done" line without a latency tells nothing.
    events = events.filter(
        ~pl.col("text").str.contains("req done req=", literal=True) | pl.col("done_ns").is_not_null()
    )
    before = {name: pl.col(name).shift(1).over("thread") for name in ("access", "pointer", "done_ns", "began_ns")}
    alike = pl.col("civetweb") | ((before["pointer"] == pl.col("pointer")) & before["done_ns"].is_not_null())
    events = events.with_columns(
        closes=pl.col("open") & ~before["access"].fill_null(True) & alike,
        spent_ns=pl.coalesce(before["done_ns"], pl.col("began_ns") - before["began_ns"]),
        at=iso_time(pl.col("stamp") + pl.col("zone")),
    )
    events = events.select(
        "line",
        joined=pl.col("closes").shift(-1).over("thread") & ~pl.col("access"),
        spent_ns=pl.when(pl.col("closes") & (pl.col("spent_ns") >= 0)).then(pl.col("spent_ns")),
        line_ns=pl.col("at").struct.field("ns"),
        local=pl.col("at").struct.field("local"),
    )
    rows = rows.drop("joined").join(events, on="line", how="left", maintain_order="left")
    return rows.with_columns(took_ns=pl.coalesce("took_ns", "spent_ns"))


_time, _op, _status, _civetweb = pl.col("time"), pl.col("op"), pl.col("status_"), pl.col("civetweb")
_bucket, _key = divided(pl.col("path"))
_other = pl.when(pl.col("rest").is_null()).then(pl.col("text"))
_whole = pl.when((_op == GET) & (_status == 200)).then(pl.col("moved"))

LAYOUT = Layout(
    divide=_divide,
    steps=(
        {
            # Whole seconds repeat, and then they are parsed once.
            "start_ns": clf_time(_time.str.slice(0, 20) + _time.str.slice(-6))
            + seconds(pl.lit("0") + _time.str.slice(20).str.head(-6)),
            "status": pl.col("status").replace("-1", "-"),  # of Jewel's civetweb
            "path": below_swift(pl.col("path")),
            "for_server": for_server(pl.col("path"), pl.col("query"), pl.col("rest").str.extract(_AGENT)),
        },
        {
            "iso": iso_time(pl.when(pl.col("start_ns").is_null()).then(_time)),
            "second": iso_time(_time.str.extract(_NAUTILUS, 1)).struct.field("ns"),
            "part": seconds(_time.str.extract(_NAUTILUS, 2)),
        },
        {
            "end_ns": pl.when(_civetweb)
            .then(pl.col("line_ns"))
            .otherwise(
                pl.coalesce(
                    pl.col("iso").struct.field("ns"),
                    pl.when(pl.col("part") < _SECOND_NS).then(pl.col("second") + pl.col("part")),
                )
            ),
            "local": pl.when(_civetweb)
            .then(pl.col("local"))
            .otherwise(pl.col("start_ns").is_null() & ~_time.str.contains(r"(?:[+-]\d\d:?\d\d|Z)$")),
            "status_": http_status(pl.col("status")),
            "bytes_": number(pl.col("bytes")),
            "bucket": _bucket,
            "key": _key,
        },
        {
            "op": pl.when(~pl.col("bucket").is_in(_OTHERS)).then(
                requested(pl.col("method"), pl.col("bucket"), pl.col("key"), pl.col("query"))
            ),
            "end_ns": pl.coalesce(pl.col("end_ns"), pl.col("start_ns") + pl.col("took_ns").fill_null(0)),
        },
        {
            "op": without_body(_op, _status),
            "moved": pl.when(~is_error(_status) & ~(_civetweb & ((_op == PUT) | (pl.col("bytes_") == 0)))).then(
                pl.col("bytes_")
            ),
        },
    ),
    verdicts=(
        join(pl.col("joined")),
        refuse(_other.str.contains("(?:beast|civetweb): 0x"), "is not a line about access, or has too few fields"),
        leave_out(_other.str.contains(_DAEMON), "not a line about access"),
        refuse(pl.col("rest").is_null(), "is no line of a gateway's log"),
        refuse(pl.col("end_ns").is_null(), "time cannot be read"),
        *if_invalid({"status_": "status", "bytes_": "bytes"}),
        leave_out(pl.col("for_server"), HEALTH_CHECK),
        refuse(pl.col("rest").str.contains(_DURATION) & pl.col("took_ns").is_null(), "latency cannot be read"),
    ),
    columns={
        "end_ns": pl.col("end_ns"),
        "local": pl.col("local"),
        "latency_ns": pl.col("took_ns"),
        "op": _op,
        "bucket": pl.col("bucket"),
        "key": pl.when(_op == LIST).then(prefix(pl.col("query"))).otherwise(pl.col("key")),
        **volumes(
            _op,
            _status,
            pl.col("moved"),
            _whole,
            number(pl.col("rest").str.extract(r" bytes=(\d+)-[^ ]*(?: latency=\S*)?$")),
        ),
        "client": text_or_null(pl.col("remote")),
        "status": _status,
        "error": error_of(_status),
    },
)


def _recognises(head: Head) -> bool:
    return _LINE.search(head.data) is not None


FORMAT = Format(
    "rgw-beast-log",
    "Ceph RADOS gateway log with access lines of beast or civetweb",
    True,
    _recognises,
    by_block(parser(LAYOUT), _blocks),
)
