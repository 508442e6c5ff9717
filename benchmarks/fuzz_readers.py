"""Fuzzes the readers of logs, guided by coverage (atheris, libFuzzer).

    python benchmarks/fuzz_readers.py [FORMAT…] [--seconds N] [--corpus FOLDER]

Inputs begin as pieces of the samples of the tests, plain and packed, and are read by the format that their first byte
names. What must hold: a reader raises nothing but InputError, every row is accounted for, and the records are of their
schema. Coverage is that of the Python code; the compiled kernels are checked for reads beyond their arrays instead
(numba's bounds check; they are compiled anew for that). An input that breaks a rule is written to the folder
(``crash-…``), and the exit code is not 0.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import tempfile
from pathlib import Path

os.environ["NUMBA_BOUNDSCHECK"] = "1"
os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "tailcast-fuzz-kernels")

import atheris

READERS = Path(__file__).resolve().parent.parent / "traces" / "readers"
KERNELS = [f"traces.readers.{path.stem}" for path in READERS.glob("*.py") if "@compiled" in path.read_text()]

with atheris.instrument_imports(include=["traces.readers"], exclude=KERNELS):
    import log_files

    from traces.errors import InputError
    from traces.logs.import_report import ImportReport
    from traces.readers.formats import Format, Head
    from traces.readers.records import RECORDS
    from traces.readers.registry import FORMATS
    from traces.readers.source import Source

SEED_BYTES = 2500
LONGEST_BYTES = 6000


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


def seeds(formats: list[Format], folder: Path) -> None:
    """Write the first inputs."""
    for number, format in enumerate(formats):
        for path in log_files.samples(format):
            piece = log_files.content(path)[:SEED_BYTES]
            for kind, data in (("plain", piece), ("packed", gzip.compress(piece))):
                (folder / f"{kind}-{path.name}").write_bytes(bytes([number]) + data)


def main() -> None:
    names = [format.name for format in FORMATS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="folder for inputs (default: inputs are discarded)")
    requested = parser.parse_args()
    formats = [format for format in FORMATS if format.name in (requested.formats or names)]
    with tempfile.TemporaryDirectory() as scratch:
        corpus = requested.corpus or Path(scratch) / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        seeds(formats, corpus)
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
