"""Versions of the code: commit, changes and sources, in checkouts, in other repositories and without Git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.paths import ROOT
from traces.provenance import RECORD, CodeVersion, code_version, hash_of_sources, version_in, write_record

VERSION = CodeVersion("0.1.0", "8407d6f1c2d3" + "0" * 28, True, "3f2a91b0c4d5" + "0" * 52)
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.com")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *AUTHOR, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit_all(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with a file in each package."""
    root = tmp_path / "checkout"
    for name in ("traces", "models", "sim", "validate", "cli", "docs"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(f'"""{name}"""\n')
    (root / "pyproject.toml").write_text("[project]\n")
    (root / ".gitignore").write_text("/out/\n")
    return root


@pytest.fixture
def checkout(packages: Path) -> Path:
    git(packages, "init", "-q")
    commit_all(packages)
    return packages


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


def test_texts() -> None:
    assert str(VERSION) == "0.1.0 (8407d6f1c2d3, dirty)" and VERSION.short == "0.1.0 8407d6f1c2d3 dirty"
    assert replace(VERSION, dirty=False).short == "0.1.0 8407d6f1c2d3"
    assert replace(VERSION, commit=None, dirty=None).short == "0.1.0 sources 3f2a91b0c4d5"


def test_read_from_a_file() -> None:
    data = asdict(VERSION)
    assert CodeVersion.of(data) == VERSION
    assert CodeVersion.of(data | {"of_later_versions": 1}) == VERSION
    assert CodeVersion.of(data | {"dirty": None, "commit": None}) == replace(VERSION, dirty=None, commit=None)
    for other in (None, {}, "0.1.0", data | {"sources": 1}, data | {"dirty": "no"}):
        assert CodeVersion.of(other) is None


def test_this_code() -> None:
    version = code_version()
    assert version.sources == hash_of_sources(ROOT) and len(version.sources) == 64
    if (ROOT / ".git").exists() and shutil.which("git"):
        assert version.commit == head(ROOT) and version.dirty is not None


def test_clean_checkout(checkout: Path) -> None:
    version = version_in(checkout, "1.2")
    assert version == CodeVersion("1.2", head(checkout), False, hash_of_sources(checkout))


@pytest.mark.parametrize("name", ["traces", "models", "sim", "validate", "cli"])
def test_changed_source(checkout: Path, name: str) -> None:
    (checkout / name / "__init__.py").write_text("changed = True\n")
    assert version_in(checkout, "1.2").dirty is True
    git(checkout, "add", "-A")  # staged
    assert version_in(checkout, "1.2").dirty is True


def test_removed_source_and_build_file(checkout: Path) -> None:
    (checkout / "cli" / "__init__.py").unlink()
    assert version_in(checkout, "1.2").dirty is True
    git(checkout, "checkout", "-q", ".")
    assert version_in(checkout, "1.2").dirty is False
    (checkout / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert version_in(checkout, "1.2").dirty is True


def test_other_files_are_not_the_model(checkout: Path) -> None:
    (checkout / "docs" / "__init__.py").write_text("changed = True\n")
    (checkout / "out").mkdir()
    (checkout / "out" / "run.json").write_text("{}")
    (checkout / "notes.txt").write_text("untracked")
    source = checkout / "traces" / "__init__.py"
    os.utime(source, (0, 0))  # the same content with another time
    assert version_in(checkout, "1.2").dirty is False


def test_index_is_left_alone(checkout: Path) -> None:
    os.utime(checkout / "traces" / "__init__.py", (0, 0))
    index = (checkout / ".git" / "index").read_bytes()
    assert version_in(checkout, "1.2").dirty is False
    assert (checkout / ".git" / "index").read_bytes() == index


def test_work_tree_and_shallow_clone(checkout: Path, tmp_path: Path) -> None:
    (checkout / "notes.txt").write_text("second commit")
    commit = commit_all(checkout)
    git(checkout, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", "--depth", "1", checkout.as_uri(), "clone")
    for folder in (tmp_path / "tree", tmp_path / "clone"):
        version = version_in(folder, "1.2")
        assert (version.commit, version.dirty) == (commit, False)
    assert (tmp_path / "tree" / ".git").is_file()


def test_in_a_hook_of_another_repository(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit = head(checkout)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    version = version_in(checkout, "1.2")
    assert (version.commit, version.dirty) == (commit, False)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away")
def test_repository_of_another_user(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = head(checkout)
    for path in [checkout, *checkout.rglob("*")]:
        os.chown(path, 12345, 12345)
    monkeypatch.delenv("SUDO_UID", raising=False)
    refused = subprocess.run(["git", "status"], cwd=checkout, capture_output=True, text=True)
    assert "dubious ownership" in refused.stderr
    version = version_in(checkout, "1.2")
    assert (version.commit, version.dirty) == (commit, False)
    (checkout / "sim" / "__init__.py").write_text("changed = True\n")
    assert version_in(checkout, "1.2").dirty is True


def test_inside_another_repository(packages: Path) -> None:
    """A virtual environment in the checkout of another project, even if that tracks it; and untracked in its root."""
    sources = hash_of_sources(packages)
    unknown = CodeVersion("1.2", None, None, sources)
    git(packages.parent, "init", "-q")
    assert version_in(packages, "1.2") == unknown
    commit_all(packages.parent)
    assert version_in(packages, "1.2") == unknown
    git(packages, "init", "-q")
    git(packages, "add", "pyproject.toml", "cli")  # of the same names
    git(packages, "commit", "-q", "-m", "theirs")
    assert version_in(packages, "1.2") == unknown


def test_without_git(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = CodeVersion("1.2", None, None, hash_of_sources(checkout))
    shutil.copytree(checkout, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    assert version_in(tmp_path / "copy", "1.2") == unknown
    (tmp_path / "broken").mkdir()
    shutil.copytree(checkout, tmp_path / "broken", dirs_exist_ok=True)
    (tmp_path / "broken" / ".git" / "HEAD").write_text("nonsense")
    assert version_in(tmp_path / "broken", "1.2") == unknown
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version_in(checkout, "1.2") == unknown


def test_no_commit_yet(packages: Path) -> None:
    git(packages, "init", "-q")
    git(packages, "add", "-A")
    assert version_in(packages, "1.2") == CodeVersion("1.2", None, None, hash_of_sources(packages))


def test_sources(packages: Path) -> None:
    before = hash_of_sources(packages)
    (packages / "cli" / "__init__.py").write_text("changed = True\n")
    (packages / "traces" / "notes.txt").write_text("no source")
    (packages / "traces" / ".#link.py").symlink_to("nowhere")
    assert hash_of_sources(packages) == before
    (packages / "models" / "__init__.py").rename(packages / "models" / "other.py")
    renamed = hash_of_sources(packages)
    assert renamed != before
    (packages / "sim" / "kernel.c").write_text("int x;\n")
    assert hash_of_sources(packages) not in (before, renamed)


def test_record_of_a_build(checkout: Path, tmp_path: Path) -> None:
    commit, installed = head(checkout), tmp_path / "site-packages"
    shutil.copytree(checkout, installed, ignore=shutil.ignore_patterns(".git", "docs"))
    write_record(checkout, installed, "1.2")
    assert version_in(installed, "1.2") == version_in(checkout, "1.2")
    git(tmp_path, "init", "-q")  # another project that tracks its environment
    commit_all(tmp_path)
    assert version_in(installed, "1.2").commit == commit
    (again := tmp_path / "again").mkdir()
    (again / "traces").mkdir()
    write_record(installed, again, "1.2")  # a wheel of an unpacked source archive
    assert (again / RECORD).read_text() == (installed / RECORD).read_text()


def test_changed_after_installation(checkout: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    shutil.copytree(checkout, installed, ignore=shutil.ignore_patterns(".git", "docs"))
    write_record(checkout, installed, "1.2")
    (installed / "sim" / "__init__.py").write_text("changed = True\n")
    version = version_in(installed, "1.2")
    assert (version.commit, version.dirty) == (head(checkout), True)
    assert version.sources != version_in(checkout, "1.2").sources
