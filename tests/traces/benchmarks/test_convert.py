from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from traces.benchmarks.convert import convert
from traces.benchmarks.converted import Converted
from traces.errors import InputError
from traces.spec.spec_file import validated
from traces.workload.generate import generate
from traces.workload.sizes import SizeDistribution
from traces.workload.workload import Workload

COSBENCH = """<?xml version="1.0" encoding="UTF-8" ?>
<workload name="s" description="d">
  <storage type="s3" config="accesskey=<accesskey>;secretkey=TOP-SECRET;endpoint=http://h" />
  <workflow>
    <workstage name="init"><work type="init" workers="1" config="cprefix=p;containers=r(1,2)" /></workstage>
    <workstage name="prepare">
      <work type="prepare" workers="1" config="cprefix=p;containers=r(1,2);objects=r(1,10);sizes=c(64)KB" />
    </workstage>
    <workstage name="main">
      <work name="main" workers="8" MORE>
        <operation type="read" ratio="80" config="cprefix=p;containers=u(1,2);objects=u(1,10)" />
        <operation type="write" ratio="20" config="cprefix=p;containers=u(1,2);objects=WRITE" />
      </work>
    </workstage>
    <workstage name="cleanup"><work type="cleanup" workers="1" config="containers=r(1,2);objects=r(1,20)" /></workstage>
  </workflow>
</workload>
"""
WARP = """
warp:
  api: v1
  benchmark: {benchmark}
  remote: {{access-key: AK, secret-key: TOP-SECRET, host: [h1, h2]}}
  params:
    duration: 1m30s
    concurrent: 8
    {params}
  io: {{prefix: }}
  analyze: {{verbose: true}}
"""
GOSBENCH = """---
s3_config: [{access_key: a, secret_key: TOP-SECRET}]
tests:
  - name: one
    read_weight: 20
    write_weight: 80
    objects: {size_min: 5, size_max: 100, size_distribution: random, unit: KB, number_min: 10, number_max: 10,
              number_distribution: constant}
    buckets: {number_min: 3, number_max: 10, number_distribution: constant}
    stop_with_runtime:
    stop_with_ops: 50
    workers: 2
    workers_share_buckets: True
    parallel_clients: 3
  - name: two
    list_weight: 1
    objects: {size_min: 1, size_max: 1, size_distribution: constant, unit: M, number_min: 10, number_max: 30,
              number_distribution: random}
    buckets: {number_min: 1, number_max: 1, number_distribution: constant}
    stop_with_runtime: 1m
    workers: 1
    parallel_clients: 1
...
"""


def converted(tmp_path: Path, text: str, name: str = "d.yml", **options: Any) -> Converted:
    path = tmp_path / name
    path.write_text(text)
    found = convert(path, **options)
    assert "SECRET" not in repr(found)
    assert len(generate(validated(Workload, found.fields, "w"), 1)) > 0
    return found


def cosbench(
    tmp_path: Path, more: str = 'runtime="30"', write: str = "u(11,20);sizes=c(32)KB", **options: Any
) -> Converted:
    return converted(tmp_path, COSBENCH.replace("MORE", more).replace("WRITE", write), "d.xml", **options)


def warp(tmp_path: Path, benchmark: str, params: str = "") -> Converted:
    return converted(tmp_path, WARP.format(benchmark=benchmark, params=params))


def mean(sizes: Any) -> float:
    quantiles: Any = TypeAdapter(SizeDistribution).validate_python(sizes)
    return float(quantiles.quantile((np.arange(10_000) + 0.5) / 10_000).mean())


def test_cosbench_reads_what_is_prepared_and_writes_apart(tmp_path: Path) -> None:
    found = cosbench(tmp_path)
    assert (found.tool, found.part, found.notes) == ("COSBench", "main", ())
    assert found.fields == {
        "clients": 8,
        "duration": 30.0,
        "mix": {"GET": 0.8, "PUT": 0.2},
        "object_size": {"kind": "fixed", "size": 64_000},  # 1000-based
        "keys": {"kind": "uniform", "count": 20},
        "own_objects": {
            "PUT": {"object_size": {"kind": "fixed", "size": 32_000}, "keys": {"kind": "uniform", "count": 20}}
        },
        "buckets": 2,
    }


