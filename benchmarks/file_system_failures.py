"""Latencies of files on a mount of the lab before, during and after a failure.

    python benchmarks/file_system_failures.py juicefs s3fs
    python benchmarks/file_system_failures.py --predict

Starts a MinIO of one drive and each file system on it, in a lab of its own, and writes and reads files of 64 KiB in an
open loop of 20/s while something fails: the store or Redis is silent (SIGSTOP), the store, Redis (with a log that is
written each second) or the mount is killed and started again, or the disk of the cache, a file system of 64 MiB in
memory, is full. Prints a table. With ``--predict``, nothing is started, and the figures are those of a simulation of
the same requests; of a full disk, of one without cache. ``--runs FOLDER`` keeps the Runs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
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


def redis_killed(fs: FileSystem, for_s: float) -> None:
    """Kill Redis, and start it again after a while, with the log that it has kept."""
    (pid,) = fs.running[REDIS]
    command, variables = (
        (Path("/proc") / str(pid) / name).read_bytes().split(b"\0")[:-1] for name in ("cmdline", "environ")
    )
    os.kill(pid, signal.SIGKILL)
    time.sleep(for_s)
    environment = dict(each.split(b"=", 1) for each in variables if b"=" in each)
    with fs.log(REDIS).open("ab") as log:
        subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def cache_full(fs: FileSystem, for_s: float) -> None:
    """Fill the file system of the cache, and remove what fills it after a while."""
    filler = Path(fs.options[_CACHE]) / "filler"
    with filler.open("wb") as file, contextlib.suppress(OSError):  # no space left on device
        while True:
            file.write(b"0" * (1 << 16))
            file.flush()
    time.sleep(for_s)
    filler.unlink()


def mount_killed(fs: FileSystem, for_s: float) -> None:
    """Kill the mount, and start it again after a while."""
    processes.end(processes.marked([fs.mark(MOUNT)])[fs.mark(MOUNT)], 5.0, at_once=True)
    time.sleep(for_s)
    store = lab.status(fs.store)
    assert store is not None
    lifecycle.up(fs.name, store, fs.form, fs.options)


_CACHE = "mount.cache-dir"


@dataclass(frozen=True)
class Failure:
    """A failure of a file system.

    Attributes:
        fail: makes it last for some seconds.
        fault: what the models have of it: the section of the spec, and the kind; None: not a fault.
        sets: or values of the spec instead, for the whole run.
        options: of the file system that is to fail.
        only: the file system that has it; empty: all.
    """

    fail: Callable[[FileSystem, float], None]
    fault: tuple[str, str] | None = None
    sets: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    only: str = ""


FAILURES = {
    "store silent": Failure(partial(store_fault, "paused"), ("below.", "kind: link_down, accepts: true")),
    "store killed": Failure(partial(store_fault, "killed"), ("below.", "kind: host_down")),
    "Redis silent": Failure(partial(silent, REDIS), ("", "kind: metadata_down"), only="juicefs"),
    "Redis killed": Failure(
        redis_killed, ("", "kind: metadata_down"), options={"redis.appendonly": "yes"}, only="juicefs"
    ),
    "cache full": Failure(cache_full, sets=("cache.size=0",), options={_CACHE: ""}, only="juicefs"),
    "cache full, write-back": Failure(
        cache_full, sets=("cache.size=0",), options={_CACHE: "", "mount.writeback": ""}, only="juicefs"
    ),
    "mount killed": Failure(mount_killed, ("", "kind: mount_down")),
}
_EXAMPLES = {"juicefs": ROOT / "examples/juicefs/box.yaml", "s3fs": ROOT / "examples/s3fs/files.yaml"}
_FAST = (
    "workload.rate=20/s", "mounts.count=1", "below.hosts.count=1", "below.drives={count: 1, preset: nvme}",
    "below.hosts.nic=10Gbit/s", "below.client.nic=10Gbit/s",
)  # fmt: skip


@contextlib.contextmanager
def options_of(wanted: Failure) -> Iterator[dict[str, str]]:
    """Yield the options of the file system; a cache of its own is a small file system in memory."""
    if _CACHE not in wanted.options:
        yield dict(wanted.options)
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", folder], check=True)
        try:
            yield {**wanted.options, _CACHE: folder}
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


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


def predicted(name: str, failure: str, seconds: float) -> Run:
    """Return a simulation of the same requests and failure.

    The files that are read are written beforehand, as a replay does, so that caches have them.
    """
    wanted = FAILURES[failure]
    given = [*_FAST, *wanted.sets, *(["below.client.machines=1"] if name == "s3fs" else [])]
    if wanted.fault is not None:
        within, kind = wanted.fault
        given.append(f"{within}faults=[{{{kind}, at: {seconds:g}s, back_at: {2 * seconds:g}s}}]")
    spec = load_spec(_EXAMPLES[name], given)
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
    parser.add_argument("--runs", type=Path, help="folder that keeps the Runs (default: none are kept)")
    parser.add_argument("--predict", action="store_true", help="simulate instead of measuring")
    given = parser.parse_args()
    if given.predict:
        for name in given.names:
            for failure in FAILURES:
                if given.only in failure and FAILURES[failure].only in ("", name):
                    print(f"{name}, {failure} for {given.seconds:g} s, predicted: requests, p50, p99, max in ms")
                    print("\n".join(rows(predicted(name, failure, given.seconds), given.seconds)), flush=True)
        return
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as state:
        os.environ["TAILCAST_STATE"] = state
        try:
            for name in given.names:
                for failure, wanted in FAILURES.items():
                    if given.only not in failure or wanted.only not in ("", name):
                        continue
                    with options_of(wanted) as options:
                        fs = lifecycle.up(name, lab.up("minio"), FileSystemForm(), options)
                        print(f"{name}, {failure} for {given.seconds:g} s: requests, p50, p99, max in ms")
                        run = measured(fs, wanted.fail, given.seconds)
                        print("\n".join(rows(run, given.seconds)), flush=True)
                        if given.runs:
                            run.write(given.runs / f"{name}-{failure}".replace(" ", "-").replace(",", ""))
                        lifecycle.down(name)
        finally:
            lab.down("minio")


if __name__ == "__main__":
    main()
