"""Logs of any length in every format, made from the samples of the tests: for benchmarks and fuzzing of readers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from traces.logs.import_report import ImportReport
from traces.readers.formats import Format, Head
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.readers.tools import oracle_general

SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "samples"

_SHIFT_S = 3600
"""How much later each repetition of a sample is."""

_HEADER_LINES = {
    "tailcast-csv": 2,
    "s3-access-log-table": 1,
    "warp": 1,
    "s3dlio": 1,
    "libcachesim-csv": 1,
    "gcs-usage-log": 1,
}

_CALENDAR = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "%Y-%m-%dT%H:%M:%S"),
        (rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "%Y-%m-%d %H:%M:%S"),
        (rb"\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d", "%Y.%m.%d %H:%M:%S"),
        (rb"\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d", "%d/%b/%Y:%H:%M:%S"),
        (rb"\d\d/\w{3}/\d{4}/\d\d/\d\d/\d\d", "%d/%b/%Y/%H/%M/%S"),
    )
)
_EPOCH = re.compile(rb"\b1[67]\d{8}(?=\.\d{6})")
_COUNTER = re.compile(rb"(?m)^\d+(?=[ ,.])")

Slot = Callable[[int], bytes]
"""The text at a place of the sample in repetition n."""


def samples(format: Format) -> list[Path]:
    """The samples that are in the format, the plainest (of the shortest name) first."""
    found = [path for path, name in _formats().items() if name == (format.of or format.name)]
    return sorted(found, key=lambda path: (len(path.name), path.name))


@cache
def _formats() -> dict[Path, str | None]:
    """The format of each sample."""
    paths = [path for path in SAMPLES.iterdir() if path.is_file() and path.suffix != ".md"]
    heads = {path: Head(path.name, Source(path).head()) for path in paths}
    return {path: next((f.name for f in FORMATS if f.recognises(head)), None) for path, head in heads.items()}


def content(path: Path) -> bytes:
    """What a sample holds, unpacked."""
    return b"".join(Source(path).pieces())


def is_json(sample: bytes) -> bool:
    """Whether the sample is of JSON objects."""
    return re.match(rb"\s*(?:\{|\[\s*\{)", sample) is not None


def write(format: Format, requests: int, path: Path) -> None:
    """Write a log of about that many rows: a sample again and again, an hour later each time and with other keys.

    JSON objects are written one a line. Keys of less than 8 characters, such as numbers, are left as they are.
    """
    sample = content(samples(format)[0])
    with path.open("wb") as file:
        if format.name == "oracle-general":
            file.writelines(_records(sample, requests))
        else:
            head, body = parts(format, sample)
            rows = body.count(b"\n")
            file.write(head)
            file.writelines(islice(_repetitions(format, sample, body), max(1, -(-requests // rows))))


def _records(sample: bytes, requests: int) -> Iterator[bytes]:
    records = np.frombuffer(sample, oracle_general.RECORD)
    for n in range(max(1, requests // len(records))):
        shifted = records.copy()
        shifted["time_s"] += np.uint32(n * _SHIFT_S)
        shifted["object"] ^= np.uint64(n)
        yield shifted.tobytes()


def parts(format: Format, sample: bytes) -> tuple[bytes, bytes]:
    """The sample's header lines, and the lines that are rows; JSON objects are brought to one a line."""
    if is_json(sample):
        return b"", b"".join(
            json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in _objects(sample.decode())
        )
    lines = [line for line in sample.splitlines(keepends=True) if line.strip()]
    top = _HEADER_LINES.get(format.name, 0)
    return b"".join(lines[:top]), b"".join(line for line in lines[top:] if not line.startswith(b"#"))


def _objects(text: str) -> Iterator[object]:
    decoder, at = json.JSONDecoder(), 0
    while (at := next((i for i in range(at, len(text)) if text[i] == "{"), -1)) >= 0:
        row, at = decoder.raw_decode(text, at)
        yield row


def _repetitions(format: Format, sample: bytes, body: bytes) -> Iterator[bytes]:
    parts, slots = _template(body, _long_keys(format, sample))
    n = 0
    while True:
        for place, slot in slots:
            parts[place] = slot(n)
        yield b"".join(parts)
        n += 1


def _long_keys(format: Format, sample: bytes) -> list[bytes]:
    path = samples(format)[0]
    table = pa.Table.from_batches(list(format.read(Source(path), ImportReport())))
    return [key.encode() for key in table["key"].unique().to_pylist() if len(key) >= 8]


def _template(body: bytes, keys: list[bytes]) -> tuple[list[bytes], list[tuple[int, Slot]]]:
    """The body in parts, and which of them differ from one repetition to the next."""
    found: dict[int, tuple[int, Slot]] = {}
    patterns: list[tuple[re.Pattern[bytes], Callable[[bytes], Slot]]] = []
    if keys:
        longest = b"|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
        patterns.append((re.compile(longest), lambda text: lambda n: text + b"%d" % n))
    patterns += [(pattern, _calendar(form)) for pattern, form in _CALENDAR]
    patterns.append((_EPOCH, _counter))
    if not any(pattern.search(body) for pattern, _ in _CALENDAR):
        patterns.append((_COUNTER, _counter))
    for pattern, slot_of in patterns:
        for match in pattern.finditer(body):
            found.setdefault(match.start(), (match.end(), slot_of(match.group())))
    parts: list[bytes] = []
    slots: list[tuple[int, Slot]] = []
    at = 0
    for start, (end, slot) in sorted(found.items()):
        if start >= at:
            parts += [body[at:start], b""]
            slots.append((len(parts) - 1, slot))
            at = end
    return [*parts, body[at:]], slots


def _counter(text: bytes) -> Slot:
    first = int(text)
    return lambda n: b"%d" % (first + n * _SHIFT_S)


def _calendar(form: str) -> Callable[[bytes], Slot]:
    def slot(text: bytes) -> Slot:
        first = datetime.strptime(text.decode(), form)
        return lambda n: (first + timedelta(seconds=n * _SHIFT_S)).strftime(form).encode()

    return slot
