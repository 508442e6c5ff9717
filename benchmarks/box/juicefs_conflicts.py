"""Transactions of several mounts of a JuiceFS on one file, predicted next to measured.

    python benchmarks/box/juicefs_conflicts.py

Starts a MinIO and a JuiceFS on it, with a Redis whose rounds are held as by --redis-delay 2ms, and further mounts of
the same volume. Each client of each mount sets the times of one file, each to another value, as JuiceFS writes nothing
if nothing changes; or overwrites 4 KiB of it and syncs, in a closed loop for some seconds. Prints operations per
second, and p50 and p99 in ms, next to those of a simulation of examples/juicefs/box.yaml with the latency to Redis of
`LATENCY_S`, which was fitted to creations by one client. Needs FUSE, and root.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from models.store import load_spec
from sim.simulate import simulate
from traces.trace import OPTIONAL_FIELDS, TRACE_SCHEMA, Pacing, Trace
from validate.lab import lab
from validate.lab.file_systems import lifecycle
from validate.lab.file_systems.file_system import METADATA_RECORDER, FileSystem, FileSystemForm
from validate.lab.file_systems.registry import kind_of
from validate.lab.mounts import is_mounted, unmount

ROOT = Path(__file__).parents[2]
LATENCY_S = 2.1e-3
CASES = ((1, 1), (1, 4), (2, 2), (2, 4), (4, 4), (4, 8))
"""Numbers of mounts, and of their clients in all."""
_FILE_BYTES = 1 << 20
_PIECE_BYTES = 4096
_ENDS_WITHIN_S = 3.0
_OPERATIONS = {"setattr": ("SETATTR",), "overwrite": ("WRITE", "FSYNC")}
_FAST = (
    "below.drives={count: 1, preset: nvme}", "below.hosts.nic=10Gbit/s", "below.client.nic=10Gbit/s",
    "workload.think_time=0s",
)  # fmt: skip


@contextmanager
def mounts(fs: FileSystem, count: int, folder: Path) -> Iterator[list[Path]]:
    """Yield the mount and further ones of its volume, each with a cache of its own."""
    program, port = kind_of(fs.name).find(), fs.ports[METADATA_RECORDER]
    assert program is not None
    command = [program, "mount", "--no-syslog", "--no-usage-report", f"redis://127.0.0.1:{port}/1"]
    points, started = [fs.mount_point], list[subprocess.Popen[bytes]]()
    try:
        for number in range(1, count):
            point = folder / f"mount{number}"
            point.mkdir()
            own = [*command, point, "--cache-dir", folder / f"cache{number}"]
            started.append(subprocess.Popen(own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            points.append(point)
            while not is_mounted(point):
                time.sleep(0.1)
        yield points
    finally:
        for point, process in zip(points[1:], started, strict=True):
            unmount(point)
            process.terminate()
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def sets_times(path: Path, client: int) -> Callable[[int], None]:
    """Return a change of the times of a file, which no other one makes."""
    return lambda k: os.utime(path, ns=(time.time_ns(), 1_000_000_000 * (1 + client + 100 * k)))


def overwrites(path: Path, client: int) -> Callable[[int], None]:
    """Return an overwrite of 4 KiB of a file at a place of the client's own."""
    handle = os.open(path, os.O_RDWR)
    data = bytes(_PIECE_BYTES)

    def overwrite(k: int) -> None:
        os.pwrite(handle, data, client * 2 * _PIECE_BYTES)
        os.fsync(handle)

    return overwrite


def measured(points: Sequence[Path], clients: int, change: str, seconds: float) -> list[float]:
    """Return how long each operation took, in s."""
    name = f"{change}-{len(points)}-{clients}"
    (points[0] / name).write_bytes(bytes(_FILE_BYTES))
    time.sleep(2.0)  # attributes expire
    make = {"setattr": sets_times, "overwrite": overwrites}[change]
    took_s: list[float] = []
    begin = threading.Barrier(clients)

    def client(number: int) -> None:
        operation = make(points[number % len(points)] / name, number)
        begin.wait()
        until_s, k = time.perf_counter() + seconds, 0
        while (since_s := time.perf_counter()) < until_s:
            operation(k)
            took_s.append(time.perf_counter() - since_s)
            k += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took_s


def predicted(count: int, clients: int, change: str) -> tuple[list[float], float]:
    """Return how long each operation takes in a simulation, in s, and how many there are per second."""
    given = [*_FAST, f"mounts.count={count}", f"metadata.latency={LATENCY_S}"]
    spec = load_spec(ROOT / "examples/juicefs/box.yaml", given)
    ops, each = _OPERATIONS[change], 100
    rows = [(op, client) for _ in range(each) for client in range(clients) for op in ops]
    fields = [*TRACE_SCHEMA, *(field for field in OPTIONAL_FIELDS if field.name in ("group", "handle"))]
    columns = {
        "arrival_s": 0.0, "think_s": 0.0, "phase": 0, "bucket": "b", "key": "file", "size_bytes": _FILE_BYTES,
    }  # fmt: skip
    values = {name: [value] * len(rows) for name, value in columns.items()}
    values |= {"op": [op for op, _ in rows], "group": [f"g{client}" for _, client in rows]}
    values |= {"handle": [client for _, client in rows]}
    values["range_start_bytes"] = [client * 2 * _PIECE_BYTES if op == "WRITE" else None for op, client in rows]
    values["range_bytes"] = [_PIECE_BYTES if op == "WRITE" else None for op, _ in rows]
    arrays = [pa.array(values.get(field.name, [None] * len(rows))).cast(field.type) for field in fields]
    groups = tuple((f"g{client}", Pacing("closed", 1)) for client in range(clients))
    pacing = Pacing("mixed", groups=groups) if clients > 1 else Pacing("closed", 1)
    run = simulate(spec, Trace.of(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), pacing), seed=1)
    end_s = run.column("end_s")
    took = run.column("end_s") - run.column("arrival_s")
    chosen = end_s < np.quantile(end_s, 0.8)  # while all clients go on
    op = np.array(run.requests.column("op").to_pylist())
    found = took[chosen & (op == ops[-1])]
    return found.tolist(), len(found) / float(end_s[chosen].max())


def line(took_s: Sequence[float], rate: float) -> str:
    """Return operations per second, p50 and p99."""
    p50, p99 = 1e3 * np.quantile(took_s, [0.5, 0.99])
    return f"{rate:6.1f}/s  {p50:7.1f}  {p99:7.1f}"


def main() -> None:
    """Measure and predict all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each case (default: 8)")
    parser.add_argument("--only", default="", help="operations whose name has this text (default: all)")
    parser.add_argument("--predict", action="store_true", help="simulate only")
    given = parser.parse_args()
    cases = [(change, *case) for change in _OPERATIONS if given.only in change for case in CASES]
    found: dict[tuple[str, int, int], str] = {}
    if not given.predict:
        try:
            fs = lifecycle.up("juicefs", lab.up("minio"), FileSystemForm(metadata_delay_s=2e-3))
            for change, count, clients in cases:
                with tempfile.TemporaryDirectory() as folder, mounts(fs, count, Path(folder)) as points:
                    took_s = measured(points, clients, change, given.seconds)
                found[change, count, clients] = line(took_s, len(took_s) / given.seconds)
                print(change, count, clients, found[change, count, clients], flush=True)
            print("load average", os.getloadavg())
        finally:
            lifecycle.down("juicefs")
            lab.down("minio")
    for case in cases:
        change, count, clients = case
        print(change, count, clients, found.get(case, ""), " predicted ", line(*predicted(count, clients, change)))


if __name__ == "__main__":
    main()
