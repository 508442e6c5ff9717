"""Measurements of a drive by fio: how they are run and removed, and what follows from them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from cli.main import main
from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from models.store import spec_of
from tests.paths import ROOT
from validate.probe.cores import Cores, measure_cores
from validate.probe.drive import closed_rate, probe_of
from validate.probe.jobs import JOBS, Extent

CORES = Cores(2, 5e8, 8e8)

FIO = f"""\
#!{sys.executable}
import json, os, pathlib, sys, time
options = dict(each[2:].partition("=")[::2] for each in sys.argv[1:])
pathlib.Path(options["filename"]).write_bytes(b"x")
if os.environ.get("FIO_HANGS") and options["name"] == "read alone":
    pathlib.Path(os.environ["FIO_HANGS"]).write_text(str(os.getpid()))
    time.sleep(60)
if os.environ.get("FIO_FAILS"):
    sys.exit("fio: device does not support direct I/O")
way = "write" if "write" in options["rw"] else "read"
alone_s, exclusive_s = (1e-4, 2e-5) if way == "read" else (2e-4, 4e-5)
depth, size = int(options["iodepth"]), {{"4k": 4096, "1m": 1 << 20}}[options["bs"]]
iops = min(depth / alone_s, 1 / exclusive_s) if size == 4096 else 1000
took = {{"mean": 1e9 * depth / iops, "stddev": 1e9 * alone_s / 2, "percentile": {{"99.900000": 2e9 * alone_s}}}}
done = {{"total_ios": 100, "iops": iops, "bw_bytes": iops * size, "lat_ns": took, "clat_ns": took}}
sync = {{"lat_ns": {{"mean": 1e6}}}} if "fdatasync" in options else {{}}
job = {{"jobname": options["name"], "error": 0, "job options": options, way: done, "sync": sync}}
print(json.dumps({{"fio version": "fio-3.33", "jobs": [job]}}))
"""
"""A program with fio's options and JSON: a drive of 100 µs for a read, 20 µs of them exclusive."""


@pytest.fixture
def fio(tmp_path, monkeypatch):
    """A folder in which the program is found as fio."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "fio").write_text(FIO)
    (programs / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return programs


@pytest.fixture
def fast(monkeypatch):
    """Cores that take no time to measure."""
    monkeypatch.setattr("validate.probe.cores.measure_cores", lambda seconds: CORES)


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["probe", *map(str, arguments)])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_what_is_measured_is_read_by_init(capsys, tmp_path, fio, fast):
    drive, out = tmp_path / "drive", tmp_path / "drive.json"
    drive.mkdir()
    code, said, err = tailcast(capsys, drive, "--size", "4MiB", "--rounds", 2, "--yes", "-o", out, "--json")
    assert code == 0, err
    assert list(drive.iterdir()) == []
    assert "at most 0.0461 GB are written" in err  # 4 MiB once, and in five jobs of each round
    sheet = json.loads(said)["data_sheet"]
    assert sheet == {
        "read_iops": 50000, "write_iops": 25000, "read_bandwidth": "1049MB/s", "write_bandwidth": "1049MB/s",
        "read_latency": "100us", "write_latency": "200us", "flush": "1000us",
    }  # fmt: skip
    (read,) = read_files([out], READERS)
    assert read.kind == "measurements of tailcast probe"
    assert read.found.facts["drive.read.iops"] == pytest.approx(50000)
    assert read.found.facts["drive.durable"] == "1.2ms"
    assert read.found.facts["cores"] == 2
    spec = {
        "store": "minio",
        "workload": {"rate": 10, "duration": "1s", "object_size": "1MiB", "mix": {"GET": 1}},
        "hosts": {"preset": "epyc-2-cores", "cores": 16},
        "drives": {"count": 4, "data_sheet": sheet},
    }
    assert spec_of(spec, "it").drives.read.constant == pytest.approx(2e-5 - 4096 / 1049e6)


def document(**changes: float) -> dict[str, Any]:
    """Return fio's document of two rounds, with other rates of jobs in the second one."""
    jobs = []
    for factor in (0.9, 1.1):
        for job in JOBS:
            way = "write" if job.writes else "read"
            size = 4096 if job.block == "4k" else 1 << 20
            iops = factor * changes.get(job.name, min(job.depth / 1e-4, 5e4) if size == 4096 else 1000)
            took = {"mean": 1e9 * job.depth / iops, "stddev": 2e4, "percentile": {"99.900000": 2e5}}
            done = {"total_ios": 9, "iops": iops, "bw_bytes": iops * size, "lat_ns": took, "clat_ns": took}
            options = {"rw": job.pattern, "bs": job.block, "iodepth": str(job.depth)}
            options |= {"fdatasync": "1"} if job.options else {}
            jobs.append({"jobname": job.name, "job options": options, "error": 0, way: done})
    return {"fio version": "fio-3.33", "jobs": jobs}