def test_cosbench_writes_of_the_same_objects_share_them(tmp_path: Path) -> None:
    assert "own_objects" not in cosbench(tmp_path, write="u(1,10);sizes=c(64)KB").fields
    overlapping = cosbench(tmp_path, write="u(5,20);sizes=c(64)KB")
    assert "own_objects" in overlapping.fields
    assert "PUT" in overlapping.notes[0] and "GET" in overlapping.notes[0]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ("c(64)KB", 64e3),
        ("c(1,10)MB", 1e6),  # a constant in COSBench's ConstantIntGenerator, which ignores what follows
        ("c(10,1)KB", 1e4),
        ("u(1,3)MB", 2e6),
        ("r(1,3)B", 2),
        ("c(0)B", 0),
        ("h(1|64|10,64|512|70,512|2048|20)KB", 0.1 * 32.5e3 + 0.7 * 288e3 + 0.2 * 1280e3),
        ("h(8|8|50,8192|8192|50)KB", 4100e3),
    ],
)
def test_cosbench_sizes(tmp_path: Path, sizes: str, expected: float) -> None:
    fields = cosbench(tmp_path, write=f"u(11,20);sizes={sizes}").fields
    assert mean(fields["own_objects"]["PUT"]["object_size"]) == pytest.approx(expected, rel=0.01, abs=0.01)


def test_cosbench_ends_by_operations_or_bytes(tmp_path: Path) -> None:
    assert cosbench(tmp_path, 'totalOps="500"').fields["operations"] == 500
    by_bytes = cosbench(tmp_path, 'totalBytes="64000000"')
    assert by_bytes.fields["operations"] == 1000
    assert any("bytes" in note for note in by_bytes.notes)


