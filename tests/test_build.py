"""Wheels and source archives record the commit that they are built from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.traces.test_provenance import commit_all
from traces.provenance import RECORD, hash_of_sources

BUILT = "traces", "models", "sim", "validate", "cli"
# What is built without the kernel needs no compiler, and the build's own folder is the first on the path.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"TAILCAST_NO_KERNEL": "1"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the project's packages and what builds them, with one commit."""
    pytest.importorskip("setuptools", minversion="77.0.3")
    root = tmp_path_factory.mktemp("build") / "checkout"
    skipped = shutil.ignore_patterns("__pycache__", "_kernel.*", "_build.json")
    for name in BUILT:
        shutil.copytree(ROOT / name, root / name, ignore=skipped)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, root)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commit_all(root)
    return root


def build(root: Path, kind: str, out: Path) -> Path:
    """Build an archive as pip does, by the hooks of the build backend in the folder of the sources."""
    out.mkdir(parents=True, exist_ok=True)
    code = f"import setuptools.build_meta as build; print(build.build_{kind}({str(out)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return out / done.stdout.splitlines()[-1]


def version_of(folder: Path) -> str:
    """The answer to --version of the packages in a folder, whose release is unknown unless they are installed."""
    code = "from traces.provenance import code_version; print(code_version())"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return run.stdout.strip().partition(" ")[2]


def unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_wheel(checkout: Path, tmp_path: Path) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True).stdout.strip()
    installed = unpacked(build(checkout, "wheel", tmp_path / "dist"), tmp_path / "installed")
    recorded = json.loads((installed / RECORD).read_text())
    assert (recorded["commit"], recorded["dirty"]) == (commit, False)
    assert recorded["sources"] == hash_of_sources(installed) == hash_of_sources(checkout)
    assert version_of(installed) == f"({commit[:12]})"
    assert not (checkout / RECORD).exists()
    (installed / "sim" / "simulate.py").write_text("changed = True\n")
    assert version_of(installed) == f"({commit[:12]}, dirty)"


def test_source_archive_and_its_wheel(checkout: Path, tmp_path: Path) -> None:
    archive = build(checkout, "sdist", tmp_path / "dist")
    shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
    (sources,) = (tmp_path / "unpacked").iterdir()
    version = version_of(checkout)
    assert version_of(sources) == version
    assert version_of(unpacked(build(sources, "wheel", tmp_path / "dist"), tmp_path / "installed")) == version


def test_wheel_of_changed_sources(checkout: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(checkout, changed)
    with (changed / "cli" / "__init__.py").open("a") as file:
        file.write("\nCHANGED = True\n")
    installed = unpacked(build(changed, "wheel", tmp_path / "dist"), tmp_path / "installed")
    assert version_of(installed).endswith(", dirty)")
