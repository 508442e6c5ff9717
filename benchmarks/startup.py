"""CPU time until the first output: help, completion, descriptions, a short simulation, and a worker process.

    python benchmarks/startup.py [--json] [--rounds N] [--python PATH] [--checked]

Measures an installation without development tools: in a temporary virtual environment (some 200 MB from PyPI), or the
one whose interpreter `--python` names. User and system time of the whole process, median over the rounds, after one
round that is not counted and leaves bytecode behind. `--checked` exits with 1 if an aim is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "minio.yaml"

COMPLETION = {"_TAILCAST_COMPLETE": "complete_bash", "COMP_WORDS": "tailcast simulate --se", "COMP_CWORD": "2"}

WORKER = """
import sys, time
from pathlib import Path

import cli.main  # a console script's workers import what the script does


def first_s(path):
    from models.store import load_spec
    from sim.simulate import simulate

    simulate(load_spec(Path(path)))
    return time.process_time()


if __name__ == "__main__":
    from sim.parallel.process_pool import interruptible, process_pool

    with process_pool(1) as pool:
        print(pool.submit(interruptible(first_s), sys.argv[1]).result())
"""
"""A process that starts a worker, and prints its CPU time up to the end of its first simulation."""


@contextlib.contextmanager
def environment(python: Path | None) -> Iterator[Path]:
    """The folder of the programs of a virtual environment that has tailcast and what it needs, and nothing more."""
    if python is not None:
        yield python.absolute().parent
        return
    with tempfile.TemporaryDirectory(prefix="tailcast-startup-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        programs = Path(folder) / "bin"
        install = [programs / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT]
        subprocess.run(install, check=True)
        yield programs


def cpu_s(command: Sequence[str | Path], **variables: str) -> float:
    """User and system seconds of a process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.Popen(
        command, env=kept | variables, cwd=EXAMPLE.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {process.returncode}")
    return used.ru_utime + used.ru_stime


def worker_s(python: Path, program: Path) -> float:
    """CPU seconds of a worker process up to the end of its first simulation."""
    command = [python, program, EXAMPLE]
    return float(subprocess.run(command, cwd=EXAMPLE.parent, check=True, capture_output=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--rounds", type=int, default=9, help="number of measurements of each (default: %(default)s)")
    parser.add_argument("--python", type=Path, help="interpreter of the environment to measure (default: a new one)")
    parser.add_argument("--checked", action="store_true", help="exit with 1 if an aim is missed")
    arguments = parser.parse_args()
    with environment(arguments.python) as programs, tempfile.TemporaryDirectory() as scratch:
        python, tailcast = programs / "python", programs / "tailcast"
        worker = Path(scratch) / "worker.py"
        worker.write_text(WORKER)
        cases = {
            "--help": (0.3, lambda: cpu_s([tailcast, "--help"])),
            "simulate --help": (0.3, lambda: cpu_s([tailcast, "simulate", "--help"])),
            "completion": (0.3, lambda: cpu_s([tailcast], **COMPLETION)),
            "explain minio drives.count": (0.4, lambda: cpu_s([tailcast, "explain", "minio", "drives.count"])),
            "presets": (0.4, lambda: cpu_s([tailcast, "presets"])),
            "check examples/minio.yaml": (0.4, lambda: cpu_s([tailcast, "check", EXAMPLE])),
            "bounds examples/minio.yaml": (0.4, lambda: cpu_s([tailcast, "bounds", EXAMPLE])),
            "simulate examples/minio.yaml": (1.0, lambda: cpu_s([tailcast, "simulate", EXAMPLE])),
            "a worker's first simulation": (0.8, lambda: worker_s(python, worker)),
        }
        found: dict[str, list[float]] = {name: [] for name in cases}
        for counted in (False, *[True] * arguments.rounds):
            for name, (_, measure) in cases.items():
                seconds = measure()
                if counted:
                    found[name].append(seconds)
    rows = [
        {"what": name, "cpu_s": statistics.median(found[name]), "least_s": min(found[name]), "aim_s": aim_s}
        for name, (aim_s, _) in cases.items()
    ]
    if arguments.json:
        print(json.dumps(rows, indent=1))
    else:
        print(f"{'CPU seconds':<30}{'median':>8}{'least':>8}{'aim':>8}")
        for row in rows:
            print(f"{row['what']:<30}{row['cpu_s']:>8.2f}{row['least_s']:>8.2f}{row['aim_s']:>8.1f}")
    if arguments.checked and any(row["cpu_s"] > row["aim_s"] for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
