"""Fuzzes the compiled engine's kernel: each mutated input must be refused at the boundary or executed without a crash.

    make kernel-debug && python benchmarks/engine/fuzz_kernel.py [--seconds N] [--inputs N] [--library FILE]

Random networks of all features (those of the tests), with values of the records and arrays that reach the kernel
replaced by extreme ones. The library is a debug build, which checks every index; each batch runs in a process of its
own, so a crash is seen and its seed printed. Exits with 1 where there was one.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "out" / "kernel" / "debug.so"
INPUTS = 400
"""Number of inputs per process."""
MEMORY_BYTES = 3 << 30
INPUT_S, BATCH_S = 5, 300
SHEETS = 20
"""Maximum number of Sheets of an input, because a repeated trace that takes no time would never end."""
MUTATED = 0.7
"""The fraction of inputs that are mutated; the others show that inputs can be executed at all."""

VALUES: dict[str, list[Any]] = {
    "f": [float("nan"), float("inf"), -1.0, -0.0, 0.0, 5e-324, 1e308, 1.0, 0.5],
    "i": [-(2**31), -65537, -65536, -2, -1, 0, 1, 2, 3, 7, 100, 65536, 2**24, 2**31 - 1],
    "u": [0, 1, 2**63, 2**64 - 1],
}
WIDE = [-(2**63), 2**32, 2**40, 2**62, 2**63 - 1]


class Overdue(BaseException):
    """An input takes too long, for example a gate that is polled for years."""


def mutated(array: np.ndarray[Any, Any], draw: random.Random) -> np.ndarray[Any, Any]:
    """The array with one to three of its values replaced."""
    result = array.ravel().copy()
    for _ in range(draw.randint(1, 3)):
        if not result.size:
            break
        row = draw.randrange(result.size)
        name = draw.choice(result.dtype.names) if result.dtype.names else None
        kind = (result.dtype[name] if name else result.dtype).kind
        wide = WIDE if kind == "i" and (result.dtype[name] if name else result.dtype).itemsize == 8 else []
        value = draw.choice(VALUES[kind] + wide)
        if name:
            result[name][row] = value
        else:
            result[row] = value
    return result.reshape(array.shape)


def batch(seed: int, inputs: int) -> None:
    """Run a batch of inputs, and print the results."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as with_seed

    from sim.engine.compiled import engine
    from sim.engine.outcome import InvariantError
    from tests.networks import programs

    draw = random.Random(seed)
    packed, kept = engine.packed, []
    counts: collections.Counter[str] = collections.Counter()

    def packed_mutated(record: Any, **values: Any) -> Any:
        arrays = [name for name, value in values.items() if isinstance(value, np.ndarray) and value.size]
        numbers = [name for name, value in values.items() if isinstance(value, int | float)]
        if record.name != "Results" and draw.random() < MUTATED and wanted:
            if numbers and draw.random() < 0.2:
                name = draw.choice(numbers)
                values[name] = abs(int(draw.choice(VALUES["i"] + WIDE))) if name != "limit_s" else 10.0
            elif arrays:
                name = draw.choice(arrays)
                values[name] = mutated(values[name], draw)
        kept.append(values)  # the kernel has their addresses
        return packed(record, **values)

    def overdue(number: int, frame: Any) -> None:
        raise Overdue

    engine.packed = packed_mutated
    signal.signal(signal.SIGALRM, overdue)
    wanted = False

    @with_seed(seed)
    @given(programs())
    @settings(
        max_examples=inputs,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def each(program: Any) -> None:
        nonlocal wanted
        kept.clear()
        wanted = draw.random() < MUTATED
        sheets = iter(range(SHEETS))

        def few(first: int, count: int) -> Any:
            return program.draw(first, count if next(sheets, None) is not None else 0)

        signal.alarm(INPUT_S)
        try:
            engine.run(replace(program, draw=few))
            counts["executed"] += 1
        except (ValueError, TypeError, OverflowError, IndexError):  # the last: it wants a source that is not there
            counts["refused"] += 1
        except InvariantError:
            counts["stopped by an invariant"] += 1
        except MemoryError:
            counts["out of memory"] += 1
        except Overdue:
            counts["overdue"] += 1
        finally:
            signal.alarm(0)

    each()
    print(" ".join(f"{name.replace(' ', '_')}={count}" for name, count in counts.items()))


def main() -> None:
    """Run batches for a given time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=60, help="duration (default: %(default)s); the last batch is finished"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first batch (default: %(default)s)")
    parser.add_argument(
        "--library", type=Path, default=LIBRARY, help="debug build of the kernel (default: out/kernel/debug.so)"
    )
    parser.add_argument("--inputs", type=int, default=INPUTS, help="inputs of each batch (default: %(default)s)")
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.batch is not None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        batch(arguments.batch, arguments.inputs)
        return
    if not arguments.library.is_file():
        parser.error(f"{arguments.library} is not there; 'make kernel-debug' builds it")
    ends_s, seed, crashes = time.monotonic() + arguments.seconds, arguments.seed, 0
    total: collections.Counter[str] = collections.Counter()
    environment = os.environ | {
        "TAILCAST_KERNEL": str(arguments.library.resolve()),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    while time.monotonic() < ends_s:
        command = [sys.executable, __file__, "--batch", str(seed), "--inputs", str(arguments.inputs)]
        try:
            done = subprocess.run(
                command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=BATCH_S, check=False
            )
            if done.returncode:
                crashes += 1
                print(f"seed {seed}: exit code {done.returncode}: {done.stderr[-300:].strip()}", file=sys.stderr)
            for part in done.stdout.split():
                name, _, count = part.partition("=")
                total[name] += int(count)
        except subprocess.TimeoutExpired:
            total["batches_overdue"] += 1
        seed += 1
    print(f"{seed - arguments.seed} batches, {crashes} crashes, {dict(total)}")
    sys.exit(crashes > 0)


if __name__ == "__main__":
    main()
