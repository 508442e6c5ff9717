"""Memory that MinIO's server allocates per request, and frequency of collections, for `hosts.garbage_collector`.

    python benchmarks/box/minio_garbage.py [--form one-drive] [--seconds S] [--json]

For each operation and size clients ask a store of the lab in closed loops. Bytes that the server allocated, and
collections, are counted by its metrics (``go_memstats_alloc_bytes_total``, ``go_gc_duration_seconds_count``) from when
the objects to be read are there to the end. Counts, not times; but a PUT of 1 MiB to an erasure set took 200 to 340 KB
with 4 clients, 850 KB with 8. How much CPU a collection takes the server's log says when it is started with
``GODEBUG=gctrace=1``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from traces.spec.spec_file import validated
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.lab import lab
from validate.lab.minio.store import Minio
from validate.lab.store import Form, Store
from validate.replay.replay import replay

SIZES = ("4KiB", "32KiB", "128KiB", "256KiB", "1MiB", "8MiB")
OPERATIONS = {"GET": SIZES, "PUT": SIZES, "HEAD": SIZES[:1], "DELETE": SIZES[:1], "LIST": SIZES[:1]}
OBJECTS, REQUESTS, CLIENTS = 100, 1500, 4
METRICS = "/minio/metrics/v3/debug/go"


@dataclass(frozen=True)
class Counted:
    """What the server has done since it began."""

    allocated_bytes: float
    collections: float

    @staticmethod
    def by(store: Store) -> Counted:
        """Query the store's first process."""
        with urllib.request.urlopen(store.nodes[0].endpoint_url + METRICS, timeout=10) as response:
            text = response.read().decode()

        def value(name: str) -> float:
            found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)", text, re.MULTILINE)
            if found is None:
                raise ValueError(f"{METRICS} has no {name}")
            return float(found[1])

        return Counted(value("go_memstats_alloc_bytes_total"), value("go_gc_duration_seconds_count"))


@dataclass(frozen=True)
class Row:
    """An operation on objects of a size; `bytes_a_collection` is None where there was none."""

    op: str
    size: str
    requests: int
    bytes_a_request: float
    bytes_a_collection: float | None


def measure(store: Store, op: str, size: str, seconds: float) -> Row:
    """Measure one operation on objects of one size."""
    requested = {"duration": seconds, "object_size": size, "mix": {op: 1.0}, "clients": CLIENTS, "operations": REQUESTS}
    requested |= {"keys": {"kind": "uniform", "count": REQUESTS if op == "DELETE" else OBJECTS}}
    begun = [Counted.by(store)]

    def watch(stage: str, done: float, total: float) -> None:
        if stage == "prepare" and done == total:
            begun.append(Counted.by(store))

    run = replay(generate(validated(Workload, requested, op), seed=1), store.target, progress=watch)
    before, after = begun[-1], Counted.by(store)
    spent, times = after.allocated_bytes - before.allocated_bytes, after.collections - before.collections
    return Row(op, size, len(run), spent / len(run), spent / times if times else None)


@contextlib.contextmanager
def _store(form: Form) -> Iterator[Store]:
    """Yield the lab's store in a form; one that was not up is taken down afterwards."""
    running = lab.status("minio")
    store = lab.up("minio", form, lambda line: print(line, file=sys.stderr, flush=True))
    try:
        yield store
    finally:
        if running is None:
            lab.down("minio")


def rows(form: str, seconds: float) -> Iterator[Row]:
    """All operations and sizes."""
    with _store(Minio.forms[form]) as store:
        for op, sizes in OPERATIONS.items():
            for size in sizes:
                yield measure(store, op, size, seconds)


def main() -> None:
    """Print a line for each operation and size, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--form", choices=Minio.forms, default="one-drive", help="form of the store (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="maximum duration of each measurement (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    given = parser.parse_args()
    if given.json:
        json.dump({"form": given.form, "rows": [asdict(row) for row in rows(given.form, given.seconds)]}, sys.stdout)
        return
    print(f"{'op':7} {'size':7} requests  KB a request  MB a collection")
    for row in rows(given.form, given.seconds):
        between = f"{row.bytes_a_collection / 1e6:16.0f}" if row.bytes_a_collection else "               -"
        print(f"{row.op:7} {row.size:7} {row.requests:8} {row.bytes_a_request / 1e3:13.0f} {between}", flush=True)


if __name__ == "__main__":
    main()
