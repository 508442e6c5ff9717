"""Commands describe themselves without loading what they work with."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

from cli.commands import failures, find, sensitivity, timeline, whatif
from cli.common import REPLICATIONS
from cli.main import main
from models.store import MODULES
from sim.capacity.timeline import TimelinePlan
from sim.experiments.sweep import Settings
from tests.paths import EXAMPLES
from traces.spec.units import parse_seconds

COMMANDS = (
    "simulate",
    "check",
    "show",
    "explain",
    "presets",
    "bounds",
    "timeline",
    "whatif",
    "find",
    "sensitivity",
    "failures",
    "plan",
    "compare",
)
HEAVY = {"numpy", "scipy", "pyarrow", "plotly.graph_objects", "simpy", "polars", "boto3"}

LOADED = """
import json, sys
from cli.main import main
sys.argv = ["tailcast", *sys.argv[1:]]
try:
    main()
except SystemExit as error:
    print(json.dumps([error.code, sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_loads_no_heavy_library(command):
    run = subprocess.run(
        [sys.executable, "-c", LOADED, *command.split(), "--help"], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(run.stderr.splitlines()[-1])
    assert code == 0 and "--help" in run.stdout
    assert not HEAVY & set(modules)


@pytest.mark.parametrize("command", [["explain", "network.latency"], ["presets"]])
def test_what_describes_specs_loads_no_compiler(command):
    run = subprocess.run([sys.executable, "-c", LOADED, *command], capture_output=True, text=True, check=True)
    code, modules = json.loads(run.stderr.splitlines()[-1])
    assert code == 0 and run.stdout
    assert not {"scipy.special", "pyarrow.compute", *(f"models.{name}.compile" for name in MODULES)} & set(modules)


def loaded(*command: str) -> set[str]:
    run = subprocess.run([sys.executable, "-c", LOADED, *command], capture_output=True, text=True, check=True)
    code, modules = json.loads(run.stderr.splitlines()[-1])
    assert code == 0
    return set(modules)


def test_a_store_is_explained_without_the_others():
    modules = loaded("explain", "minio", "drives.count")
    assert "models.minio.spec.spec" in modules
    assert not {f"models.{name}.spec" for name in ("ceph", "swift", "garage", "juicefs")} & modules


def test_libraries_load_nothing_that_is_not_used():
    modules = loaded("simulate", str(EXAMPLES / "minio.yaml"), "--set", "workload.duration=1s")
    assert "scipy.special" in modules
    assert not {"ssl", "asyncio", "unittest", "numpy.f2py.crackfortran", "scipy.optimize", "pyarrow.parquet"} & modules


def test_explain_takes_a_store_and_a_path(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["explain", "minio", "drives.count", "hosts.count"])
    assert stopped.value.code == 2
    assert "drives.count hosts.count: one path is allowed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["explain", "minoi", "drives.count"])
    error = capsys.readouterr().err
    assert "minoi: no such store; allowed are minio, " in error and "did you mean minio?" in error


def test_no_command_imports_pandas():
    run = subprocess.run(
        [sys.executable, "-c", LOADED, "check", str(EXAMPLES / "minio.yaml")],
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(run.stderr.splitlines()[-1])
    assert code == 0 and "pyarrow" in modules
    assert "pandas" not in modules


@pytest.mark.parametrize("command", [whatif, find, failures])
def test_the_default_number_of_replications_depends_on_draws(command):
    assert inspect.signature(command.command).parameters["replications"].default is None


def test_the_default_number_of_replications_is_that_of_settings():
    assert inspect.signature(sensitivity.command).parameters["replications"].default == REPLICATIONS
    assert Settings().replications == REPLICATIONS


def test_defaults_of_a_timeline_are_those_of_its_plan():
    given = {name: at.default for name, at in inspect.signature(timeline.command).parameters.items()}
    assert (given["states"], given["spacing"]) == (TimelinePlan.states, TimelinePlan.spacing)
    assert parse_seconds(given["window"]) == TimelinePlan.window_s
