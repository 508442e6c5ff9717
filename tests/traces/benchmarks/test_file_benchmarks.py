"""Job files of fio and commands of mdtest and IOR as workloads of a file system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands.test_simulate import tailcast
from traces.benchmarks.convert import convert
from traces.benchmarks.converted import Converted
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.spec_file import validated
from traces.workload.generate import generate
from traces.workload.workload import Workload

FIO = """
; a job file, as fio's HOWTO describes them
[global]
ioengine=libaio
direct=1
directory=/mnt/data
size=64m

[random readers]
rw=randread
bs=4k
iodepth=4
numjobs=2

[log]
stonewall
rw=write
bs=8k
fsync=4
end_fsync=1

[mixed]
stonewall
rw=randrw
rwmixread=70
bs=16k
ioengine=psync
nrfiles=8
thinktime=500
runtime=1m
time_based

[Stream #1]
rw=read
bs=1m
rate_iops=20
"""
MDTEST = """#!/bin/sh
# mdtest of files
mpirun -np 4 --oversubscribe \\
  /opt/bin/mdtest -n 50 MORE -d /mnt/data
"""
IOR_SCRIPT = """
IOR START
    api=POSIX
    testFile=/mnt/data/f
    filePerProc=1
    blockSize=4m
    transferSize=1m
    segmentCount=2
    numTasks=3
    readFile=0
    writeFile=1
    fsync=1
RUN
    # the same files, read in any order
    readFile=1
    writeFile=0
    fsync=0
    randomOffset=1
RUN
IOR STOP
"""


def converted(tmp_path: Path, text: str, part: str | None = None) -> Converted:
    path = tmp_path / "d"
    path.write_text(text)
    found = convert(path, part)
    assert len(generate(validated(Workload, found.fields, "w"), 1)) > 0
    return found


def fio(tmp_path: Path, *options: str) -> Converted:
    return converted(tmp_path, "\n".join(["[job]", *options]))


def mdtest(tmp_path: Path, more: str, part: str | None = None) -> Converted:
    return converted(tmp_path, MDTEST.replace("MORE", more), part)


def ior(tmp_path: Path, options: str, part: str | None = None) -> Converted:
    return converted(tmp_path, f"mpirun -np 4 ior {options} -o /mnt/f\n", part)


def fixed(size: int) -> dict[str, Any]:
    return {"kind": "fixed", "size": size}


def test_fio_of_several_jobs(tmp_path: Path) -> None:
    first = converted(tmp_path, FIO)
    assert (first.tool, first.part) == ("fio", "random readers")
    assert first.parts == ("random readers", "log", "mixed, Stream #1")
    assert first.fields == {
        "clients": 8,
        "operations": 2 * (64 << 20) // 4096,
        "object_size": fixed(64 << 20),
        "mix": {"READ": 100.0},
        "keys": {"kind": "sequential", "count": 2},
        "ranges": {"size": fixed(4096), "order": "random"},
    }
    log = converted(tmp_path, FIO, "log")
    assert log.fields["mix"] == {"WRITE": 100.0, "FSYNC": 25.0}
    assert log.fields["ranges"] == {"size": fixed(8192), "order": "sequential"}
    assert log.fields["operations"] == (64 << 20) // 8192 * 5 // 4
    assert "the FSYNC of each file at its end" in log.notes
    both = converted(tmp_path, FIO, "mixed, Stream #1")
    assert list(both.fields["groups"]) == ["mixed", "stream-1"]
    mixed, stream = both.fields["groups"].values()
    assert mixed["mix"] == {"READ": 70.0, "WRITE": 30.0}
    assert (mixed["clients"], mixed["duration"], mixed["think_time"]) == (1, 60.0, {"mean": 0.0005})
    assert (mixed["object_size"], mixed["keys"]["count"]) == (fixed(8 << 20), 8)
    assert "operations" not in mixed
    assert (stream["rate"], stream["operations"]) == (20.0, 64)
    assert any("upper limit" in note for note in both.notes)


def test_fio_sequences_go_through_each_file(tmp_path: Path) -> None:
    found = fio(tmp_path, "rw=read", "bs=256k", "size=1m", "numjobs=2", "loops=2")
    trace = generate(validated(Workload, found.fields, "w"), 1)
    assert len(trace) == 2 * 2 * 4
    starts = trace.table.column("range_start_bytes").to_numpy().reshape(-1, 2)
    assert (starts == (np.arange(8) % 4 * (256 << 10))[:, None]).all()


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (["size=1m"], "mix", {"READ": 100.0}),  # fio's default
        (["size=1m"], "ranges", {"size": fixed(4096), "order": "sequential"}),
        (["rw=randwrite:8", "size=10k", "bs=2ki"], "ranges", {"size": fixed(2000), "order": "random"}),
        (["rw=randwrite", "size=10k", "bs=2ki", "kb_base=1000"], "object_size", fixed(10_000)),
        (["filesize=1m", "nrfiles=3"], "operations", 3 * 256),
        (["filesize=4k-8k"], "object_size", {"kind": "histogram", "edges": [4096, 8192], "weights": [1.0]}),
        (["size=1m", "io_size=8k"], "operations", 2),
        (["size=8k", "filename=a:b", "numjobs=3"], "keys", {"kind": "sequential", "count": 2}),
        (["size=8k", "filename=a:b", "numjobs=3"], "object_size", fixed(4096)),
        (["size=8k", "file_service_type=random"], "keys", {"kind": "uniform", "count": 1}),
        (["size=8k", "iodepth=8"], "clients", 1),  # psync has one operation at a time
        (["size=8k", "rw=rw", "rwmixwrite=20"], "mix", {"READ": 80.0, "WRITE": 20.0}),
        (["size=8k", "rate=1m"], "rate", 256.0),
        (["size=8k", "rate_iops=10", "rate_process=poisson"], "arrivals", {"kind": "poisson"}),
        (["size=8k", "thinktime=2ms", "thinktime_blocks=4"], "think_time", {"mean": 0.0005}),
        (["size=1m", "bsrange=1k-4k"], "ranges", {
            "size": {"kind": "histogram", "edges": [1024, 4096], "weights": [1.0]}, "order": "sequential",
        }),
    ],
)  # fmt: skip
def test_fio_options(tmp_path: Path, options: list[str], field: str, value: Any) -> None:
    assert fio(tmp_path, *options).fields[field] == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[job]\nrw=trim\nsize=1m", r"\[job\]: rw: is 'trim'; allowed are read, write"),
        ("[job]\nrw=read", "size and filesize are both missing"),
        ("[job]\nsize=1x", "size: '1x' is not a size; write it like 4k"),
        ("[job]\nsize=50%", "size: is '50%'; a size in bytes"),
        ("[job]\nsize=1m\nnumjobs=0", "numjobs: is '0'; a whole number of at least 1"),
        ("[job]\nsize=1m\nruntime=soon", "runtime: 'soon' is not a duration"),
        ("[job]\nsize=1m\ntime_based", "time_based needs runtime"),
        ("[job]\nsize=1m\nioengine=rbd", "ioengine: 'rbd' is not one of files; allowed are libaio"),
        ("[job]\nsize=1m\nrw=rw\nrwmixread=120", "rwmixread: is 120; a percentage"),
        ("[job]\nsize=1m\nrate=0", "rate: is '0'; a number above 0"),
        ("[job]\ninclude other.fio\nsize=1m", "line 2: 'include other.fio' is not read"),
        ("[global]\nsize=1m", "has no test"),
    ],
)
def test_fio_names_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        converted(tmp_path, text)
    with pytest.raises(InputError, match="has no part 'x'; allowed are random readers, log"):
        converted(tmp_path, FIO, "x")


def test_fio_says_what_it_leaves_out(tmp_path: Path) -> None:
    notes = fio(tmp_path, "size=1m", "random_distribution=zipf:1.1", "group_reporting", "verify=crc32c").notes
    assert set(notes) == {"the option random_distribution", "the option verify"}


def test_mdtest_has_a_part_for_each_phase(tmp_path: Path) -> None:
    found = mdtest(tmp_path, "-F -w 3901 -e 100")
    assert found.tool == "mdtest"
    assert found.parts == ("file-create", "file-stat", "file-read", "file-remove")
    assert found.fields == {
        "clients": 4,
        "operations": 600,
        "object_size": fixed(3901),
        "mix": {"CREATE": 1.0, "WRITE": 1.0, "CLOSE": 1.0},
        "keys": {"kind": "sequential", "count": 200},
    }
    assert mdtest(tmp_path, "-F -w 3901 -e 100", "file-stat").fields["mix"] == {"STAT": 1.0}
    read = mdtest(tmp_path, "-F -w 3901 -e 100", "file-read").fields
    assert read["mix"] == {"OPEN": 1.0, "READ": 1.0, "CLOSE": 1.0}
    assert read["ranges"] == {"size": fixed(100), "order": "sequential"}
    removed = mdtest(tmp_path, "-F", "file-remove").fields
    trace = generate(validated(Workload, removed, "w"), 1)
    assert len(set(trace.table.column("key").to_pylist())) == len(trace) == 200
    assert (trace.op == OPS.index("UNLINK")).all()


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ("", ("directory-create", "directory-stat", "file-create", "file-stat", "file-read", "file-remove")),
        ("-D", ("directory-create", "directory-stat")),
        ("-CTF", ("file-create", "file-stat")),
        ("-r", ("file-remove",)),
    ],
)
def test_mdtest_phases(tmp_path: Path, more: str, parts: tuple[str, ...]) -> None:
    assert mdtest(tmp_path, more).parts == parts


def test_mdtest_trees(tmp_path: Path) -> None:
    tree = "mpirun -n 2 mdtest -I 5 -z 2 -b 3 MORE -C -F"
    assert converted(tmp_path, tree.replace("MORE", "")).fields["keys"]["count"] == 2 * 5 * (1 + 3 + 9)
    assert converted(tmp_path, tree.replace("MORE", "-L")).fields["keys"]["count"] == 2 * 5 * 9
    alone = converted(tmp_path, "mdtest -n 7 -D -u -N 1 -R")
    assert alone.fields["operations"] == 7
    assert {"a working directory for each task", "the number of tasks, which no mpirun or srun gives: it is 1"} < set(
        alone.notes
    )
    assert converted(tmp_path, "mdtest -n 7 -F -T -R").fields["keys"]["kind"] == "uniform"
    assert converted(tmp_path, "mdtest -n 7 -F -C -y -w 10").fields["mix"]["FSYNC"] == 1.0


def test_ior_writes_and_reads(tmp_path: Path) -> None:
    found = ior(tmp_path, "-a POSIX -b 4m -t 1m -s 2 -F -e -k -C")
    assert (found.tool, found.parts) == ("IOR", ("write", "read"))
    assert found.fields == {
        "clients": 4,
        "operations": 36,
        "object_size": fixed(8 << 20),
        "mix": {"WRITE": 8.0, "FSYNC": 1.0},
        "keys": {"kind": "sequential", "count": 4},
        "ranges": {"size": fixed(1 << 20), "order": "sequential"},
    }
    read = ior(tmp_path, "-r -z -D 30 -N 2").fields
    assert read == {
        "clients": 2,
        "operations": 8,
        "duration": 30.0,
        "object_size": fixed(2 << 20),
        "mix": {"READ": 4.0},
        "keys": {"kind": "sequential", "count": 1},
        "ranges": {"size": fixed(256 << 10), "order": "random"},
    }


def test_ior_scripts_have_a_part_for_each_run(tmp_path: Path) -> None:
    found = converted(tmp_path, IOR_SCRIPT)
    assert found.parts == ("write", "read-2")
    assert found.fields["mix"] == {"WRITE": 8.0, "FSYNC": 1.0}
    assert found.fields["clients"] == 3
    second = converted(tmp_path, IOR_SCRIPT, "read-2").fields
    assert (second["mix"], second["ranges"]["order"]) == ({"READ": 8.0}, "random")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mdtest -F", "-n and -I are both missing"),
        ("mdtest -n 5 -F -D", "has -D .* and -F .*; give one"),
        ("mdtest -n x", "-n: is 'x'; a whole number"),
        ("mdtest -n 5 -w 1q -F", "-w: '1q' is not a size; write it like 4k"),
        ("mdtest -D -r -n 5", "only phases without an operation"),
        ("mdtest -n", "-n has no value"),
        ("mpirun -np x mdtest -n 5", "-np: is 'x'; a number of processes"),
        ("mdtest -n 5\nmdtest -n 6", "has 2 commands of mdtest; leave one"),
        ("mdtest -n 5 'x", "is not a command: No closing quotation"),
        ("ior -b 1m -t 3m", "-b is 1048576; a multiple of -t, 3145728"),
        ("ior -w -s 0", "-s: is '0'; a whole number of at least 1"),
        ("IOR START\nblockSize=1m\nIOR STOP", "the script has no RUN"),
        ("IOR START\nblockSize 1m\nRUN", "line 2: 'blockSize 1m': write OPTION=VALUE"),
        ("nothing: here", "not a definition; allowed are .*fio, and commands of mdtest and IOR"),
    ],
)
def test_commands_name_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        converted(tmp_path, text)


def test_the_command_converts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text(FIO)
    out = tmp_path / "w.yaml"
    code, _, wrong = tailcast(capsys, "trace", "convert", str(path), "--part", "log", "--out", str(out))
    assert code == 0, wrong
    assert "not converted: the FSYNC of each file at its end" in wrong
    code, _, wrong = tailcast(capsys, "trace", "generate", str(out), "--out", str(tmp_path / "t.csv"))
    assert code == 0, wrong
