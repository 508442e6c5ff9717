"""Every program below `benchmarks/` starts: its help says what a user needs, and a tiny run of it ends well."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fingerprinting.cases import examples_of

from models.store import load_spec
from sim.engine.compiled import build
from tests.paths import ROOT
from tests.profiles import others_nightly
from tests.program_starter import Done, Programs
from traces.errors import InputError
from traces.workload.generate import generate
from validate.lab.box.requirements import require
from validate.lab.ceph import program as ceph
from validate.lab.file_systems.registry import FILE_SYSTEMS
from validate.lab.minio import program as minio
from validate.lab.swift import program as swift

BENCHMARKS = ROOT / "benchmarks"
PROGRAMS = sorted(
    str(path.relative_to(BENCHMARKS))
    for path in BENCHMARKS.rglob("*.py")
    if '\nif __name__ == "__main__":\n' in path.read_text(encoding="utf-8")
)
EXAMPLES = ROOT / "examples"
RECORDED = {
    "box/minio_healing.py": {f"light-{op}/1": f"recorded-box/light-{op}" for op in ("get", "put")},
    "box/minio_failures.py": {f"light-{op}/1": f"recorded-box/light-{op}" for op in ("get", "put")},
    "box/minio_box_table.py": {
        f"4x1-box/{op}-4KiB-c1/1": f"recorded-box/light-{op.lower()}" for op in ("GET", "PUT")
    },
    "box/stores.py": {
        f"stores/minio/{op}-4KiB-c1/1": f"recorded-box/light-{op}" for op in ("get", "put")
    },
    "page_cache.py": {"local-64MiB": "recorded-box/light-get"},
}  # fmt: skip
"""Recorded Runs, by the place in the folder ``runs`` at which a program looks for Runs that it has measured.

