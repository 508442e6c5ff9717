"""Packages import only what stands before them, and SimPy stays in its one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.paths import ROOT

ORDER = ("traces", "models", "sim", "validate", "cli")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            assert node.level == 0, f"{path} imports relatively"
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("package", ORDER)
def test_imports_run_one_way(package):
    later = set(ORDER[ORDER.index(package) + 1 :])
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for path in files:
        assert not imported(path) & later, path


def test_only_the_reference_engine_imports_simpy():
    users = {p.parent for package in ORDER for p in (ROOT / package).rglob("*.py") if "simpy" in imported(p)}
    assert users == {ROOT / "sim" / "engine" / "reference"}
