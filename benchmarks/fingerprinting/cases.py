"""Cases of fingerprints: commands of `tailcast` on examples, sample logs and recorded Runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fingerprinting.settings import (
    CEPH_VARIANTS,
    EXAMPLES,
    HDD_EVENTS,
    MINIO_VARIANTS,
    OSD_EVENTS,
    POLICIES,
    POLICIES_ON,
    Example,
)


@dataclass(frozen=True)
class Case:
    """Commands that run one after the other in a folder of their own.

    Attributes:
        name: of the results.
        commands: as in a shell, without `tailcast` and `--json`; the last may use what those before it have written.
    """

    name: str
    commands: tuple[str, ...]


def examples_of(root: Path) -> list[str]:
    """The specs below examples/ that have a store and a workload; their paths there, without the ending.

    Campaigns have both sections, too, but of stores of the lab.
    """
    folder = root / "examples"
    files = [path for path in sorted(folder.rglob("*.yaml")) if path.parent.name != "campaigns"]
    whole = [path for path in files if _is_spec(path.read_text(encoding="utf-8"))]
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


def _is_spec(text: str) -> bool:
    return all(re.search(rf"^{section}:", text, re.MULTILINE) for section in ("store", "workload"))
