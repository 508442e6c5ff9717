"""Packages import only what stands before them, and SimPy stays in its one place."""

from __future__ import annotations

import ast
import re
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


# Who knows which stores there are

STORE_NAMES = re.compile(
    r"(?<![a-z])(minio|ceph|swift|bob|openio|juicefs|s3fs|silo|rustfs|garage|versitygw|seaweedfs)(?![a-z])|Minio|Ceph|Swift|Bob|Openio|JuiceFS|S3fs"
    r"|Silo|Rustfs|Garage|Versitygw|Seaweed"
)
"""A store as an identifier or a word of it; prose says MinIO, and Ceph in docstrings only."""

KNOWN_HERE = {
    "validate/lab": "how a real store is started",
    "validate/reference/cases.py": "data: names, sources and examples of published cases",
    "validate/scoreboard/recordings.py": "data: folders and specs of recorded Runs",
    "validate/scoreboard/board.py": "data: the rows of the sample by case",
    "validate/reference/by_case.py": "data: published statements by case",
    "validate/reference/criterion.py": "data: published statements, and the examples they are about",
    "validate/reference/posix.py": "data: published times, and the examples they are about",
    "validate/reference/redhat_stores.py": "data: published statements, and the examples they are about",
    "validate/reference/redhat_gateways.py": "data: published statements; those on resharding are of its arithmetic",
}
"""Files above `models` that may name a store, and why."""


def names_of_stores(path: Path) -> set[str]:
    """Stores named in a file's code: modules, identifiers, and texts but for docstrings."""
    tree = ast.parse(path.read_text())
    said: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for statement in node.body:  # a docstring, of a module, class, function or constant
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    statement.value.value = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            said |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            said |= {str(node.module), *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Name):
            said.add(node.id)
        elif isinstance(node, ast.Attribute):
            said.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said.add(node.value)
    return {text for text in said if STORE_NAMES.search(text)}


def test_no_store_is_named_above_models():
    for package in ("sim", "validate", "cli"):
        for path in sorted((ROOT / package).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            if not where.startswith(tuple(KNOWN_HERE)):
                assert not names_of_stores(path), where


def test_exceptions_are_needed():
    for where in KNOWN_HERE:
        paths = sorted((ROOT / where).rglob("*.py")) if (ROOT / where).is_dir() else [ROOT / where]
        assert any(names_of_stores(path) for path in paths), f"{where} names no store any more"


def test_no_spec_s_class_is_asked_for_above_models():
    asks = re.compile(r"isinstance\([^)]*\b(\w*Spec)\b")
    for package in ("sim", "validate", "cli"):
        for path in (ROOT / package).rglob("*.py"):
            assert not asks.search(path.read_text()), path


def test_no_import_circle_is_hidden():
    for package in ORDER:
        for path in (ROOT / package).rglob("*.py"):
            assert "TYPE_CHECKING" not in path.read_text(), path


# Rooms

MODELS = ROOT / "models"


def room(module: str) -> str:
    """Return the folder, or the file, of `models` that a module is in."""
    return module.split(".")[1]


def imports_of_rooms() -> dict[str, set[str]]:
    """Return the other rooms of `models` that each room imports."""
    found: dict[str, set[str]] = {}
    for path in sorted(MODELS.rglob("*.py")):
        mine = room(path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."))
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        others = {room(str(node.module)) for node in nodes if str(node.module).startswith("models.")}
        found.setdefault(mine, set()).update(others - {mine})
    return found


def test_rooms_of_models_have_no_circles():
    left = imports_of_rooms()
    assert {"store", "spec", "basis", "network", "minio"} <= left.keys()
    while free := {name for name, others in left.items() if not others & left.keys()}:
        left = {name: others for name, others in left.items() if name not in free}
    assert not left, "these import each other"
