"""Signals at random times: a long command ends soon, says so in one line, and leaves no process and no half output."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.paths import EXAMPLES, ROOT
from tests.profiles import NIGHTLY
from traces.errors import InputError
from traces.run import Run

STARTED = [sys.executable, "-c", "from cli.main import main; main()"]
MINIO = str(EXAMPLES / "minio.yaml")
CEPH, GROWTH = str(EXAMPLES / "ceph/billion-objects.yaml"), str(EXAMPLES / "ceph/growth.yaml")
COMMANDS = {
    "simulate": ["simulate", MINIO, "--set", "workload.duration=300s", "--out", "out"],
    "replications": ["simulate", MINIO, "--set", "workload.duration=60s", "--replications", "40", "--workers", "2"],
    "generate": ["trace", "generate", MINIO, "--set", "workload.operations=20000000", "--set", "workload.duration=1d",
                 "--out", "out.parquet"],
    "whatif": ["whatif", MINIO, "--vary", "workload.clients=1..40", "--workers", "2", "--out", "kept"],
    "find": ["find", MINIO, "max workload.clients in 1..64", "--slo", "GET.p99<50ms", "--workers", "2"],
    "sensitivity": ["sensitivity", MINIO, "--vary", "workload.clients=1..40", "--vary", "hosts.cores.count=1..8",
                    "--target", "GET.p99", "--workers", "2"],
    "timeline": ["timeline", CEPH, "--objects", "1e6..1e9", "--workers", "2", "--out", "kept"],
    "plan": ["plan", CEPH, "--growth", GROWTH, "--workers", "2"],
}  # fmt: skip
FATAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AFTER_S = (0.5, 10.0 if NIGHTLY else 4.0)
"""Range of the time after which the signal comes: while modules are imported, or while the command works."""
ENDS_WITHIN_S = 60.0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_time_ends_a_command_cleanly(tmp_path: Path, name: str) -> None:
    chance = random.Random(None if NIGHTLY else name)
    for attempt in range(10 if NIGHTLY else 1):
        # What is kept is continued by the next attempt; a file may be finished, or left by SIGKILL.
        folder = tmp_path if "kept" in COMMANDS[name] else tmp_path / str(attempt)
        folder.mkdir(exist_ok=True)
        number = chance.choice([*FATAL, signal.SIGKILL])
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [*STARTED, *COMMANDS[name]], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        time.sleep(chance.uniform(*AFTER_S))
        children = _children(process.pid)
        process.send_signal(number)
        _, said = process.communicate(timeout=ENDS_WITHIN_S)
        assert "Traceback" not in said, said
        # Before the command has begun, the signal ends it as it ends any program.
        assert process.returncode in (130, -number, 0), (number, said)
        if process.returncode == 130:
            assert "tailcast: interrupted" in said
        _, alive = psutil.wait_procs(children, timeout=15)
        assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE], (number, "outlived its parent")
        if number != signal.SIGKILL:
            assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        if (folder / "out").exists():
            assert len(Run.read(folder / "out"))


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def test_a_command_that_ignores_hang_ups_goes_on(tmp_path: Path) -> None:
    """As nohup starts it."""
    command = ["nohup", *STARTED, "simulate", MINIO, "--set", "workload.duration=2s", "--out", "out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(4):
        time.sleep(0.5)
        process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=120) == 0
    try:
        assert len(Run.read(tmp_path / "out"))
    except InputError as error:
        pytest.fail(str(error))