def test_cosbench_range_requests(tmp_path: Path) -> None:
    ranged = COSBENCH.replace("endpoint=http://h", "is_range_request=true;file_length=64000;chunk_length=5000")
    found = converted(
        tmp_path, ranged.replace("MORE", 'runtime="3"').replace("WRITE", "u(11,20);sizes=c(1)KB"), "d.xml"
    )
    assert found.fields["ranges"] == {"fraction": 1.0, "size": {"kind": "fixed", "size": 5000}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE w [<!ENTITY a "b">]><workload>&a;</workload>', "line 1: has a document type (DOCTYPE)"),
        ('<!DOCTYPE w SYSTEM "file:///etc/passwd"><workload/>', "line 1: has a document type (DOCTYPE)"),
        ("<workload><workflow></workload>", "d.xml: line 1: broken XML"),
        ("<project/>", "d.xml: the root element is 'project'"),
        ("<workload/>", "d.xml: has no test"),
        (COSBENCH.replace("MORE", "").replace("WRITE", "u(1,2);sizes=c(1)KB"), "runtime, totalOps and totalBytes"),
        (COSBENCH.replace("MORE", 'runtime="1"').replace("WRITE", "z(1)"), "objects: is 'z(1)'"),
        (COSBENCH.replace("MORE", 'runtime="1"').replace("WRITE", "u(11,20);sizes=c(1)XB"), "sizes: is 'c(1)XB'"),
        (COSBENCH.replace("MORE", 'runtime="x"').replace("WRITE", "u(1,2);sizes=c(1)B"), "runtime: is 'x'"),
    ],
)
def test_a_definition_that_is_wrong_says_where(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        converted(tmp_path, text, "d.xml")
    assert words in str(caught.value)


def test_warp_mixed(tmp_path: Path) -> None:
    found = warp(tmp_path, "mixed", "objects: 1000\n    obj: {size: 100KiB, part-size: }")
    assert (found.fields["clients"], found.fields["duration"]) == (8, 90)
    assert found.fields["mix"] == {"GET": 45, "HEAD": 30, "PUT": 15, "DELETE": 10}
    assert found.fields["object_size"] == {"kind": "fixed", "size": 102_400}
    assert found.fields["keys"] == {"kind": "uniform", "count": 1000}
    assert found.fields["own_objects"]["PUT"]["keys"]["kind"] == "sequential"


def test_warp_sizes_at_random_have_their_published_mean(tmp_path: Path) -> None:
    random = warp(tmp_path, "put", "obj: {size: 10MiB, rand-size: true}").fields["object_size"]
    assert mean(random) == pytest.approx(0.179151 * 10 * 2**20, rel=0.02)  # pkg/generator/generator.go
    assert warp(tmp_path, "put", "obj: {size: 10MB}").fields["object_size"]["size"] == 10_000_000


def test_warp_ranges_clients_and_what_is_not_carried_over(tmp_path: Path) -> None:
    found = warp(tmp_path, "get", "range-size: 1MiB\n    autoterm: {enabled: true}")
    assert found.fields["ranges"]["size"] == {"kind": "fixed", "size": 1 << 20}
    assert found.fields["keys"]["count"] == 2500
    assert len(found.notes) == 1 and "throughput" in found.notes[0]
    thirds = warp(tmp_path, "get", "range: true\n    obj: {size: 3MiB}").fields["ranges"]["size"]
    assert mean(thirds) == pytest.approx(1 << 20, rel=0.02)
    many = WARP.format(benchmark="stat", params="objects: 10").replace(
        "api: v1", "api: v1\n  warp-client: 'a{1...4},b'"
    )
    assert converted(tmp_path, many).fields["clients"] == 40


def test_gosbench(tmp_path: Path) -> None:
    found = converted(tmp_path, GOSBENCH)
    assert (found.part, found.parts) == ("one", ("one", "two"))
    assert found.fields["clients"] == 6
    assert found.fields["operations"] == 100  # for each worker
    assert found.fields["mix"] == {"GET": 20, "PUT": 80}
    assert found.fields["object_size"] == {"kind": "histogram", "edges": [5120, 102_400], "weights": [1.0]}
    assert found.fields["keys"] == {"kind": "sequential", "count": 12}
    assert found.fields["own_objects"]["PUT"]["keys"]["count"] == 48
    assert found.fields["buckets"] == 3
    assert len(found.notes) == 1 and "'two'" in found.notes[0] and "part" in found.notes[0]
    two = converted(tmp_path, GOSBENCH, part="two")
    assert (two.fields["duration"], two.fields["mix"], two.fields["object_size"]["size"]) == (60, {"LIST": 1}, 1 << 20)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\n", "d.yml: "),
        (WARP.format(benchmark="zap", params="objects: 1"), "warp.benchmark: is 'zap'; allowed are get"),
        (WARP.format(benchmark="get", params="obj: {size: huge}"), "'huge' is not a size"),
        (WARP.format(benchmark="get", params="objects: -1"), "warp.params.objects: is -1"),
        (WARP.format(benchmark="get", params="").replace("1m30s", "soon"), "'soon' is not a duration"),
        (GOSBENCH.replace("unit: KB", "unit: furlong"), "tests.0.objects.unit: is 'furlong'"),
        (GOSBENCH.replace("stop_with_ops: 50", "stop_with_ops: 0"), "stop_with_runtime and stop_with_ops"),
        (GOSBENCH.replace("size_min: 5", "size_min: 0"), "tests.0.objects.size_min: is 0"),
        (GOSBENCH.replace("read_weight: 20", "read_weight: 0").replace("write_weight: 80", ""), "all weights are 0"),
        ("tests: 3\n", "d.yml: tests: is 3"),
    ],
)
def test_yaml_that_is_wrong_says_where(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        converted(tmp_path, text)
    assert words in str(caught.value)


def test_a_part_by_name_and_values_set(tmp_path: Path) -> None:
    assert cosbench(tmp_path, assignments=("workload.clients=3",)).fields["clients"] == 3
    with pytest.raises(InputError, match="'x'; allowed are main"):
        cosbench(tmp_path, part="x")