Where the objects of these are larger, or fewer, than those of the program, its figures mean nothing; but all of its
prediction runs.
"""

TINY = {
    "box/minio_box_table.py": "runs --seeds 1 --light --csv rows.csv",
    "box/stores.py": "--out runs/stores --predict-only --seeds 1 --csv rows.csv",
    "box/minio_healing.py": "runs --cpu 0.01 --seeds 1",  # no replaced drive: MinIO takes minutes to heal one
    "interval_coverage.py": "--size 0.01 --load closed",
    "engine/engines.py": "--size 0.001 --rounds 1",
    "engine/fuzz_kernel.py": "--seconds 0.1 --inputs 10 --library debug.so",
    "engine/memory.py": "--size 0.001",
    "engine/scale.py": "--size 0.001 --rounds 1",
    "engine/sub_requests.py": "--children 200",
    "find_grid.py": "cores hedge --size 0.01",
    "fingerprints.py": "--only '^simulate bob/cluster$' --workers 1",
    "flows.py": "simulate",
    "hedging.py": "--size 0.001",
    "history.py": "startup --rounds 1 --dirty --history history.csv",
    "hedging_hurts.py": "--size 0.001",
    "locality.py": "trace.parquet --seeds 1",
    "page_cache.py": "predict --out runs",
    "published/discrepancy.py": "--level 0.8",
    "published/fit_reference.py": "minio-hdd-s3bench --size 0.01",
    "readers/fuzz_readers.py": "rgw-beast-log --seconds 1",
    "readers/fuzz_options.py": "--inputs 3 --seed 1",
    "readers/proxy_imports.py": "--requests 200 --repeat 1",
    "readers/readers.py": "oracle-general --requests 1000 --repeat 1",
    "recover_truth.py": "{examples}/demo/minio.yaml --trials 1 --size 0.01",
    "run_quality.py": "--trials 1 --size 0.1",
    "startup.py": "--rounds 1 --python {python}",
    "whatif_crn.py": "--replications 2 --size 0.01",
    "whatif_points.py": "--replications 2 --size 0.02 --workers 1",
}
"""Arguments of a tiny run of each program, in a folder with ``runs``, ``trace.parquet`` and ``debug.so``."""

LIVE = {
    "box/accesses.py": ("minio box", "--out out --only minio"),
    "box/ceph_spill.py": ("ceph box", "--out out --size 0.1"),
    "box/juicefs_box.py": ("minio juicefs box", "--out cells.csv --size 0.1"),
    "box/juicefs_conflicts.py": ("minio juicefs", "--seconds 0.5 --only setattr"),
    "box/s3fs_box.py": ("minio s3fs box", "--out cells.csv --size 0.1"),
    "box/minio_garbage.py": ("minio", "--seconds 0.2"),
    "file_system_failures.py": ("minio s3fs", "s3fs --only 'mount killed' --seconds 1"),
    "file_system_accesses.py": ("box", "--out counts.csv --objects 50 --reads 5 --periods 0 --layout minio swift"),
    "replay/watched_replay.py": ("minio", "--rounds 1 --seconds 2"),
    "page_cache.py": ("minio box", "measure --out out --cache 1MiB --requests 20"),
}  # fmt: skip
"""What a tiny run on a live store needs, and its arguments."""
MEASURED = ("box/minio_garbage.py",)
"""Programs that measure in every run of the tests; campaigns have tests of their own."""

ON_THEIR_OWN = {"readers/fuzz_readers.py"}
"""Programs that must import the packages themselves, because they instrument them."""


class Starter:
    """Starts programs as a user would, from a folder with the inputs of the tiny runs."""

    def __init__(self, folder: Path, programs: Programs):
        self.folder, self._programs = folder, programs

    def run(self, program: str, arguments: list[str]) -> Done:
        """Run a program below `benchmarks/`, and wait for its end."""
        if program in ON_THEIR_OWN:
            return started(program, arguments, self.folder)
        return self._programs.run(BENCHMARKS / program, arguments, self.folder)


def started(program: str, arguments: list[str], folder: Path) -> Done:
    """Run a program below `benchmarks/` in a process of its own, and wait for its end."""
    command = [sys.executable, BENCHMARKS / program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    folder = tmp_path_factory.mktemp("benchmarks")
    with Programs(folder) as programs:
        yield Starter(folder, programs)


@pytest.fixture(scope="module")
def inputs(starter: Starter) -> None:
    """Build the kernel with assertions, and simulate a trace."""
    build.build(starter.folder / "debug.so", "debug")
    spec = load_spec(EXAMPLES / "minio.yaml", ["workload.operations=2000", "workload.duration=null"])
    generate(spec.workload, 1).write(starter.folder / "trace.parquet")


def needed(what: str) -> None:
    """Skip the test if the machine lacks something."""
    lacking = {
        "minio": lambda: [] if minio.find() else ["the MinIO server"],
        "ceph": ceph.PROGRAMS.missing,
        "swift": swift.PROGRAMS.missing,
        **{name: partial(_lacking_file_system, name) for name in FILE_SYSTEMS},
        "box": _lacking_for_a_box,
    }
    for name in what.split():
        if found := lacking[name]():
            pytest.skip(f"{', '.join(found)}: not there")


def _lacking_file_system(name: str) -> list[str]:
    return [] if FILE_SYSTEMS[name].find() else [name]


def _lacking_for_a_box() -> list[str]:
    try:
        require()
    except InputError as error:
        return [str(error)]
    return []


def options_of(text: str) -> dict[str, str]:
    """Return what a help says of each option and argument, by its usage, such as ``--size SIZE``."""
    found: dict[str, str] = {}
    _, _, listed = text.partition(
        "\npositional arguments:\n" if "\npositional arguments:\n" in text else "\noptions:\n"
    )
    for line in listed.splitlines():
        if entry := re.match(r"  (\S.*?)(?:  +(.*))?$", line):
            name = entry.group(1)
            found[name] = entry.group(2) or ""
        elif line.startswith("   ") and found:
            found[name] += f" {line.strip()}"
    return found


def test_every_program_has_a_tiny_run() -> None:
    assert TINY.keys() | LIVE.keys() == set(PROGRAMS)


def test_the_docs_name_every_program_with_its_folder() -> None:
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    for path in map(Path, PROGRAMS):
        at_top = path.parent == Path()
        named = f"`benchmarks/{path}`" if at_top else f"`{path.name}`"
        assert named in text and (at_top or f"`benchmarks/{path.parent}/`" in text), path


def test_programs_of_any_name_are_found() -> None:
    assert {"flows.py", "engine/engines.py", "box/ceph_spill.py"} <= set(PROGRAMS)
    assert "readers/log_files.py" not in PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_says_what_is_measured_and_all_defaults(program: str, starter: Starter) -> None:
    done = starter.run(program, ["--help"])
    assert not done.code, done.err
    words = " ".join(done.out.split())
    first = (ast.get_docstring(ast.parse((BENCHMARKS / program).read_text())) or "").splitlines()[0]
    assert first and " ".join(first.split()) in words
    assert f"python benchmarks/{program}" in words
    usage = " ".join(done.out.partition("\n\n")[0].split())
    for option, said in options_of(done.out).items():
        assert said, f"{option}: no help"
        takes_value = " " in option.split(",")[-1].strip()
        optional = f"[{option}" in usage
        if takes_value and optional:
            assert "default: " in said, f"{option}: no default: {said}"


@pytest.mark.parametrize("program", TINY)
def test_tiny_run(program: str, starter: Starter, inputs: None) -> None:
    if program == "readers/fuzz_readers.py" and importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    runs = starter.folder / "runs"
    for place, recorded in RECORDED.get(program, {}).items():
        (runs / place).parent.mkdir(parents=True, exist_ok=True)
        (runs / place).symlink_to(EXAMPLES / recorded)
    try:
        arguments = shlex.split(TINY[program].format(examples=EXAMPLES, python=sys.executable))
        done = starter.run(program, arguments)
    finally:
        shutil.rmtree(runs, ignore_errors=True)
    assert not done.code, done.err
    assert re.search(r"\d", done.out + done.err)


@pytest.mark.live
@pytest.mark.clock
@pytest.mark.parametrize(
    "program",
    others_nightly(LIVE, MEASURED, "they start stores and measure by the same functions, and replay no other way"),
)
def test_tiny_run_on_a_live_store(program: str, lab_state: Path, tmp_path: Path) -> None:
    needs, arguments = LIVE[program]
    needed(needs)
    done = started(program, shlex.split(arguments), tmp_path)
    assert not done.code, done.err
    assert re.search(r"\d", done.out + done.err)


def test_fingerprints_simulate_all_examples_that_are_specs() -> None:
    names = examples_of(ROOT)
    assert len(names) > 40 and "minio" in names
    for name in names:
        load_spec(EXAMPLES / f"{name}.yaml")
