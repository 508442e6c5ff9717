"""Fuzzes imports with all their options by random command lines and mutated files.

    python benchmarks/readers/fuzz_options.py [--seconds N] [--inputs N] [--seed N]

An input has options and a file: columns with forms, constants and places, delimiters, patterns, zones, formats and
switches, and a table whose cells are times of all forms, requests, numbers with commas and units, and bytes of any
kind; or a sample of the tests with changes. What must hold: an import raises nothing but InputError, with one line; the
rows are accounted for; and the Trace and the Run that it writes can be read and have its requests.
An input that breaks a rule is printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import log_files

from traces.errors import InputError
from traces.logs.columns import Columns
from traces.logs.importing import import_logs
from traces.readers.formats import UnknownFormatError
from traces.readers.registry import FORMATS
from traces.readers.tools.generic_csv import FIELDS
from traces.run import Run
from traces.trace import Trace

NAMES = ("t", "o", "k", "n", "d", "s", "r", "id", "h")
TIMES = (
    "2026-10-25T02:30:00", "2026-10-25 02:00:00,5", "2026-11-21T10:00:00Z", "1795255200", "1795255200000", "1.5",
    "0", "-1",
    "20/Nov/2026:10:43:58.655", "[21/Nov/2026:10:44:01 +0000]", "21/Nov/2026:10:44:01", "", "-", "9" * 30,
    "1e400", "NaN",
)  # fmt: skip
CELLS = (
    "GET", "PUT", "POST", "LIST", "frob", "get_obj", "/b/k?list-type=2&prefix=a", "GET /b/k?X-Amz-Signature=1 HTTP/1.1",
    "GET / HTTP/1.1", "https://b.s3.example.net/k", "PUT /b/k?partNumber=1&uploadId=x", "a b", "1,000", "0,5", "28 MiB",
    "3m18.7s", "152µs", "12", "0", "-5", "206", "503", "-1", "", "-", '"', "'", "\\x00", "é", "%zz", "%E9",
    "9" * 25, "k\r",
)  # fmt: skip
ZONES = ("UTC", "Europe/Berlin", "+02:00", "America/New_York", "Mars/Olympus", "")
PATTERNS = (r"(?P<t>\S+) (?P<o>\S+) (?P<k>.*)", r"^(?P<t>[^,]*),(?P<o>[^,]*),(?P<k>[^,]*)", "(", "(?P<line>.)", "", ".")
JUNK = (b"\0", b"\xff\xfe", b"\n", b"\r\n", b'"', b",", b"x" * 300, b"{", b"\xe9", b"PAR1", b"BZh9", b"\x1f\x8b")


def columns_of(draw: random.Random) -> dict[str, str]:
    """Return a mapping of columns, mostly one that is allowed."""
    chosen = {"time": "t", "key": "k"} if draw.random() < 0.6 else {"time": "t", "request": "r"}
    if draw.random() < 0.2:
        chosen["end"], chosen["latency"] = chosen.pop("time"), "d"
    for name in draw.sample(list(FIELDS), draw.randint(0, 6)):
        if draw.random() < 0.7 or name not in ("time", "end", "request", "host"):
            chosen.setdefault(name, draw.choice(NAMES))
    numbers = draw.random() < 0.2
    found = {}
    for name, place in chosen.items():
        text = str(NAMES.index(place) + 1) if numbers and place in NAMES else place
        forms = FIELDS.get(name, ())
        if forms and draw.random() < 0.5:
            text += f":{draw.choice(forms)}"
        if draw.random() < 0.05:
            text = draw.choice(("=GET", "=", ":", "x:y:z", "99", "=x\0y"))
        found[name] = text
    return found


def table(draw: random.Random) -> bytes:
    """Return a table with a header, and now and then with junk."""
    delimiter = draw.choice((",", ";", "\t", "|", " "))
    rows = [delimiter.join(NAMES)]
    for _ in range(draw.randint(0, 12)):
        cells = [draw.choice(TIMES), *(draw.choice(CELLS) for _ in NAMES[1:])]
        if draw.random() < 0.5:
            cells = [f'"{cell}"' if delimiter in cell else cell for cell in cells]
        rows.append(delimiter.join(cells))
    data = ("\n".join(rows) + draw.choice(("", "\n"))).encode(draw.choice(("utf-8", "utf-16")), "replace")
    return mutated(draw, data) if draw.random() < 0.4 else data


def mutated(draw: random.Random, data: bytes) -> bytes:
    """Return data with some bytes replaced, repeated or cut off."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(changed))
        changed[at : at + draw.randint(0, 20)] = draw.choice(JUNK)
    return bytes(changed[: draw.randint(0, len(changed))]) if draw.random() < 0.2 else bytes(changed)


def one_input(draw: random.Random, folder: Path, samples: Sequence[bytes]) -> None:
    """Import a file with options, whatever they are.

    Raises:
        AssertionError: a rule is broken.
    """
    of_table = draw.random() < 0.6
    data = table(draw) if of_table else mutated(draw, draw.choice(samples))
    options: dict[str, object] = {
        "zone": draw.choice(ZONES) if draw.random() < 0.3 else "UTC",
        "strict": draw.random() < 0.1,
        "anonymise": draw.random() < 0.2,
        "spread": draw.random() < 0.2,
    }
    if of_table:
        pattern = draw.choice(PATTERNS) if draw.random() < 0.2 else None
        delimiter = draw.choice((",", " ", ";", "", "é", "||")) if draw.random() < 0.2 else None
        options["columns"] = Columns(columns_of(draw), delimiter, pattern)
    elif draw.random() < 0.3:
        options["format"] = draw.choice(FORMATS).name
    path, out = folder / "log", folder / draw.choice(("t.parquet", "t.csv"))
    path.write_bytes(data)
    described = f"{options} on {data[:600]!r}"
    try:
        figures = import_logs([path], out, run_out=folder / "t.run", **options)  # type: ignore[arg-type]
    except (InputError, UnknownFormatError) as error:
        assert str(error) and "\n" not in str(error), f"an error of several lines: {described}"
        return
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}: {described}") from error
    accounted = figures["kept"] + figures["joined"] + sum(figures["left_out"].values()) + figures["unreadable"]
    assert figures["rows"] == accounted, f"rows are not accounted for: {described}"
    trace = Trace.read(out)
    assert len(trace) == figures["requests"] == figures["kept"] - figures["duplicates"], (
        f"requests are lost: {described}"
    )
    if figures["run"]:
        assert len(Run.read(folder / "t.run")) == len(trace) - figures["without_latency"], (
            f"a Run lacks rows: {described}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="duration (default: %(default)s)")
    parser.add_argument("--inputs", type=int, default=10**9, help="most inputs (default: no limit)")
    parser.add_argument("--seed", type=int, default=None, help="seed of the inputs (default: random)")
    requested = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if requested.seed is None else requested.seed
    samples = [log_files.content(path)[:3000] for format in FORMATS for path in log_files.samples(format)[:1]]
    until, done = time.monotonic() + requested.seconds, 0
    while time.monotonic() < until and done < requested.inputs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                one_input(random.Random(f"{seed}/{done}"), Path(folder), samples)
            except AssertionError as error:
                print(f"input {done} of seed {seed}: {error}", file=sys.stderr)
                sys.exit(1)
        done += 1
    print(f"{done:,} inputs of seed {seed}: none breaks a rule")


if __name__ == "__main__":
    main()
