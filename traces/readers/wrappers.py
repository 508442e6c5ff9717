"""Unwrap the lines of a log that a container's runtime, the journal, syslog or a log shipper has wrapped.

`unwrapped` removes what is unmistakable. Docker's json-file (daemon/logger/jsonfilelog):
``{"log":"line\\n","stream":"stderr","time":"…"}``; a text without a newline goes on in the next one of its stream. CRI
(logs of Kubernetes and Podman): ``2026-11-21T10:44:01.620147Z stderr F line``; ``P`` in place of ``F`` says that the
text goes on. ``journalctl -o json``: the field ``MESSAGE``.

`SHIPPED` may also be the beginning of another line, so it is removed only if a format recognises what remains: the
headers of syslog (RFC 3164, RFC 5424, rsyslog's RSYSLOG_FileFormat, ``journalctl -o short-iso``), the names that
``docker compose logs``, kubectl (with the pod) and grep write before a line, and what is around the texts in the
JSON of Fluent Bit, Filebeat, Loki, Elasticsearch and CloudWatch. `WEAK`, such as the time that kubectl can write, is
removed if no format recognises the log with it.

A line remains a line: of one that goes on, a blank line remains. Lines that are not wrapped remain as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import polars as pl

from traces.compression import TruncatedError

_TEXT = r'"(?<body>(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"'
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.,]+(?:Z|[+-][0-9:]{4,5})"


@dataclass(frozen=True)
class Wrapper:
    """What is around the lines of a log.

    Attributes:
        pattern: expression of a line, with the groups ``body`` and, if texts may go on, ``stream`` and ``tag``.
        begins: what recognises a line, in the syntax of Python.
        is_json: whether the body is the inside of a JSON string.
        ends: of JSON whose texts may go on, what ends one.
    """

    pattern: str
    begins: re.Pattern[bytes]
    is_json: bool = False
    ends: str | None = None


def _prefix(pattern: str, body: str = ".*") -> Wrapper:
    return Wrapper(rf"^{pattern}(?<body>{body})$", re.compile(f"{pattern}{body}".encode()))


_DOCKER = Wrapper(
    rf'^\{{"log":{_TEXT},"stream":"(?<stream>stdout|stderr)"',
    re.compile(rb'\{"log":".*","stream":"std(?:out|err)"'), is_json=True, ends="\n",
)  # fmt: skip
_CRI = Wrapper(
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]{5}) (?<stream>stdout|stderr) (?<tag>[FP])[^ ]* (?<body>.*)$",
    re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]{5}) std(?:out|err) [FP]"),
)
_JOURNAL = Wrapper(
    rf'^\{{(?:.*,)?\s*"MESSAGE"\s*:\s*{_TEXT}',
    re.compile(rb'\{(?=.*"__REALTIME_TIMESTAMP").*"MESSAGE"'), is_json=True,
)  # fmt: skip
_CERTAIN = (_DOCKER, _CRI, _JOURNAL)

SHIPPED = (
    # Syslog: RFC 5424, RFC 3164, ISO 8601; then a time before JSON.
    _prefix(rf"<[0-9]+>1 (?:{_DATE}|-) [^ ]+ [^ ]+ [^ ]+ [^ ]+ (?:-|(?:\[[^\]]*\])+) [^ -~]*"),
    _prefix(r"(?:<[0-9]+>)?[A-Z][a-z]{2} [ 0-9][0-9] [0-9:.]{8,15} (?:[^ ]+ )?[^ :]+: "),
    _prefix(rf"{_DATE} [^ ]+ [^ :]+: "),
    _prefix(rf"{_DATE} ", r"\{.*"),
    # Names of pods, services and files.
    _prefix(r"\[pod/[^\]]+\] "),
    _prefix(r"[A-Za-z0-9_.-]+ +\| "),
    _prefix(r'[^ :"{]*(?:/|log|\.txt)[^ :"{]*:(?:[0-9]+:)?'),
    Wrapper(
        rf'^\{{.*?"(?:message|msg|log|line|textPayload|@message)"\s*:\s*{_TEXT}',
        re.compile(rb'\{.*?"(?:message|msg|log|line|textPayload|@message)"\s*:\s*"'), is_json=True,
    ),
)  # fmt: skip
"""What may be around the lines of a log, the most specific first."""

WEAK = (_prefix(rf"{_DATE} "), _prefix(r"[ \t]+"))
"""Such beginnings that formats have themselves."""

_BEGINNING_LINES = 20
_CHUNK_BYTES = 1 << 20
_LONGEST_BYTES = 64 << 20  # of a line; no reader accepts it


def unwrapped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a log without what wraps its lines; if none of its first lines is wrapped, as it is.

    Raises:
        TruncatedError: the pieces end early; what came before has been given.
    """
    start = b""
    for piece in pieces:
        start += piece
        if b"\n" in start or len(start) > _CHUNK_BYTES:
            break
    lines = [] if b"\0" in start else start.split(b"\n", _BEGINNING_LINES)[:_BEGINNING_LINES]
    wrapper = next((wrapper for wrapper in _CERTAIN if any(map(wrapper.begins.match, lines))), None)
    yield from chain([start], pieces) if wrapper is None else without(wrapper, chain([start], pieces))


