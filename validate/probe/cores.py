"""Measures cores by a loop of SHA-256: one of them, and all at the same time."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from dataclasses import dataclass

_BLOCK = bytes(1 << 20)


@dataclass(frozen=True)
class Cores:
    """Cores of this machine: their number, bytes per s that one hashes alone, and all together."""

    count: int
    one_bytes_per_s: float
    all_bytes_per_s: float

    @property
    def scaling(self) -> float:
        """What all cores together do, over as many times what one does alone."""
        return self.all_bytes_per_s / (self.count * self.one_bytes_per_s)


def measure_cores(seconds: float) -> Cores:
    """Measure for this time alone, and as long with all cores that this process may use."""
    count = len(os.sched_getaffinity(0))
    return Cores(count, _rate(1, seconds), _rate(count, seconds))


def _rate(threads: int, seconds: float) -> float:
    done = [0] * threads
    end_s = time.monotonic() + seconds

    def work(number: int) -> None:
        while time.monotonic() < end_s:
            hashlib.sha256(_BLOCK).digest()  # without the interpreter's lock
            done[number] += len(_BLOCK)

    started_s = time.monotonic()
    workers = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done) / (time.monotonic() - started_s)
