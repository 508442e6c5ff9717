"""Latencies of files on a mount of the lab before, during and after a failure.

    python benchmarks/file_system_failures.py juicefs s3fs
    python benchmarks/file_system_failures.py --predict

Starts a MinIO of one drive and each file system on it, in a lab of its own, and writes and reads files of 64 KiB in an
open loop of 20/s while something fails: the store or Redis is silent (SIGSTOP), the store is killed and started again,
or the mount is killed and started again. Prints a table. With ``--predict``, nothing is started, and the figures are
those of a simulation of the same requests; a killed mount is not in the models.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from models.store import load_spec
from sim.simulate import simulate
from traces.run import Run
from traces.trace import TRACE_SCHEMA, Pacing, Trace
from validate.lab import lab, processes, staging
from validate.lab.faults import LabFault
from validate.lab.file_systems import lifecycle
from validate.lab.file_systems.file_system import MOUNT, FileSystem, FileSystemForm
from validate.lab.file_systems.redis import REDIS
from validate.lab.file_systems.registry import FILE_SYSTEMS
from validate.mount.mount_path import MOUNT as BY_CALLS
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Target

ROOT = Path(__file__).parent.parent
_RATE = 20.0
_AFTERWARDS = 2.5  # times as long as the failure
_SIZE_BYTES = 1 << 16


def workload(duration_s: float) -> Trace:
    """Return new files that are written and old ones that are read, in turn."""
    count = int(_RATE * duration_s) // 2 * 2
    keys = [f"{'old' if row % 2 else 'new'}{row}" for row in range(count)]
    return _trace([row / _RATE for row in range(count)], ["PUT", "GET"] * (count // 2), keys)


def _trace(arrival_s: list[float], op: list[str], key: list[str]) -> Trace:
    count = len(op)
    given = {
        "arrival_s": arrival_s,
        "think_s": [0.0] * count,
        "phase": [0] * count,
        "op": op,
        "bucket": ["b"] * count,
        "key": key,
        "size_bytes": [_SIZE_BYTES] * count,
    }
    arrays = [pa.array(given.get(field.name, [None] * count)).cast(field.type) for field in TRACE_SCHEMA]
    return Trace.of(pa.Table.from_arrays(arrays, schema=TRACE_SCHEMA), Pacing("open"))


def silent(server: str, fs: FileSystem, for_s: float) -> None:
    """Pause a server of the file system for a while."""
    pids = fs.running[server]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(for_s)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def store_fault(effect: str, fs: FileSystem, for_s: float) -> None:
    """Pause or kill the server of the store for a while."""
    store = lab.status(fs.store)
    assert store is not None
    staging.begin(store, LabFault("host", 0, effect))
    time.sleep(for_s)
    staging.end(store)


def mount_killed(fs: FileSystem, for_s: float) -> None:
    """Kill the mount, and start it again after a while."""
    processes.end(processes.marked([fs.mark(MOUNT)])[fs.mark(MOUNT)], 5.0, at_once=True)
    time.sleep(for_s)
    store = lab.status(fs.store)
    assert store is not None
    lifecycle.up(fs.name, store, fs.form, fs.options)


FAILURES: dict[str, Callable[[FileSystem, float], None]] = {
    "store silent": partial(store_fault, "paused"),
    "store killed": partial(store_fault, "killed"),
    "Redis silent": partial(silent, REDIS),
    "mount killed": mount_killed,
}


_MODELLED = {
    "store silent": ("below.", "kind: link_down, accepts: true"),
    "store killed": ("below.", "kind: host_down"),
    "Redis silent": ("", "kind: metadata_down"),
}
"""What the models have of them: whose faults, and which."""
_EXAMPLES = {"juicefs": ROOT / "examples/juicefs/box.yaml", "s3fs": ROOT / "examples/s3fs/files.yaml"}
_FAST = (
    "workload.rate=20/s", "mounts.count=1", "below.hosts.count=1", "below.drives={count: 1, preset: nvme}",
    "below.hosts.nic=10Gbit/s", "below.client.nic=10Gbit/s",
)  # fmt: skip


def measured(fs: FileSystem, fail: Callable[[FileSystem, float], None], seconds: float) -> Run:
    """Replay the workload on the mount; the failure begins after as long as it lasts."""
    failure = threading.Thread(target=lambda: (time.sleep(seconds), fail(fs, seconds)))
    begun: list[float] = []

    def progress(stage: str, done: float, total: float) -> None:
        if stage == "replay" and not begun:
            begun.append(done)
            failure.start()

    target = Target(mount=fs.mount_point, server_pids=fs.pids)
    run = replay(workload((2 + _AFTERWARDS) * seconds), target, Options(data_path=BY_CALLS), progress)
    failure.join()
    return run


def predicted(name: str, failure: str, seconds: float) -> Run | None:
    """Return a simulation of the same requests and failure; None: the model does not have it.

    The files that are read are written beforehand, as a replay does, so that caches have them.
    """
    fault = _MODELLED.get(failure)
    if fault is None or (name != "juicefs" and not fault[0]):
        return None
    within, kind = fault
    at = f"at: {seconds:g}s, back_at: {2 * seconds:g}s"
    faults = f"{within}faults=[{{{kind}, {at}}}]"
    machines = ["below.client.machines=1"] if name == "s3fs" else []
    spec = load_spec(_EXAMPLES[name], [*_FAST, *machines, faults])
    trace = workload((2 + _AFTERWARDS) * seconds)
    keys = trace.table.column("key").to_pylist()
    old = [key for key in keys if key.startswith("old")]
    prepared = _trace(
        [0.0] * len(old) + trace.arrival_s.tolist(), ["PUT"] * len(old) + ["PUT", "GET"] * len(old), old + keys
    )
    return simulate(spec, prepared, seed=1, first=len(old))


def rows(run: Run, seconds: float) -> Iterator[str]:
    """Yield the figures of each operation in each phase."""
    op = np.array(run.requests.column("op").to_pylist())
    arrival_s, took_s, failed = run.column("arrival_s"), run.column("end_s") - run.column("arrival_s"), run.failed
    phase = np.minimum(arrival_s // seconds, 2)
    for which in ("PUT", "GET"):
        for number, name in enumerate(("before", "during", "after")):
            chosen = (op == which) & (phase == number)
            fine = took_s[chosen & ~failed]
            p50, p99, most = np.quantile(fine, [0.5, 0.99, 1.0]) if len(fine) else [np.nan] * 3
            errors = Counter(run.requests.column("error").filter(pa.array(chosen & failed)).to_pylist())
            said = ", ".join(f"{count} x {error}" for error, count in errors.items())
            figures = f"{1000 * p50:10,.0f} {1000 * p99:10,.0f} {1000 * most:10,.0f}"
            yield f"{which:4} {name:7} {int(chosen.sum()):5} {figures}  {said}".rstrip()


def main() -> None:
    """Measure the file systems that are named, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(FILE_SYSTEMS), help="file systems (default: all)")
    parser.add_argument("--only", default="", help="failures whose name has this text (default: all)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each failure lasts (default: 10)")
    parser.add_argument("--predict", action="store_true", help="simulate instead of measuring")
    given = parser.parse_args()
    if given.predict:
        for name in given.names:
            for failure in FAILURES:
                run = predicted(name, failure, given.seconds) if given.only in failure else None
                if run is not None:
                    print(f"{name}, {failure} for {given.seconds:g} s, predicted: requests, p50, p99, max in ms")
                    print("\n".join(rows(run, given.seconds)), flush=True)
        return
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as state:
        os.environ["TAILCAST_STATE"] = state
        try:
            for name in given.names:
                for failure, fail in FAILURES.items():
                    if given.only not in failure:
                        continue
                    fs = lifecycle.up(name, lab.up("minio"), FileSystemForm())
                    if failure != "Redis silent" or fs.form.meta == REDIS:
                        print(f"{name}, {failure} for {given.seconds:g} s: requests, p50, p99, max in ms")
                        print("\n".join(rows(measured(fs, fail, given.seconds), given.seconds)), flush=True)
                    lifecycle.down(name)
        finally:
            lab.down("minio")


if __name__ == "__main__":
    main()
