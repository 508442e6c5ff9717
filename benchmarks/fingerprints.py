"""Fingerprints of results, which show whether a change of the code leaves every result bit-identical.

    python benchmarks/fingerprints.py -o before.json                 # then change the code
    python benchmarks/fingerprints.py -o after.json
    python benchmarks/fingerprints.py --compare before.json after.json [--numbers]
    python benchmarks/fingerprints.py --list ; python benchmarks/fingerprints.py --only trace

Commands of `tailcast` run on all examples, on the sample logs of the tests and on the recorded Runs. Each of these
cases gives two hashes: of its numbers (with true, false and null) and of its texts, in the order in which they stand in
the JSON that is printed and in the columns of the tables that are written. Names of fields, of files and of columns are
not hashed, so they may change. Nor are times that something took, versions, and paths of inputs. Pages, tables for
people, and all that asks a live store are left out. The code is whatever Python imports (PYTHONPATH), the examples and
samples are those of --root; but `reference run` takes the examples that belong to the code. Cases keep their names when
a command is spelt anew, so that results of an old commit, made with its own copy of this script, can be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from fingerprinting.cases import Case, cases_of
from fingerprinting.hashes import INPUTS, NUMBERS, TEXTS, Hashes

ROOT = Path(__file__).resolve().parent.parent
FAILED = "failed: "

ALONE = ("whatif", "find", "sensitivity", "failures", "timeline", "plan", "calibrate", "validate", "reference")
"""Commands that would use all cores: each gets one worker, because cases run in parallel."""


def fingerprint(case: Case, root: Path) -> dict[str, str]:
    """Run a case and hash what it gives; where it cannot run, why."""
    hashes, before = Hashes.empty(), Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fingerprints-") as name:
        for link, target in INPUTS.items():
            Path(name, link).symlink_to(root / target, target_is_directory=True)
        os.chdir(name)
        try:
            write_inputs(root)
            for command in case.commands:
                hashes.add_json(json.loads(output_of(command)))
            hashes.add_files(Path())
        except Exception as error:  # the other cases are to go on
            why = f"{FAILED}{type(error).__name__}: {error}"
            return {NUMBERS: why, TEXTS: why}
        finally:
            os.chdir(before)
    return hashes.to_json()


def write_inputs(root: Path) -> None:
    """What commands need beyond the project's files: `site.yaml`, the tutorial's cluster with a workload like the one
    that is learned there from a log, and `growth.yaml`, a short growth of the example's.
    """
    growth = (root / "examples/ceph/growth.yaml").read_text(encoding="utf-8")
    growth = re.sub(r"^months:.*", "months: 12", growth, flags=re.MULTILINE)
    growth = re.sub(r"^scenarios:.*", "scenarios: 3", growth, flags=re.MULTILINE)
    Path("growth.yaml").write_text(growth, encoding="utf-8")
    cluster = (root / "examples/tutorial/cluster.yaml").read_text(encoding="utf-8")
    workload = {
        "rate": "290/s",
        "duration": "12s",
        "mix": {"GET": 74, "PUT": 20, "HEAD": 4, "DELETE": 2},
        "object_size": {"kind": "lognormal", "mean": "500KiB", "cv": 1.2, "max": "16MiB"},
        "keys": {"kind": "zipf", "count": 3000, "exponent": 0.8},
        "buckets": 2,
    }
    Path("site.yaml").write_text(f"{cluster}\nworkload: {json.dumps(workload)}\n", encoding="utf-8")


def output_of(command: str) -> str:
    """What `tailcast` prints for a command with `--json`.

    Raises:
        RuntimeError: its exit code is not 0; with the last line that it says.
    """
    words = [*shlex.split(command), "--json"]
    if any(word in words for word in ALONE) and "--workers" not in words:
        words += ["--workers", "1"]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            importlib.import_module("cli.main").main(words)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
    if code:
        said = err.getvalue().strip().splitlines() or [""]
        raise RuntimeError(f"exit code {code}: {said[-1]}")
    return out.getvalue()


def compute(cases: Sequence[Case], root: Path, workers: int) -> dict[str, str]:
    """The hashes of all cases by name; progress on stderr."""
    begun_s = time.perf_counter()
    found: dict[str, dict[str, str]] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        # The first simulation compiles the engine where that has not been done: once, not in each process.
        code = pool.submit(_warm_up, root).result()
        print(f"code: {code}; examples and samples: {root}", file=sys.stderr)
        waiting = {pool.submit(_timed, case, root): case for case in cases}
        for done, future in enumerate(as_completed(waiting), 1):
            case, (took_s, result) = waiting[future], future.result()
            found[case.name] = result
            word = result[NUMBERS] if result[NUMBERS].startswith(FAILED) else ""
            print(f"{done:4}/{len(cases)} {took_s:6.1f} s  {case.name}  {word}", file=sys.stderr, flush=True)
    print(f"{len(cases)} cases in {time.perf_counter() - begun_s:.0f} s", file=sys.stderr)
    return {f"{case.name}: {part}": found[case.name][part] for case in cases for part in (NUMBERS, TEXTS)}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """A line for each result that is not the same in both, not in both, or failed."""
    lines = []
    for name in dict.fromkeys([*before, *after]):
        if name not in after or name not in before:
            lines.append(f"only {'before' if name in before else 'after'}: {name}")
        elif failed := [value for value in (before[name], after[name]) if value.startswith(FAILED)]:
            lines.append(f"{name}: {failed[-1]}")
        elif before[name] != after[name]:
            lines.append(f"differs: {name}")
    return lines


def main() -> int:
    """Compute, or compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, help="JSON file of the hashes (default: none)")
    parser.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar="FILE",
        help="compare two such files and print the differences (default: none)",
    )
    parser.add_argument("--numbers", action="store_true", help="with --compare: ignore differences in texts")
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="source tree with the examples and samples (default: this one)"
    )
    parser.add_argument("--only", metavar="REGEX", default="", help="run only cases whose name matches (default: all)")
    parser.add_argument("--list", action="store_true", help="print the cases and their commands without running them")
    parser.add_argument(
        "--workers",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="number of parallel cases (default: one per core)",
    )
    given = parser.parse_args()
    if given.compare:
        kept = [_read(path, given.numbers) for path in given.compare]
        lines = differences(*kept)
        print(*lines, f"{len(kept[0])} and {len(kept[1])} results, {len(lines)} differ", sep="\n")
        return 1 if lines else 0
    root = given.root.resolve()
    cases = [case for case in cases_of(root) if re.search(given.only, case.name)]
    if given.list:
        for case in cases:
            print(case.name, *case.commands, sep="\n    ")
        return 0
    results = compute(cases, root, given.workers)
    for name, value in results.items():
        print(f"{value}  {name}")
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(value.startswith(FAILED) for value in results.values()) else 0


def _warm_up(root: Path) -> str:
    """Compile the engine; the folder that the code is in."""
    code = importlib.import_module("cli.main").__file__
    output_of(f"simulate {shlex.quote(str(root / 'examples/minio.yaml'))} --set workload.operations=10")
    return str(Path(str(code)).parent.parent)


def _timed(case: Case, root: Path) -> tuple[float, dict[str, str]]:
    begun_s = time.perf_counter()
    result = fingerprint(case, root)
    return time.perf_counter() - begun_s, result


def _read(path: Path, only_numbers: bool) -> dict[str, str]:
    results: dict[str, str] = json.loads(path.read_text())
    return {name: value for name, value in results.items() if not (only_numbers and name.endswith(f": {TEXTS}"))}


if __name__ == "__main__":
    sys.exit(main())
