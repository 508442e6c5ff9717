"""HAProxy's HTTP log, in its default layout (``option httplog``) and with what ``option httpslog`` adds.

Layout: HAProxy Configuration Manual, 8.2.3 "HTTP log format" and 8.4 "Timing events". The time is that at which the
request began to come, in milliseconds and without a zone. Of ``TR/Tw/Tc/Tr/Ta`` in milliseconds, Ta is the whole time
and the sum of the others that to the response's header; -1 stands for an event that did not happen. A plus sign before
Ta or the bytes says that the line was written before the end (``option logasap``): such a row has no latency and no
size. The bytes are those of the response with its header (some 200 to 500 bytes more than an object); those of a
request are not logged, so the size of a PUT is unknown. Requests of HTTP/2 name their host.
"""

from __future__ import annotations

import re

import polars as pl

from traces.operations import GET, HEAD, LIST
from traces.readers.expressions import local_clf_time, matches, number, text_or_null
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_layout import REQUEST_LINE, HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.layout import Layout, leave_out, refuse

_TIME = r"\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d\.\d{3}"
_PATTERN = (
    r"(?:^|[ :])(?<remote>[^ ]+):[0-9]+ \[(?<time>[^\]]+)\] [^ ]+ [^ ]+ "
    r"(?<timers>-?[0-9]+/-?[0-9]+/-?[0-9]+/-?[0-9]+/\+?[0-9]+) (?<answer>-?[0-9]+ \+?[0-9]+) [^\"]*"
    rf'"{REQUEST_LINE}(?:"|$)'
)
_NO_REQUEST = r'"<BADREQ>"?'
_OF_TCP = rf"\[{_TIME}\] [^ ]+ [^ ]+ -?\d+/-?\d+/\+?\d+ \+?\d+ "
_DAEMON = r"(?:Proxy|Server|backend|Health check|Connect from|Stopping|Starting|SSL handshake)"

_LINE = re.compile(rf"(?:^|[ :])\S+:\d+ \[{_TIME}\] \S+ \S+ -?\d+/-?\d+/-?\d+/-?\d+/\+?\d+ -?\d+ \+?\d+ ")
_MS = 10**6

_timer = {name: pl.col("timers").str.extract(rf"^(?:-?\d+/){{{place}}}(\d+)") for place, name in enumerate("RwcrA")}
_parts = [number(_timer[name]) for name in "Rwcr"]
_text, _request, _op = pl.col("text"), pl.col("method"), pl.col("op")

LAYOUT = Layout(
    divide=matches(_PATTERN),
    steps=(
        {
            "time_": local_clf_time(pl.col("time")),
            "took": number(_timer["A"]),
            "header": _parts[0] + _parts[1] + _parts[2] + _parts[3],
            "status": pl.col("answer").str.extract(r"^(-?\d+)").replace("-1", "0"),
            "sent": pl.col("answer").str.extract(r" (\d+)$"),
        },
        *http_steps(HttpFields()),
    ),
    verdicts=(
        leave_out(_request.is_null() & _text.str.contains(_NO_REQUEST), "not an HTTP request"),
        leave_out(_request.is_null() & _text.str.contains(_OF_TCP), "a connection without HTTP"),
        leave_out(_request.is_null() & _text.str.contains(_DAEMON), "not a line about access"),
        refuse(_request.is_null(), "is no line of HAProxy's HTTP log"),
        refuse(pl.col("time_").is_null(), "time cannot be read"),
        *http_verdicts(),
    ),
    columns={
        "time_ns": pl.col("time_"),
        "local": pl.lit(True),
        "latency_ns": pl.col("took") * _MS,
        "first_byte_ns": pl.when(_op.is_in([GET, HEAD, LIST]) & (pl.col("header") <= pl.col("took"))).then(
            pl.col("header") * _MS
        ),
        "client": text_or_null(pl.col("remote")),
        **http_columns(),
    },
    doubts=http_doubts(),
)


def _recognises(head: Head) -> bool:
    return any(_LINE.search(line) for line in head.lines)


FORMAT = Format("haproxy-http-log", "HAProxy's HTTP log (option httplog)", True, _recognises, of_lines(LAYOUT))
