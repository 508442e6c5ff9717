"""Fuzzes the readers of logs, guided by coverage (atheris, libFuzzer).

    python benchmarks/readers/fuzz_readers.py [FORMAT…] [--seconds N] [--corpus FOLDER] [--logs FOLDER]

Inputs begin as pieces of the samples of the tests, or of the logs in a folder, plain and packed, and are read by the
format that their first byte names. What must hold: a reader raises nothing but InputError and ends within a minute,
every row is accounted for, of formats with one request a line there are as many rows as lines, and the records are of
their schema. Coverage is that of the Python code. An input that breaks a rule is written to the folder (``crash-…``),
and the exit code is not 0.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["traces.readers"]):
    import log_files

    from traces.errors import InputError
    from traces.logs.import_report import ImportReport
    from traces.readers.formats import Format, Head
    from traces.readers.records import RECORDS
    from traces.readers.registry import FORMATS
    from traces.readers.source import HEAD_BYTES, Source
    from traces.readers.tools import warp

SEED_BYTES = 2500
LONGEST_BYTES = 6000
NOT_LINES = {
    "rgw-ops-log", "minio-trace", "minio-audit", "elbencho", "oracle-general", "envoy-access-log-json",
    "traefik-access-log-json", "caddy-access-log", "gcs-usage-log", "nginx-access-log-json", "minio-trace-verbose",
}  # fmt: skip


def check(format: Format, path: Path) -> None:
    """Read a file, whatever is in it.

    Raises:
        AssertionError: a rule is broken.
    """
    report, kept = ImportReport(), 0
    try:
        format.recognises(Head(path.name, Source(path).head()))
        for batch in format.read(Source(path), report):
            assert batch.schema == RECORDS, "the records are of another schema"
            kept += batch.num_rows
    except InputError:
        return
    assert report.balanced, f"rows are not accounted for: {report.figures()}"
    assert kept == report.kept, f"{kept} records are {report.kept} in the account"
    lines = lines_in(format, b"".join(Source(path).pieces()))
    assert lines is None or report.rows == lines, f"{lines} lines are {report.rows} rows"


def lines_in(format: Format, content: bytes) -> int | None:
    """How many rows a file of lines has, counted without the readers; None if rows are not lines."""
    if format.name in NOT_LINES or content.startswith(b"PAR1"):
        return None
    lines = [line for line in content.split(b"\n") if line.strip(b" \t\r\n\v\f")]
    if format.name in ("warp", "s3dlio"):
        top = warp.header_of(content[:HEAD_BYTES])
        return sum(not line.startswith((b"#", "\t".join(top).encode())) for line in lines)
    if format.name == "tailcast-csv":
        below = [line for line in content.partition(b"\n")[2].split(b"\n") if line.strip(b" \t\r\n\v\f")]
        if not below:  # without a header line no row can be read, the first one included
            return len(lines)
        lines = below
    headed = format.name in ("tailcast-csv", "libcachesim-csv", "s3-access-log-table") and bool(lines)
    return len(lines) - headed


def seeds(formats: list[Format], logs: Path | None, folder: Path) -> None:
    """Write the first inputs: of samples, or of the logs in a folder."""
    known: dict[str, list[Path]] = {format.name: [] for format in formats}
    for path in sorted(logs.iterdir()) if logs else ():
        head = Head(path.name, Source(path).head(), path)
        found = next((format for format in formats if format.recognises(head)), None)
        if found is not None:
            known[found.name].append(path)
    for number, format in enumerate(formats):
        for path in known[format.name] if logs else log_files.samples(format):
            piece = log_files.content(path)[:SEED_BYTES]
            for kind, data in (("plain", piece), ("packed", gzip.compress(piece))):
                (folder / f"{kind}-{path.name}").write_bytes(bytes([number]) + data)


def main() -> None:
    names = [format.name for format in FORMATS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="duration (default: %(default)s)")
    parser.add_argument("--logs", type=Path, help="folder of logs to begin with (default: the samples of the tests)")
    parser.add_argument("--corpus", type=Path, help="folder for inputs (default: inputs are discarded)")
    requested = parser.parse_args()
    if unknown := set(requested.formats) - set(names):
        parser.error(f"no format {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    formats = [format for format in FORMATS if format.name in (requested.formats or names)]
    with tempfile.TemporaryDirectory() as scratch:
        corpus = requested.corpus or Path(scratch) / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        seeds(formats, requested.logs, corpus)
        path = Path(scratch) / "log"

        def one_input(data: bytes) -> None:
            if data:
                path.write_bytes(data[1:])
                check(formats[data[0] % len(formats)], path)

        options = [
            f"-max_total_time={requested.seconds}",
            f"-max_len={LONGEST_BYTES}",
            "-timeout=60",
            "-rss_limit_mb=4096",
        ]
        if requested.corpus:
            options.append(f"-artifact_prefix={requested.corpus}/")
        atheris.Setup([sys.argv[0], *options, str(corpus)], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
