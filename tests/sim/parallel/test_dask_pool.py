"""Sweeps on a real dask cluster: a scheduler and workers in processes of their own."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sim.parallel.dask_pool
from models.store import spec_of
from sim.experiments.sweep import PointTask, Settings, sweep
from sim.parallel.dask_pool import completed_on
from tests.paths import ROOT
from tests.specs import minio
from traces.errors import InputError

needs_dask = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="dask is not installed")


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self._start("scheduler", "--port=0", "--no-dashboard", "--no-show", f"--scheduler-file={file}")
        while not file.exists() or not file.read_text().strip():
            time.sleep(0.05)
        self.address: str = json.loads(file.read_text())["address"]

    def worker(self) -> subprocess.Popen[bytes]:
        """Another worker, without a nanny that would start it again."""
        return self._start("worker", self.address, "--nthreads=1", "--no-nanny", "--no-dashboard")

    def stop(self) -> None:
        """Stop all of it."""
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", program, *arguments],
                cwd=self._folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=log,
            )
        self._processes.append(process)
        return process


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


def jobs(count: int, operations: int) -> list[PointTask]:
    specs = [minio(f"workload.operations={operations}", f"workload.clients={n + 1}") for n in range(count)]
    return [PointTask(spec_of(spec, "small"), Settings(replications=2)) for spec in specs]


class Kept:
    """A cache that counts, and kills a process once there is something in it."""

    def __init__(self, victim: subprocess.Popen[bytes] | None = None):
        self.victim, self.keys = victim, list[str]()

    def find(self, key: str) -> None:
        return None

    def keep(self, key: str, result: object) -> None:
        self.keys.append(key)
        if self.victim is not None and len(self.keys) == 3:
            assert self.victim.poll() is None
            os.kill(self.victim.pid, signal.SIGKILL)
            self.victim.wait()


@needs_dask
def test_a_cluster_gives_the_same_although_a_worker_is_killed(cluster):
    requested = jobs(16, operations=4000)
    victim, _ = cluster.worker(), cluster.worker()
    _wait_for_workers(cluster.address, 2)
    kept, told = Kept(victim), list[int]()
    there = sweep(requested, scheduler=cluster.address, cache=kept, progress=told.append)
    here = sweep(requested)
    assert victim.poll() == -signal.SIGKILL
    assert sorted(kept.keys) == sorted(job.key for job in requested), "each point once"
    assert told == list(range(17))
    for mine, other in zip(here, there, strict=True):
        plain, others = mine.to_json(), other.to_json()
        assert plain.pop("engine")["visits"] == others.pop("engine")["visits"]
        assert json.dumps(plain) == json.dumps(others)


def _wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


@needs_dask
def test_a_worker_with_other_source_is_refused(cluster, monkeypatch):
    cluster.worker()
    monkeypatch.setattr(sim.parallel.dask_pool, "code", lambda: "another")
    with pytest.raises(InputError, match="another version of tailcast"):
        list(completed_on(cluster.address, abs, [-1], ["a"]))


@needs_dask
def test_a_scheduler_that_does_not_answer_is_told(monkeypatch):
    monkeypatch.setattr(sim.parallel.dask_pool, "_CONNECT_S", 0.2)
    with pytest.raises(InputError, match="does not respond"):
        list(completed_on("tcp://127.0.0.1:9", abs, [-1], ["a"]))
    with (
        pytest.raises(InputError, match="does not respond"),
        contextlib.closing(completed_on("nonsense", abs, [1], ["a"])) as it,
    ):
        next(it)


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'tailcast\[dask\]'"):
        list(completed_on("tcp://127.0.0.1:9", abs, [-1], ["a"]))