def test_intervals_are_of_rounds():
    figures = {each.name: each for each in probe_of(document(), CORES).figures}
    iops = figures["read_iops"]
    assert iops.low < 45_000 < 55_000 < iops.high
    assert iops.mean == pytest.approx((45_000 * 55_000) ** 0.5)


def test_what_the_model_leaves_out_is_named():
    expected = closed_rate(4, 2e-5, 1e-4)
    said = probe_of(document(**{"reads, 4 at a time": expected}), CORES).unexplained
    assert not any(each.startswith("reads, 4 at a time") for each in said)
    slow = probe_of(document(**{"reads, 4 at a time": expected / 2}), CORES).unexplained
    assert any(each.startswith("reads, 4 at a time: the model") for each in slow)
    cached = document()
    cached["jobs"][len(JOBS) + 7]["write"]["bw_bytes"] /= 4
    assert any(each.startswith("large writes:") for each in probe_of(cached, CORES).unexplained)


def test_rates_of_a_closed_loop():
    assert closed_rate(1, 0.2, 1.0) == pytest.approx(1)
    assert closed_rate(1000, 0.2, 1.0) == pytest.approx(5)
    assert closed_rate(2, 1.0, 1.0) == pytest.approx(1)


def test_cores_hash():
    found = measure_cores(0.05)
    assert found.count >= 1
    assert found.one_bytes_per_s > 1e6
    assert found.scaling > 0


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_ends_fio_and_removes_its_file(tmp_path, fio, stop):
    drive, begun = tmp_path / "drive", tmp_path / "begun"
    drive.mkdir()
    program = (
        "import sys; sys.argv[0] = 'tailcast'; import validate.probe.cores as cores; "
        "cores.measure_cores = lambda seconds: cores.Cores(2, 1.0, 2.0); from cli.main import main; main()"
    )
    command = [sys.executable, "-c", program, "probe", str(drive), "--size", "4MiB", "--yes"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "FIO_HANGS": str(begun)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(1000):
            if begun.exists() and begun.read_text():
                break
            time.sleep(0.05)
        assert list(drive.iterdir())
        process.send_signal(stop)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert list(drive.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


def test_a_failure_of_fio_is_one_line(capsys, tmp_path, fio, fast, monkeypatch):
    monkeypatch.setenv("FIO_FAILS", "1")
    code, _, err = tailcast(capsys, tmp_path, "--size", "4MiB", "--yes")
    assert code == 2
    assert err.splitlines()[-1].endswith("fio fails at 'lay out': fio: device does not support direct I/O")
    assert not list(tmp_path.glob(".tailcast-probe-*"))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["absent", "--yes"], "absent: is no folder"),
        ([".", "--size", "1KiB", "--yes"], "--size: '1KiB' is too small"),
        ([".", "--size", "much", "--yes"], "--size:"),
        ([".", "--size", "100PB", "--yes"], "at most half of that"),
        ([".", "--job-time", "0s", "--yes"], "--job-time: from 0.1s to 1h is allowed"),
        ([".", "--size", "4MiB"], "begins only with --yes"),
    ],
)
def test_wrong_inputs(capsys, fio, arguments, why):
    code, _, err = tailcast(capsys, *arguments)
    assert code == 2
    assert why in err


def test_without_fio(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = tailcast(capsys, tmp_path, "--yes")
    assert code == 2
    assert "apt-get install fio" in err


def test_the_extent_is_told_beforehand():
    extent = Extent(100, 2.0, 3)
    assert extent.longest_s == 2 * 3 * len(JOBS)
    assert extent.most_written_bytes == 100 * (1 + 3 * 5)
