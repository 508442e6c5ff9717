"""Access logs in the combined and the common format: nginx, its ingress controller of Kubernetes, Apache.

Layout: nginx ngx_http_log_module (``combined``), kubernetes/ingress-nginx docs/user-guide/nginx-configuration/
log-format.md, Apache mod_log_config (``common``, ``combined``). nginx writes a line at the end of a request; the time
is taken to be that, to the second. The duration is found where sites usually add it: as a number of seconds with three
decimal places behind the bytes or behind the last quoted field, or named ``rt=``, ``request_time=``. A name in quotes
before the request is the host. The bytes are those of the response's body; the size of a PUT is logged by the ingress
controller alone, with the request's header (some 500 bytes more than the object).
"""

from __future__ import annotations

import re

import polars as pl

from traces.readers.expressions import clf_time, identity, matches, seconds, text_or_null
from traces.readers.formats import Format, Head, of_lines
from traces.readers.http_layout import REQUEST_LINE, HttpFields, http_columns, http_doubts, http_steps, http_verdicts
from traces.readers.layout import Layout, leave_out, refuse

_START = r"(?<remote>[^ ]+) [^ ]+ [^ \[]+ \[(?<time>[^\]]+)\] "
_AFTER = r'" (?<status>[0-9]{3}) (?<sent>[0-9]+|-)(?<rest>.*)$'
_PATTERN = rf'^{_START}"{REQUEST_LINE}{_AFTER}'
_GENERAL = (
    r'^(?:.*? )??(?<remote>[^ ]+) [^ ]+ [^\[]+? \[(?<time>[^\]]+)\] (?:"[^" ]*" )?'
    rf'"{REQUEST_LINE}{_AFTER}'
)
_NO_REQUEST = r'\[[^\]]+\] (?:"[^" ]*" )?"[^"]*" (?:400|408|444|494|497|499|0+) '
_ERROR_LOG = r"^(?:\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[|\[\w{3} \w{3} \d\d )"

_LINE = re.compile(
    r"^(?:<\d+>.*?: |.*? nginx(?:\[\d+\])?: )?[^ ]+ [^ ]+ [^ \[]+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "
    r'(?:"[^" ]*" )?"[A-Z]+ [^ "]+(?: HTTP/[\d.]+)?" \d{3} (?:\d+|-)(?: |$)'
)
_TRAEFIK = re.compile(r' \d+ "[^"]*" "[^"]*" \d+ms$')

_DURATIONS = (
    r"^ (\d+\.\d{3})(?: |$)",
    r'" (?:\d+ )?(\d+\.\d{3})(?: |$)',
    r'(?:^|[ "])(?:rt|request_time|req_time|reqtime)[=:] ?"?(\d+\.\d+)',
)
_INGRESS = r'" (\d+) \d+\.\d{3} \['
_rest = pl.col("rest")
_known = pl.coalesce(*(_rest.str.extract(pattern) for pattern in _DURATIONS))

LAYOUT = Layout(
    divide=matches(_PATTERN, _GENERAL),
    steps=(
        {
            "host": pl.col("text").str.extract(r'\] "([^" ]+)" "[A-Z]'),
            "end": clf_time(pl.col("time")),
            "took_ns": seconds(_known),
            "received": _rest.str.extract(_INGRESS),
            "id": _rest.str.extract(r" ([0-9a-f]{32})$"),
            "agent": _rest.str.extract(r'^[^"]* "[^"]*" "([^"]*)"'),
        },
        *http_steps(HttpFields(received="received", host="host", agent="agent")),
    ),
    verdicts=(
        leave_out(_rest.is_null() & pl.col("text").str.contains(_NO_REQUEST), "not an HTTP request"),
        leave_out(_rest.is_null() & pl.col("text").str.contains(_ERROR_LOG), "not a line about access"),
        refuse(_rest.is_null(), "is no line of an access log"),
        refuse(pl.col("end").is_null(), "time cannot be read"),
        *http_verdicts(),
    ),
    columns={
        "end_ns": pl.col("end"),
        "latency_ns": pl.col("took_ns"),
        "client": text_or_null(pl.col("remote")),
        "request_id": identity(pl.col("id")),
        **http_columns(),
    },
    doubts=http_doubts(),
)


def _recognises(head: Head) -> bool:
    return any(_LINE.match(line) and not _TRAEFIK.search(line) for line in head.lines)


FORMAT = Format(
    "nginx-access-log", "access log of nginx, ingress-nginx or Apache (combined, common)", True, _recognises,
    of_lines(LAYOUT),
)  # fmt: skip
