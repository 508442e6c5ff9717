"""Fingerprints of results, which show whether a change of the code leaves every result bit-identical.

    python benchmarks/fingerprints.py -o before.json                 # then change the code
    python benchmarks/fingerprints.py -o after.json
    python benchmarks/fingerprints.py --compare before.json after.json [--numbers]
    python benchmarks/fingerprints.py --list ; python benchmarks/fingerprints.py --only trace

Commands of `tailcast` run on all examples, on the sample logs of the tests and on the recorded Runs. Each of these
cases gives two hashes: of its numbers (with true, false and null) and of its texts, in the order in which they stand in
the JSON that is printed and in the columns of the tables that are written. Names of fields, of files and of columns are
not hashed, so they may change. Nor are times that something took, versions, and paths of inputs. Pages, tables for
people, and all that asks a live store are left out. The code is whatever Python imports (PYTHONPATH), the examples and
samples are those of --root; but `reference run` takes the examples that belong to the code. Cases keep their names when
a command is spelt anew, so that results of an old commit, made with its own copy of this script, can be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
NUMBERS, TEXTS = "numbers", "texts"
FAILED = "failed: "

LEFT_OUT = re.compile(r"(^|_)(wall|elapsed|versions?|environment|created|tailcast|spec_hash|made)(_|$)")
"""JSON fields that differ between runs, machines or commits."""
INPUTS = {"examples": "examples", "samples": "tests/samples"}
"""Folders of the project as named in commands, and their paths below the root."""
ALONE = ("whatif", "find", "sensitivity", "failures", "timeline", "plan", "calibrate", "validate", "reference")
"""Commands that would use all cores: each gets one worker, because cases run in parallel."""


@dataclass(frozen=True)
class Case:
    """Commands that run one after the other in a folder of their own.

    Attributes:
        name: of the results.
        commands: as in a shell, without `tailcast` and `--json`; the last may use what those before it have written.
    """

    name: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """What is simulated of a spec beyond its own workload.

    Attributes:
        shorter: settings that make its own simulation take a second at most.
        few: settings for some hundred requests, for the engine that is slow.
        other: settings that make a closed loop of its open one, or an open loop of its closed one.
    """

    shorter: str = ""
    few: str = "workload.operations=300"
    other: str = "workload.rate=300/s workload.duration=null workload.operations=3000"


UNIFORM = "workload.keys={kind: uniform, count: 500}"
EXAMPLES: Mapping[str, Example] = {
    "minio-12-hdd": Example(
        shorter="workload.duration=30s", other="workload.rate=null workload.clients=12 workload.duration=20s"
    ),
    "minio-erasure-set": Example(other="workload.rate=150/s workload.duration=20s"),
    "demo/minio": Example(other="workload.rate=700/s"),
    "reference/minio-hdd-s3bench": Example(
        few="workload.operations=60", other=f"'{UNIFORM}' workload.rate=20/s workload.operations=1000"
    ),
    "reference/minio-s3bench": Example(other=f"'{UNIFORM}' workload.rate=1500/s workload.operations=3000"),
    "reference/minio-s3bench-tail": Example(other=f"'{UNIFORM}' workload.rate=500/s workload.operations=3000"),
    "ceph/billion-objects": Example(
        shorter="workload.operations=5000", other=f"'{UNIFORM}' workload.rate=3000/s workload.operations=3000"
    ),
    "ceph/mysql": Example(shorter="workload.operations=20000"),
    "ceph/nvme-quincy": Example(
        shorter="workload.operations=30000", other="workload.rate=60000/s workload.operations=5000"
    ),
    "ceph/osd-down": Example(few="workload.duration=12s", other="workload.rate=150/s"),
    "ceph/redhat-112-hdd": Example(shorter="workload.operations=5000"),
    "ceph/radosbench": Example(shorter="workload.operations=8000"),
    "ceph/rbd-fio": Example(
        shorter="workload.operations=20000", other="workload.rate=50000/s workload.operations=10000"
    ),
    "minio-two-groups": Example(
        shorter="workload.duration=20s",
        few="workload.duration=3s",
        other="workload.duration=20s workload.groups.backup.rate=5/s",
    ),
    "ceph/two-groups": Example(
        shorter="workload.duration=5s",
        few="workload.duration=1s",
        other="workload.duration=5s workload.groups.backup.rate=20/s",
    ),
    "ceph/reshard-stall": Example(few="workload.duration=11s", other="workload.rate=60/s"),
}
"""By file below examples/, without its ending; a spec that is not here is simulated as it stands."""

POLICIES: Mapping[str, str] = {
    "hedge after p95": "client.hedge.after=p95",
    "hedge all after a delay": "client.hedge.after=2ms client.hedge.budget=null client.hedge.operations=[GET,PUT]",
    "tied": "client.hedge.after=0s client.hedge.budget=null",
    "hedge without cancelling": "client.hedge.after=p90 client.hedge.cancel=false client.hedge.budget=0.3",
    "timeout and retries": "client.timeout=50ms client.retry.retries=2",
    "all policies": (
        "client.timeout=20ms client.retry.retries=3 client.retry.backoff=5ms client.retry.budget=0.2 "
        "client.retry.jitter=0.5 client.hedge.after=p95 client.hedge.operations=[GET,PUT]"
    ),
}
POLICIES_ON: Mapping[str, str] = {
    "minio": "workload.clients=24 workload.duration=5s",
    "minio-erasure-set": "workload.clients=24 workload.duration=5s",
    "minio-12-hdd": "workload.duration=20s",
    "ceph/osd-down": "gateways.count=2 gateways.collocated=false workload.clients=12",
    "ceph/nvme-quincy": "workload.operations=5000 workload.clients=2000 'workload.mix={GET: 70, PUT: 30}'",
    "ceph/redhat-112-hdd": "workload.operations=2000 'workload.mix={GET: 70, PUT: 30}'",
}

MIXED = "'workload.mix={GET: 50, PUT: 25, HEAD: 10, DELETE: 10, LIST: 5}'"
ODD_SIZES = "'workload.object_size={kind: lognormal, mean: 3MiB, cv: 2, max: 40MiB}'"
MINIO_VARIANTS: Mapping[str, str] = {
    "32 clients, 1 MiB": "workload.clients=32 workload.object_size=1MiB workload.duration=3s",
    "mixed, lognormal sizes": f"{MIXED} {ODD_SIZES} workload.duration=5s",
    "four servers": "drives.count=4 hosts.processes=4 hosts.internode.call.constant=0.1ms workload.duration=5s",
    "four servers, locks": (
        "drives.count=4 hosts.processes=4 hosts.internode.call.constant=0.1ms hosts.internode.latency=0.05ms "
        "hosts.internode.lock_conflict_fraction=0.3 'workload.mix={GET: 50, PUT: 50}' workload.duration=5s"
    ),
    "profile": "workload.duration=5s",
    "zipf, bursts": (
        "workload.rate=300/s 'workload.keys={kind: zipf, count: 300, exponent: 0.9}' workload.duration=20s "
        "'workload.arrivals={kind: mmpp2, burst_factor: 3, burst_fraction: 0.1, burst_duration: 1s}'"
    ),
    "constant arrivals, sequential keys": (
        "workload.rate=300/s workload.arrivals=constant workload.duration=5s "
        "'workload.keys={kind: sequential, count: 300}'"
    ),
    "ranges and think time": (
        "'workload.ranges={fraction: 0.5, size: 16KiB}' workload.object_size=512KiB workload.duration=10s "
        "'workload.think_time={mean: 5ms, distribution: exponential}' workload.stagger=2ms"
    ),
    "own machine, bandwidth, wake": (
        "client.placement=own network.bandwidth=100MB/s hosts.setup_time=0.05ms workload.clients=32 "
        "workload.duration=5s"
    ),
    "in order of age": "hosts.age_bias=1 hosts.quantum=0.5ms workload.clients=32 workload.duration=5s",
    "neighbour": (
        "workload.rate=200/s workload.duration=10s "
        "'faults=[{kind: noisy_neighbour, at: 3s, until: 6s, resource: cpu, fraction: 0.4}]'"
    ),
}
CEPH_VARIANTS: Mapping[str, str] = {
    "mixed": f"{MIXED} workload.operations=3000",
    "mixed, large objects": f"{MIXED} {ODD_SIZES} workload.operations=2000",
    "fast_read, tls": "pools.fast_read=true gateways.tls=true 'workload.mix={GET: 1}' workload.operations=3000",
    "own gateways, power of two": (
        f"gateways.collocated=false gateways.balance=power_of_two {MIXED} workload.operations=3000"
    ),
    "own gateways, least outstanding": (
        f"gateways.collocated=false gateways.balance=least_outstanding {MIXED} workload.operations=3000"
    ),
    "own gateways, random, civetweb": (
        "gateways.collocated=false gateways.balance=random gateways.frontend=civetweb gateways.threads=4 "
        "workload.operations=3000"
    ),
    "refused by a short queue": (
        "gateways.max_requests=3 gateways.queue=2 workload.clients=120 client.retry.retries=3 workload.operations=3000"
    ),
    "replicas on flash, quincy": f"release=quincy device=nvme pools.data='replica 3' {MIXED} workload.operations=5000",
    "no block.db": f"db=null {MIXED} workload.operations=2000",
    "filled and warm": (
        f"stored.objects=2.5e8 osd.cache.hit_ratio=0.3 stored.churn=0.2 {MIXED} workload.operations=3000"
    ),
    "tentacle, compressed": (
        "release=tentacle 'bluestore.compression={algorithm: snappy, compressible: 0.6, ratio: 0.5, "
        f"compress: 265MB/s, decompress: 765MB/s}}' {MIXED} workload.operations=3000"
    ),
    "filestore": f"osd.backend=filestore release=jewel db=null {MIXED} workload.operations=2000",
}
HDD_EVENTS: Mapping[str, str] = {
    "drive down": "{kind: drive_down, drive: 0, at: 8s, back_at: 16s, detected_after: 2s}",
    "host down": "{kind: host_down, at: 8s, back_at: 10s}",
    "slow drive, neighbour": (
        "{kind: slow_drive, drive: 1, at: 5s, until: 15s, speed: 0.2}, "
        "{kind: noisy_neighbour, at: 10s, until: 18s, resource: network, fraction: 0.5}"
    ),
    "two drives down": "{kind: drive_down, drive: 0, at: 5s}, {kind: drive_down, drive: 3, at: 9s, back_at: 15s}",
}
OSD_EVENTS: Mapping[str, str] = {
    "host down": "{kind: host_down, host: 1, at: 5s, back_at: 12s}",
    "gateway down": "{kind: gateway_down, gateway: 1, at: 5s, back_at: 12s}",
    "hangs": "{kind: osd_down, osd: 2, at: 5s, back_at: 15s, detected_by: heartbeat, grace: 3s}",
    "slow drive, neighbour": (
        "{kind: slow_drive, osd: 1, at: 5s, until: 15s, speed: 0.2}, "
        "{kind: noisy_neighbour, host: 2, at: 8s, until: 14s, fraction: 0.5}"
    ),
    "reshard": "{kind: reshard, at: 5s, entries: 20000, shards: 29}",
}


def examples_of(root: Path) -> list[str]:
    """The specs below examples/ that have a store and a workload; their paths there, without the ending."""
    folder = root / "examples"
    whole = [path for path in sorted(folder.rglob("*.yaml")) if _is_spec(path.read_text(encoding="utf-8"))]
    return [path.relative_to(folder).with_suffix("").as_posix() for path in whole]


def cases_of(root: Path) -> list[Case]:
    """All cases, those that take longest first."""
    specs = examples_of(root)
    return [
        *question_cases(),
        *measured_cases(root),
        *[case for name in specs for case in example_cases(name)],
        *[variant("minio", what, settings) for what, settings in MINIO_VARIANTS.items()],
        *[variant("ceph/redhat-112-hdd", what, settings) for what, settings in CEPH_VARIANTS.items()],
        *policy_cases(),
        *event_cases(),
        *trace_cases(root),
    ]


def example_cases(name: str) -> Iterator[Case]:
    """A spec as it stands (or shorter), with the other loop, by the other engine, and its bounds."""
    example = EXAMPLES.get(name, Example())
    few = " ".join(part for part in (example.shorter, example.few) if part)
    yield variant(name, "", example.shorter)
    yield variant(name, "other loop", example.other)
    yield variant(name, "simpy", few, "--engine simpy")
    yield Case(f"bounds {name}", (f"bounds examples/{name}.yaml --seed 1",))


def variant(name: str, what: str, settings: str, options: str = "") -> Case:
    """A Run of a spec with settings, simulated and written."""
    words = ["simulate", f"examples/{name}.yaml", "--seed", "1", "--out", "run", *shlex.split(options)]
    words += [word for setting in shlex.split(settings) for word in ("--set", setting)]
    if what == "profile":
        words += ["--profile", "examples/recorded/profile.yaml"]
    return Case(f"simulate {name}{', ' if what else ''}{what}", (shlex.join(words),))


def policy_cases() -> Iterator[Case]:
    """Hedged, tied and retried requests, on several stores; on the smallest by both engines."""
    for name, load in POLICIES_ON.items():
        for what, settings in POLICIES.items():
            yield variant(name, what, f"{load} {settings}")
    for what, settings in POLICIES.items():
        few = f"workload.clients=24 workload.duration=5s workload.operations=600 {settings}"
        yield variant("minio", f"{what}, simpy", few, "--engine simpy")


def event_cases() -> Iterator[Case]:
    """What happens to stores while they run, by both engines."""
    for engine, option in (("", ""), (", simpy", "--engine simpy")):
        for what, events in HDD_EVENTS.items():
            settings = f"workload.duration=20s workload.rate=30/s client.timeout=2s 'faults=[{events}]'"
            yield variant("minio-12-hdd", f"{what}{engine}", settings, option)
        for what, events in OSD_EVENTS.items():
            cluster = "hosts.count=4 hosts.drives=2 gateways.count=2 gateways.collocated=false workload.rate=60/s"
            settings = f"{cluster} workload.duration=20s client.retry.retries=2 'faults=[{events}]'"
            yield variant("ceph/osd-down", f"{what}{engine}", settings, option)


def question_cases() -> Iterator[Case]:
    """Replications, timelines, what-ifs, searches, failures and plans."""
    minio, hdd = "examples/minio.yaml", "examples/ceph/redhat-112-hdd.yaml"
    billion = "examples/ceph/billion-objects.yaml"
    for name in ("ceph-nvme-quincy", "ceph-redhat-rgw", "minio-s3bench", "minio-s3bench-tail", "minio-hdd-s3bench"):
        yield Case(f"reference {name}", (f"reference run {name}",))
    for name in ("resharding", "compression", "filestore", "billion"):
        yield Case(f"reference ceph-redhat-{name}", (f"reference run ceph-redhat-{name}",))
    yield Case("reference ceph-resharding-2026", ("reference run ceph-resharding-2026",))
    commands = {
        "plan billion-objects": f"plan {billion} --growth growth.yaml --slo 'PUT.throughput>3000/s' --window 0.1s "
        "--replications 2",
        "plan tutorial": "plan site.yaml --growth examples/tutorial/growth.yaml --slo 'GET.p99<50ms' --window 0.5s",
        "replications": f"simulate {minio} --set workload.duration=2s --replications 6 --workers 2",
        "precision, steady": f"simulate {minio} --set workload.duration=3s --precision 0.1 --steady",
        "timeline billion-objects": f"timeline {billion} --objects 1e6..1e9 --states 4 --window 0.5s",
        "timeline redhat-112-hdd": f"timeline {hdd} --objects 1e6..2e8 --states 3 --window 1s "
        "--spacing linear --set buckets.resharding.dynamic=true --set 'workload.mix={PUT: 1, GET: 1}'",
        "whatif vary": f"whatif {hdd} --vary gateways.count=7,14 --vary buckets.shards=16,128 "
        "--set workload.operations=1000 --slo 'PUT.p99<100ms' --replications 3",
        "whatif vary, prices": f"whatif {billion} --vary gateways.count=7,14 --vary gateways.cores=4,6 "
        "--set workload.operations=1000 --slo 'PUT.p99<100ms' --replications 2",
        "whatif vary, two workers": f"whatif {minio} --vary hosts.cores.count=2,4 --vary client.hedge.after=none,p95 "
        "--set workload.duration=2s --slo 'GET.p99<10ms' --replications 3 --workers 2",
        "whatif samples": f"whatif {minio} --vary workload.clients=1..32 --vary network.latency=0.05ms..0.3ms "
        "--samples 6 --set workload.duration=1s --slo 'GET.p99<10ms' --precision 0.3 --steady",
        "whatif find max": f"find {minio} 'max workload.rate in 50..2000' --set workload.duration=2s "
        "--slo 'GET.p99<20ms'",
        "whatif find min": f"find {hdd} 'min gateways.cores in 1..8' --set workload.operations=1000 "
        "--slo 'PUT.p99<60ms' --replications 3",
        "whatif find best": f"find {minio} 'best client.hedge.after in 0.5ms..20ms' --set workload.duration=2s "
        "--target GET.p99 --extra-load 0.05",
        "whatif sensitivity": f"sensitivity {minio} --vary workload.clients=2..32 --vary "
        "hosts.cpu.GET.constant=0.2ms..0.8ms --vary network.latency=0.05ms..0.3ms --target GET.p99 --trajectories 4 "
        "--set workload.duration=1s --replications 3",
        "whatif failure minio": "failures examples/minio-12-hdd.yaml drive slow-drive=3 "
        "noisy-neighbour:drives=0.3 host --slo 'GET.p99<100ms' --set workload.duration=30s --replications 3",
        "whatif failure ceph": "failures examples/ceph/osd-down.yaml drive gateway:1 noisy-neighbour:cpu=0.5 "
        "--set faults=[] --set gateways.count=2 --set gateways.collocated=false --set workload.duration=20s "
        "--slo 'GET.p99<100ms' --replications 3",
    }  # fmt: skip
    for name, command in commands.items():
        yield Case(name, (command,))


def measured_cases(root: Path) -> Iterator[Case]:
    """The recorded Runs: fits to some, forecasts and comparisons of others, and what all of them asked for."""
    recorded, demo = "examples/recorded", "examples/demo"
    again = f"{recorded}/mix-32KiB-c16 {recorded}/mix-32KiB-c16-again"
    fits = {
        "demo": f"{demo}/minio.yaml {recorded}/PUT-4KiB-c1 {recorded}/GET-4KiB-c1",
        "with fixed values": f"examples/minio.yaml {recorded}/GET-1MiB-c1 {recorded}/GET-4KiB-c4 --fix client "
        "--fix drives",
        "with a further one": f"{demo}/minio.yaml {recorded}/PUT-4KiB-c4 --parameter hosts.after_commit=0.05..0.9",
    }
    for what, command in fits.items():
        yield Case(f"calibrate {what}", (f"calibrate {command} --anyway",))
    yield Case(
        "validate recorded",
        (f"validate examples/minio.yaml --profile {recorded}/profile.yaml {again} {recorded}/GET-32KiB-c16 --seeds 2",),
    )
    yield Case("validate demo", (f"validate {demo}/minio.yaml {demo} --seeds 2",))
    yield Case("compare repetitions", (f"compare {again}",))
    yield Case(
        "compare forecast",
        (
            f"simulate {demo}/minio.yaml --seed 3 --out forecast",
            f"compare forecast {demo}/measured-16 --seed 3",
            "compare forecast forecast --tolerance 0.05",
        ),
    )
    yield Case(
        "forecast of a recorded trace",
        (
            f"simulate examples/minio.yaml --profile {recorded}/profile.yaml --trace {recorded}/PUT-32KiB-c16/"
            "trace.parquet --out forecast",
            f"compare forecast {recorded}/PUT-32KiB-c16",
        ),
    )
    for path in sorted((root / "examples").rglob("run.json")):
        folder = path.parent.relative_to(root).as_posix()
        yield Case(f"trace info {folder.removeprefix('examples/')}", (f"trace info {folder}",))
    yield Case("trace fit recorded", (f"trace fit {recorded}/mix-32KiB-c16",))


def trace_cases(root: Path) -> Iterator[Case]:
    """Traces that are generated, imported from every sample log, fitted, changed and exported."""
    web, log = "trace generate examples/workload.yaml", "examples/tutorial/rgw-ops.json.gz"
    short = f"{web} --set workload.duration=20s"
    for seed in (0, 1):
        yield Case(f"trace generate, seed {seed}", (f"{web} --seed {seed} -o a.parquet", "trace info a.parquet"))
    for kind in (
        "{kind: diurnal, amplitude: 0.5, period: 10s}",
        "{kind: profile, steps: [{duration: 5s, level: 1}, {duration: 5s, level: 4}]}",
    ):
        yield Case(f"trace generate, {kind}", (f"{short} --set 'workload.arrivals={kind}' -o trace.csv",))
    changes = {
        "cut": "cut a.parquet --from 5s --to 15s -o b.parquet",
        "scale up": "scale a.parquet --rate 2 --seed 3 -o b.parquet",
        "scale down": "scale a.parquet --rate 0.4 --seed 3 -o b.parquet",
        "compress": "scale a.parquet --rate 2 --how compress -o b.parquet",
        "sample": "sample a.parquet --keys 0.2 -o b.parquet",
        "merge": "merge a.parquet samples/tailcast-trace.csv -o b.parquet",
        "fit": "fit a.parquet --spec examples/minio.yaml --set workload.duration=5s",
    }
    for what, command in changes.items():
        yield Case(f"trace {what}", (f"{short} --seed 2 -o a.parquet", f"trace {command}"))
    yield Case("trace fit sample", ("trace fit samples/tailcast-trace.csv",))
    for ending in ("csv", "csv.zst", "hgrm"):
        yield Case(f"trace export {ending}", (f"trace export examples/demo/measured-16 -o measured.{ending}",))
    samples = [path for path in sorted((root / "tests/samples").iterdir()) if path.is_file() and path.suffix != ".md"]
    for path in samples:
        yield Case(f"trace import {path.name}", (f"trace import samples/{path.name} -o site.parquet",))
    logs = " ".join(f"samples/{path.name}" for path in samples if path.name.startswith(("rgw-ops-log-e2e", "s3-")))
    yield Case("trace import merged", (f"trace import {logs} -o site.parquet",))
    options = "--anonymise --salt grain --spread --seed 5"
    yield Case("trace import anonymised", (f"trace import {logs} {options} -o site.parquet",))
    yield Case(
        "tutorial",
        (
            f"trace import {log} -o site.parquet",
            "trace fit site.run",
            "simulate examples/tutorial/cluster.yaml --trace site.parquet --out today",
            "compare today site.run",
            "trace scale site.parquet --rate 2 -o double.parquet",
            "simulate examples/tutorial/cluster.yaml --trace double.parquet --set client.hedge.after=p95 --out doubled",
        ),
    )


@dataclass
class Hashes:
    """What a case gave: its numbers and its texts, each as a hash of all in order."""

    numbers: Any
    texts: Any

    @staticmethod
    def empty() -> Hashes:
        """Of nothing yet."""
        return Hashes(hashlib.sha256(), hashlib.sha256())

    def add_json(self, value: Any) -> None:
        """All leaves of a document in its order."""
        for leaf in leaves(value):
            if not isinstance(leaf, str):
                self.numbers.update(f"{_number(leaf)}\n".encode())
            elif not leaf.startswith(tuple(f"{folder}/" for folder in INPUTS)):
                self.texts.update(f"{json.dumps(leaf)}\n".encode())

    def add_files(self, folder: Path) -> None:
        """All tables in a folder, in the order of what is in them, as their names may change."""
        found = [table_hashes(path) for path in _files(folder)]
        self.numbers.update(f"{len(found)} tables\n".encode())
        self.numbers.update("\n".join(sorted(numbers for numbers, _ in found)).encode())
        self.texts.update("\n".join(sorted(texts for _, texts in found)).encode())

    def to_json(self) -> dict[str, str]:
        """Both, by name."""
        return {NUMBERS: self.numbers.hexdigest(), TEXTS: self.texts.hexdigest()}


def leaves(value: Any) -> Iterator[Any]:
    """The numbers, texts and nulls of a JSON document in its order, without those that are `LEFT_OUT`."""
    if isinstance(value, dict):
        for name, part in value.items():
            if not LEFT_OUT.search(name):
                yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def table_hashes(path: Path) -> tuple[str, str]:
    """The hashes of the numbers and of the texts of a written table: parquet, or text without its head."""
    numbers, texts = hashlib.sha256(), hashlib.sha256()
    if path.suffix != ".parquet":
        with pa.input_stream(str(path), compression="detect") as stream:
            lines = [line for line in stream.read().decode().splitlines() if not line.startswith("#")]
        numbers.update("\n".join(lines[1:]).encode())
        return numbers.hexdigest(), texts.hexdigest()
    for column in pq.read_table(path).columns:
        values = column.combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            texts.update(json.dumps(values.to_pylist()).encode())
        else:
            numbers.update(_bytes(values))
    return numbers.hexdigest(), texts.hexdigest()


def fingerprint(case: Case, root: Path) -> dict[str, str]:
    """Run a case and hash what it gives; where it cannot run, why."""
    hashes, before = Hashes.empty(), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fingerprints-") as name:
        for link, target in INPUTS.items():
            Path(name, link).symlink_to(root / target, target_is_directory=True)
        os.chdir(name)
        try:
            write_inputs(root)
            for command in case.commands:
                hashes.add_json(json.loads(output_of(command)))
            hashes.add_files(Path())
        except Exception as error:  # the other cases are to go on
            why = f"{FAILED}{type(error).__name__}: {error}"
            return {NUMBERS: why, TEXTS: why}
        finally:
            os.chdir(before)
    return hashes.to_json()


def write_inputs(root: Path) -> None:
    """What commands need beyond the project's files: `site.yaml`, the tutorial's cluster with a workload like the one
    that is learned there from a log, and `growth.yaml`, a short growth of the example's.
    """
    growth = (root / "examples/ceph/growth.yaml").read_text(encoding="utf-8")
    growth = re.sub(r"^months:.*", "months: 12", growth, flags=re.MULTILINE)
    growth = re.sub(r"^scenarios:.*", "scenarios: 3", growth, flags=re.MULTILINE)
    Path("growth.yaml").write_text(growth, encoding="utf-8")
    cluster = (root / "examples/tutorial/cluster.yaml").read_text(encoding="utf-8")
    workload = {
        "rate": "290/s",
        "duration": "12s",
        "mix": {"GET": 74, "PUT": 20, "HEAD": 4, "DELETE": 2},
        "object_size": {"kind": "lognormal", "mean": "500KiB", "cv": 1.2, "max": "16MiB"},
        "keys": {"kind": "zipf", "count": 3000, "exponent": 0.8},
        "buckets": 2,
    }
    Path("site.yaml").write_text(f"{cluster}\nworkload: {json.dumps(workload)}\n", encoding="utf-8")


def output_of(command: str) -> str:
    """What `tailcast` prints for a command with `--json`.

    Raises:
        RuntimeError: its exit code is not 0; with the last line that it says.
    """
    words = [*shlex.split(command), "--json"]
    if any(word in words for word in ALONE) and "--workers" not in words:
        words += ["--workers", "1"]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            importlib.import_module("cli.main").main(words)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
    if code:
        said = err.getvalue().strip().splitlines() or [""]
        raise RuntimeError(f"exit code {code}: {said[-1]}")
    return out.getvalue()


def compute(cases: Sequence[Case], root: Path, workers: int) -> dict[str, str]:
    """The hashes of all cases by name; progress on stderr."""
    begun_s = time.perf_counter()
    found: dict[str, dict[str, str]] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        # The first simulation compiles the engine where that has not been done: once, not in each process.
        code = pool.submit(_warm_up, root).result()
        print(f"code: {code}; examples and samples: {root}", file=sys.stderr)
        waiting = {pool.submit(_timed, case, root): case for case in cases}
        for done, future in enumerate(as_completed(waiting), 1):
            case, (took_s, result) = waiting[future], future.result()
            found[case.name] = result
            word = result[NUMBERS] if result[NUMBERS].startswith(FAILED) else ""
            print(f"{done:4}/{len(cases)} {took_s:6.1f} s  {case.name}  {word}", file=sys.stderr, flush=True)
    print(f"{len(cases)} cases in {time.perf_counter() - begun_s:.0f} s", file=sys.stderr)
    return {f"{case.name}: {part}": found[case.name][part] for case in cases for part in (NUMBERS, TEXTS)}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """A line for each result that is not the same in both, not in both, or failed."""
    lines = []
    for name in dict.fromkeys([*before, *after]):
        if name not in after or name not in before:
            lines.append(f"only {'before' if name in before else 'after'}: {name}")
        elif failed := [value for value in (before[name], after[name]) if value.startswith(FAILED)]:
            lines.append(f"{name}: {failed[-1]}")
        elif before[name] != after[name]:
            lines.append(f"differs: {name}")
    return lines


def main() -> int:
    """Compute, or compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, help="JSON file of the hashes (default: none)")
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar="FILE",
        help="compare two such files and print the differences (default: none)",
    )
    parser.add_argument("--numbers", action="store_true", help="with --compare: ignore differences in texts")
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="source tree with the examples and samples (default: this one)"
    )
    parser.add_argument("--only", metavar="REGEX", default="", help="run only cases whose name matches (default: all)")
    parser.add_argument("--list", action="store_true", help="print the cases and their commands without running them")
    parser.add_argument(
        "--workers",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="number of parallel cases (default: one per core)",
    )
    given = parser.parse_args()
    if given.compare:
        kept = [_read(path, given.numbers) for path in given.compare]
        lines = differences(*kept)
        print(*lines, f"{len(kept[0])} and {len(kept[1])} results, {len(lines)} differ", sep="\n")
        return 1 if lines else 0
    root = given.root.resolve()
    cases = [case for case in cases_of(root) if re.search(given.only, case.name)]
    if given.list:
        for case in cases:
            print(case.name, *case.commands, sep="\n    ")
        return 0
    results = compute(cases, root, given.workers)
    for name, value in results.items():
        print(f"{value}  {name}")
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(value.startswith(FAILED) for value in results.values()) else 0


