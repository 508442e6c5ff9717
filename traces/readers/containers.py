"""Unwrap the lines of a log that a container's runtime or the journal has wrapped.

Docker's json-file (daemon/logger/jsonfilelog): ``{"log":"line\\n","stream":"stderr","time":"…"}``; a text without a
newline goes on in the next one of its stream. CRI (logs of Kubernetes and Podman): ``2026-11-21T10:44:01.620147Z stderr
F line``; ``P`` in place of ``F`` says that the text goes on. ``journalctl -o json``: the field ``MESSAGE``.

A line remains a line: of one that goes on, a blank line remains. Lines that are not wrapped remain as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import polars as pl

from traces.compression import TruncatedError

_TEXT = r'"(?<body>(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"'
_DOCKER = rf'^\{{"log":{_TEXT},"stream":"(?<stream>stdout|stderr)"'
_CRI = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]{5}) (?<stream>stdout|stderr) (?<tag>[FP])[^ ]* (?<body>.*)$"
)
_JOURNAL = rf'^\{{(?:.*,)?\s*"MESSAGE"\s*:\s*{_TEXT}'

_BEGINNINGS = {
    _DOCKER: re.compile(rb'\{"log":".*","stream":"std(?:out|err)"'),
    _CRI: re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]{5}) std(?:out|err) [FP]"),
    _JOURNAL: re.compile(rb'\{(?=.*"__REALTIME_TIMESTAMP").*"MESSAGE"'),
}
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
    pattern = next((pattern for pattern, begins in _BEGINNINGS.items() if any(map(begins.match, lines))), None)
    if pattern is None:
        yield start
        yield from pieces
        return
    newline, opened = b"", dict[str, list[str]]()
    for chunk in _chunks(chain([start], pieces)):
        yield newline + _unwrapped(pattern, chunk.removesuffix(b"\n"), opened)
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


def _unwrapped(pattern: str, lines: bytes, opened: dict[str, list[str]]) -> bytes:
    """Unwrap lines. `opened` has, by stream, the parts of a text that goes on."""
    line, body = pl.col("line"), pl.col("body")
    rows = pl.DataFrame({"line": lines.decode("utf-8", "backslashreplace").split("\n")}).select(
        "line", line.str.extract_groups(pattern).alias("found")
    )
    rows = rows.unnest("found")
    if pattern == _CRI:
        rows = rows.with_columns(goes_on=pl.col("tag") == "P")
    else:
        rows = rows.with_columns(body=pl.concat_str(pl.lit('"'), body, pl.lit('"')).str.json_decode(pl.String))
        goes_on = ~body.str.ends_with("\n") if pattern == _DOCKER else pl.lit(False)
        rows = rows.with_columns(
            goes_on=goes_on, body=body.str.strip_suffix("\n").str.replace_all("\n", " ", literal=True)
        )
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
