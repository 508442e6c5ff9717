"""Fields of specs: each is used somewhere, and those that no other test has change what is compiled."""

from __future__ import annotations

import pickle
import re

import pytest

from models.spec.field_paths import paths_of
from models.store import MODULES, compile_spec, load_spec, store_named
from tests.paths import EXAMPLES
from traces.workload.generate import generate

ROOT = EXAMPLES.parent
USED = (
    "examples/**/*.yaml",
    "docs/**/*.md",
    "docs/failures.csv",
    "README.md",
    "validate/reference/**/*.py",
    "benchmarks/**/*.py",
    "tests/**/*.py",
)
PRESETS = ("models/*/presets.py", "models/*/spec/presets.py")

SMALL = ("workload.duration=null", "workload.operations=200")
FILESTORE = "workload.mix={PUT: 1}", "workload.operations=200"
SYSBENCH = "workload.operations=50"
CODED = *SMALL, "ring.erasure={data: 2, parity: 2}", "proxies.concurrent_gets=true"
COMPRESSED = (
    *SMALL, "workload.object_size=1MiB",
    "bluestore.compression={mode: force, sequential: true, compressible: 0.5, ratio: 0.5}",
)  # fmt: skip


@pytest.mark.parametrize("store", MODULES)
def test_each_field_is_in_an_example_a_table_a_benchmark_a_test_or_the_docs(store: str) -> None:
    text = "\n".join(path.read_text() for pattern in (*USED, *PRESETS) for path in sorted(ROOT.glob(pattern)))
    words = set(re.findall(r"\w+", text))
    fields = {path.rpartition(".")[2]: path for path in paths_of(store_named(store).Spec)}
    assert not [path for name, path in fields.items() if name not in words]


@pytest.mark.parametrize(
    ("example", "given", "change"),
    [
        ("ceph/mysql.yaml", [SYSBENCH], "access.range_size=1000"),
        ("ceph/mysql.yaml", [SYSBENCH], "access.double_write=false"),
        ("ceph/filestore-firefly.yaml", FILESTORE, "filestore.journal_header=100000"),
        ("ceph/filestore-firefly.yaml", [*FILESTORE, "workload.keys.count=1000000"], "filestore.metadata_writes=10"),
        ("ceph/nvme-quincy.yaml", COMPRESSED, "bluestore.compression.max_blob_size=12KiB"),
        ("ceph/reshard-stall.yaml", [], "buckets.resharding.aio=2"),
        ("swift/cluster.yaml", CODED, "proxies.concurrent_ec_extra_requests=1"),
        ("bob/cluster.yaml", [*SMALL, "stored.objects=1e7"], "blobs.max_records=10"),
    ],
)  # fmt: skip
def test_a_field_changes_the_model(example: str, given: list[str], change: str) -> None:
    before, after = (load_spec(EXAMPLES / example, [*given, *more]) for more in ([], [change]))
    trace = generate(before.workload, 0)
    unchanged, again, changed = (pickle.dumps(compile_spec(spec, trace)) for spec in (before, before, after))
    assert unchanged == again
    assert unchanged != changed