def _is_spec(text: str) -> bool:
    return all(re.search(rf"^{section}:", text, re.MULTILINE) for section in ("store", "workload"))


def _number(value: Any) -> str:
    """One text for 1 and 1.0; true, false and null as in JSON."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


def _bytes(values: pa.Array) -> bytes:
    """A column of numbers: which of them are null, and the others in 8 bytes each."""
    wide = pa.int64() if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type) else pa.float64()
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    present = values.drop_null().cast(wide).to_numpy(zero_copy_only=False)
    return np.packbits(valid).tobytes() + bytes(present.tobytes())


def _files(folder: Path) -> Iterator[Path]:
    """Tables that were written in a folder, not those that it links to."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        elif path.name.endswith((".parquet", ".csv", ".csv.zst", ".hgrm")):
            yield path


def _warm_up(root: Path) -> str:
    """Compile the engine; the folder that the code is in."""
    code = importlib.import_module("cli.main").__file__
    output_of(f"simulate {shlex.quote(str(root / 'examples/minio.yaml'))} --set workload.operations=10")
    return str(Path(str(code)).parent.parent)


def _timed(case: Case, root: Path) -> tuple[float, dict[str, str]]:
    begun_s = time.perf_counter()
    result = fingerprint(case, root)
    return time.perf_counter() - begun_s, result


def _read(path: Path, only_numbers: bool) -> dict[str, str]:
    results: dict[str, str] = json.loads(path.read_text())
    return {name: value for name, value in results.items() if not (only_numbers and name.endswith(f": {TEXTS}"))}


if __name__ == "__main__":
    sys.exit(main())
