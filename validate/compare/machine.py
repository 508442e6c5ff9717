"""What the machine did during a measurement: CPU time of client, server and others, steal, and the clock's floor."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

_CPUINFO = Path("/proc/cpuinfo")
_BUSY = "user", "nice", "system", "irq", "softirq"
_PR_SET_TIMERSLACK = 29  # prctl(2)


@dataclass(frozen=True)
class CpuSample:
    """CPU seconds used up to now; None where the system does not tell them, or the process is gone.

    Attributes:
        client_s: by this process, all threads.
        server_s: by the store's processes.
        devices_s: by processes that stand for devices, such as drives of a box; 0 without any.
        busy_s, steal_s, total_s: of the whole machine, all cores; steal is what the hypervisor gave to others.
    """

    client_s: float
    server_s: float | None
    busy_s: float | None
    steal_s: float | None
    total_s: float | None
    devices_s: float = 0.0

    @staticmethod
    def take(server_pids: Sequence[int] = (), device_pids: Sequence[int] = ()) -> CpuSample:
        """The figures of now."""
        of_each = [s for pid in server_pids if (s := process_cpu_s(pid)) is not None]
        server_s = sum(of_each) if server_pids and len(of_each) == len(server_pids) else None
        devices_s = sum(process_cpu_s(pid) or 0.0 for pid in device_pids)
        return CpuSample(time.process_time(), server_s, *machine_cpu_s(), devices_s)


def machine_cpu_s() -> tuple[float, float | None, float]:
    """Busy, stolen and total CPU seconds of all cores since boot; no stolen ones where the system does not tell them.

    What guests of this machine use is part of its user time.
    """
    times = psutil.cpu_times()._asdict()
    busy_s = sum(times.get(name, 0.0) for name in _BUSY)
    steal_s = times.get("steal")
    return busy_s, steal_s, busy_s + times["idle"] + times.get("iowait", 0.0) + (steal_s or 0.0)


def process_cpu_s(pid: int) -> float | None:
    """User and system CPU seconds of a process with all its threads, to the clock tick; None if it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return float(times.user + times.system)


def cpu_usage(before: CpuSample, after: CpuSample, requests: int) -> dict[str, float | None]:
    """The CPU time between two samples: seconds, seconds per request, and fractions of all cores' time.

    ``other_share`` is what neither the client nor the server nor its devices used; without a known server it holds the
    server too.
    """

    def spent(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else b - a

    client_s = after.client_s - before.client_s
    server_s = spent(before.server_s, after.server_s)
    busy_s, steal_s = spent(before.busy_s, after.busy_s), spent(before.steal_s, after.steal_s)
    total_s = spent(before.total_s, after.total_s) or None

    devices_s = max(0.0, after.devices_s - before.devices_s)

    def fraction(seconds: float | None) -> float | None:
        return None if seconds is None or total_s is None else max(0.0, seconds / total_s)

    return {
        "client_s": client_s,
        "client_per_op_s": client_s / requests if requests else None,
        "server_s": server_s,
        "server_per_op_s": server_s / requests if requests and server_s is not None else None,
        "busy_share": fraction(busy_s),
        "other_share": fraction(None if busy_s is None else busy_s - client_s - (server_s or 0.0) - devices_s),
        "steal_share": fraction(steal_s),
    }


def environment() -> dict[str, object]:
    """The machine a measurement ran on: cores, CPU model, kernel, memory, load average at this moment."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu_model": _cpu_model(),
        "kernel": f"{platform.system()} {platform.release()}",
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_1min": os.getloadavg()[0],
    }


def _cpu_model() -> str:
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def sharpen_timer() -> None:
    """Let this thread's sleeps end on time: Linux adds 50 us of timer slack by default."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def clock_floor(sleeps: int = 50, sleep_s: float = 0.001) -> dict[str, float]:
    """How exactly this thread can keep a time: the clock's step, and how late a sleep ends (seconds).

    No latency of a measurement made here is known better than that.
    """
    late = np.empty(sleeps)
    for i in range(sleeps):
        due = time.perf_counter() + sleep_s
        time.sleep(sleep_s)
        late[i] = time.perf_counter() - due
    return {
        "clock_step_s": time.get_clock_info("perf_counter").resolution,
        "wake_late_p50_s": float(np.quantile(late, 0.5)),
        "wake_late_p99_s": float(np.quantile(late, 0.99)),
    }
