from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from validate.compare import machine
from validate.compare.machine import CpuSample

SPIN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint(flush=True); input()"


def spinning() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_cpu_time_of_another_process_and_of_the_machine() -> None:
    before = machine.machine_cpu_s()
    with spinning() as child:
        assert child.stdout is not None
        child.stdout.readline()
        used_s = machine.process_cpu_s(child.pid)
        after = machine.machine_cpu_s()
        child.communicate(b"\n")
    assert used_s is not None and 0.28 <= used_s < 2
    busy, steal, total = ((b or 0.0) - (a or 0.0) for a, b in zip(before, after, strict=True))
    assert busy >= 0.28
    assert busy + steal <= total + 0.02


def test_figures_are_those_of_the_system_to_the_clock_tick() -> None:
    """See proc(5)."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    user, system = map(int, Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[11:13])
    assert machine.process_cpu_s(os.getpid()) == pytest.approx((user + system) / ticks_per_s, abs=2.1 / ticks_per_s)
    ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    _, steal_s, total_s = machine.machine_cpu_s()
    assert total_s == pytest.approx(sum(ticks) / ticks_per_s, abs=1.0)
    assert steal_s == pytest.approx(ticks[7] / ticks_per_s, abs=1.0)


def test_a_process_that_has_ended_has_no_figure() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert machine.process_cpu_s(child.pid) is None
    assert CpuSample.take([os.getpid(), child.pid]).server_s is None


def test_usage_is_what_lies_between_two_samples() -> None:
    before = CpuSample(1.0, 10.0, 100.0, 5.0, 1000.0)
    after = CpuSample(2.0, 13.0, 106.0, 6.0, 1020.0)
    usage = machine.cpu_usage(before, after, requests=100)
    assert usage == pytest.approx({
        "client_s": 1.0, "client_per_op_s": 0.01, "server_s": 3.0, "server_per_op_s": 0.03,
        "busy_share": 0.3, "other_share": 0.1, "steal_share": 0.05,
    })  # fmt: skip


def test_what_stands_for_devices_is_no_other_load() -> None:
    before, after = CpuSample(1.0, 10.0, 100.0, 5.0, 1000.0, 3.0), CpuSample(2.0, 13.0, 106.0, 6.0, 1020.0, 4.5)
    usage = machine.cpu_usage(before, after, requests=100)
    assert usage["other_share"] == pytest.approx(0.025) and usage["server_s"] == 3.0
    assert CpuSample.take((), [os.getpid()]).devices_s > 0 == CpuSample.take().devices_s


def test_usage_without_figures_says_so() -> None:
    sample = CpuSample(1.0, None, None, None, None)
    usage = machine.cpu_usage(sample, sample, requests=0)
    assert usage.pop("client_s") == 0
    assert all(value is None for value in usage.values())


def test_a_server_that_died_has_no_figure() -> None:
    usage = machine.cpu_usage(CpuSample(0, 1.0, 1, 0, 10), CpuSample(1, None, 3, 0, 20), 5)
    assert usage["server_s"] is None and usage["other_share"] == pytest.approx(0.1)


def test_environment_and_floor() -> None:
    known = machine.environment()
    assert known["cores"] >= 1 and known["cpu_model"] and known["kernel"] and known["memory_bytes"] > 1 << 28
    machine.sharpen_timer()
    floor = machine.clock_floor(sleeps=10)
    assert 0 < floor["clock_step_s"] < 1e-3
    assert 0 <= floor["wake_late_p50_s"] <= floor["wake_late_p99_s"]


def test_client_cpu_counts_all_threads_of_this_process() -> None:
    before = CpuSample.take()
    end_s = time.process_time() + 0.05
    while time.process_time() < end_s:
        pass
    used_s = CpuSample.take().client_s - before.client_s
    assert used_s >= 0.05 and before.server_s is None