def possible_wrappers(head: bytes) -> list[Wrapper | None]:
    """Return what may be around most of the first lines of a log, given its start; None: nothing. Likely ones first."""
    lines = [line for line in head.split(b"\n", 2 * _BEGINNING_LINES) if line.strip()][:_BEGINNING_LINES]
    strong, weak = (
        [one for one in some if 2 * sum(one.begins.match(line) is not None for line in lines) > len(lines)]
        for some in (SHIPPED, WEAK)
    )
    return [*strong, None, *weak]


def without(wrapper: Wrapper, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a log without a wrapper.

    Raises:
        TruncatedError: the pieces end early; what came before has been given.
    """
    newline, opened = b"", dict[str, list[str]]()
    for chunk in _chunks(pieces):
        yield newline + _unwrapped(wrapper, chunk.removesuffix(b"\n"), opened)
        newline = b"\n" if chunk.endswith(b"\n") else b""
    yield "\n".join("".join(parts) for parts in opened.values()).encode() + newline


def _chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces in chunks of complete lines.

    Raises:
        TruncatedError: the pieces end early; what came before has been given.
    """
    held, size, enough = list[bytes](), 0, 0
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size >= enough and b"\n" in piece:
                cut = piece.rfind(b"\n") + 1
                yield b"".join([*held[:-1], piece[:cut]])
                held, size, enough = [piece[cut:]], len(piece) - cut, _CHUNK_BYTES
            elif size > _LONGEST_BYTES:
                yield b"".join(held)
                held, size = [], 0
    except TruncatedError:
        yield b"".join(held)
        raise
    if size:
        yield b"".join(held)


def _unwrapped(wrapper: Wrapper, lines: bytes, opened: dict[str, list[str]]) -> bytes:
    """Unwrap lines. `opened` has, by stream, the parts of a text that goes on."""
    line, body = pl.col("line"), pl.col("body")
    rows = pl.DataFrame({"line": lines.decode("utf-8", "backslashreplace").split("\n")}).select(
        "line", line.str.extract_groups(wrapper.pattern).alias("found")
    )
    rows = rows.unnest("found")
    if wrapper.is_json:
        rows = rows.with_columns(body=pl.concat_str(pl.lit('"'), body, pl.lit('"')).str.json_decode(pl.String))
        goes_on = pl.lit(False) if wrapper.ends is None else ~body.str.ends_with(wrapper.ends)
        rows = rows.with_columns(
            goes_on=goes_on, body=body.str.strip_suffix("\n").str.replace_all("\n", " ", literal=True)
        )
    else:
        rows = rows.with_columns(goes_on=(pl.col("tag") == "P") if "tag" in rows.columns else pl.lit(False))
    texts = rows.select(pl.coalesce(body, line)).to_series()
    if not opened and not rows["goes_on"].any():
        return str(texts.str.join("\n").item()).encode()
    whole = list[str]()
    for text, stream, on in zip(texts, rows["stream"], rows["goes_on"], strict=True):
        parts = opened.setdefault(stream, []) if on else opened.pop(stream, [])
        if sum(map(len, parts)) < _LONGEST_BYTES:
            parts.append(text)
        whole.append("" if on else "".join(parts))
    return "\n".join(whole).encode()
