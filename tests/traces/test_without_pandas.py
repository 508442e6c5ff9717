"""Commands that do without pandas, and the one whose library needs it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

from tests.paths import EXAMPLES, ROOT
from traces.without_pandas import do_with_pandas, do_without_pandas, does_without_pandas


def test_pandas_can_be_imported_again() -> None:
    before, loaded = does_without_pandas(), sys.modules.pop("pandas", None)
    try:
        do_without_pandas()
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("pandas")
        do_with_pandas()
        assert not does_without_pandas()
    finally:
        if before:
            do_without_pandas()
        if loaded is not None:
            sys.modules["pandas"] = loaded


def test_a_screening_can_be_started_as_a_command() -> None:
    """SALib imports pandas."""
    words = "--set workload.operations=300 --set workload.duration=null --target GET.p99 --json"
    words += " --vary workload.clients=1..4 --vary network.latency=10us..1ms"
    arguments = ["sensitivity", str(EXAMPLES / "minio.yaml"), *words.split()]
    started = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    done = subprocess.run(started, capture_output=True, text=True, cwd=ROOT)
    assert not done.returncode, done.stderr
    assert json.loads(done.stdout)["parameters"]
