"""The version of tailcast that makes a result: release, commit and a hash of the sources.

Only the standard library and `installed_names` are imported, because setup.py uses this module, too.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from traces.installed_names import PACKAGE, PARTS, as_in_checkout

ROOT = Path(__file__).parents[1]
"""The folder of the packages: a checkout, an unpacked archive or `tailcast` in site-packages."""

RECORD = Path("traces", "_build.json")
"""What a build records of the checkout, in wheels and source archives only; relative to their root."""

_MODEL = "traces", "models", "sim"
_ENDINGS = ".py", ".c", ".h"
_TRACKED = *PARTS, PACKAGE, "pyproject.toml", "setup.py"

_OF_HOOKS = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
}  # fmt: skip
"""Environment variables that Git sets for its hooks."""

_GIT_S = 10.0
"""Time limit of a call of Git, s."""


@dataclass(frozen=True)
class CodeVersion:
    """A version of tailcast.

    Attributes:
        version: the release, such as ``0.1.0``; ``unknown`` if the package is not installed.
        commit: the commit of the checkout that runs, or from which it was built, in hex; None if unknown.
        dirty: whether a file of the packages, or of their build, differs from the commit; None without a commit.
        sources: SHA-256, in hex, of the sources that determine simulated results (`traces`, `models`, `sim`).
    """

    version: str
    commit: str | None
    dirty: bool | None
    sources: str

    @staticmethod
    def of(data: Any) -> CodeVersion | None:
        """Build a version from the output of `dataclasses.asdict` in a file; None if it has none, as older files."""
        kinds = {"version": str, "commit": str | None, "dirty": bool | None, "sources": str}
        known = isinstance(data, dict) and all(name in data and isinstance(data[name], kinds[name]) for name in kinds)
        return CodeVersion(**{name: data[name] for name in kinds}) if known else None

    def __str__(self) -> str:
        """Return a text such as ``0.1.0 (8407d6f1c2d3, dirty)``."""
        return f"{self.version} ({', '.join(self._marks)})"

    @property
    def short(self) -> str:
        """A text without punctuation, such as ``0.1.0 8407d6f1c2d3 dirty``."""
        return " ".join([self.version, *self._marks])

    @property
    def _marks(self) -> list[str]:
        mark = f"sources {self.sources[:12]}" if self.commit is None else self.commit[:12]
        return [mark, *["dirty"] * bool(self.dirty)]


@functools.cache
def code_version() -> CodeVersion:
    """Return the version of the code that runs; it costs two calls of Git in a checkout, and reading the sources."""
    return version_in(ROOT, release())


def release() -> str:
    """Return the release, such as ``0.1.0``; ``unknown`` if the package is not installed."""
    try:
        return importlib.metadata.version("tailcast")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def stamped(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a Run with ``tailcast``, the version that makes it, and the hash of its spec, if any.

    A Run that was read keeps the version that made it, which is None if unknown.
    """
    made: dict[str, Any] = {} if "tailcast" in info else {"tailcast": asdict(code_version())}
    if "spec" in info and "spec_hash" not in info:
        made["spec_hash"] = hash_of_spec(info["spec"])
    return {**info, **made}


def hash_of_spec(values: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of the values that a spec gives, as a Run records them."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def version_in(root: Path, version: str) -> CodeVersion:
    """Return the version of the packages in a folder.

    A record of the build comes first: where the packages are installed, a repository is of something else.

    Args:
        root: a checkout, an unpacked source archive or a folder of installed packages.
        version: its release.
    """
    sources = hash_of_sources(root)
    if (root / RECORD).is_file():
        built = CodeVersion(**json.loads((root / RECORD).read_text(encoding="utf-8")))
        dirty = None if built.commit is None else built.dirty or built.sources != sources
        return replace(built, version=version, dirty=dirty, sources=sources)
    return CodeVersion(version, *_commit(root), sources)


def write_record(root: Path, folder: Path, version: str) -> None:
    """Record the version of the packages in `root` in a copy of them, `folder`, that is to be installed."""
    path = folder / RECORD
    path.unlink(missing_ok=True)  # a hard link in source archives
    path.write_text(json.dumps(asdict(version_in(root, version)), indent=1) + "\n", encoding="utf-8")


def hash_of_sources(root: Path) -> str:
    """Return the SHA-256 of names and contents of the sources that determine simulated results."""
    files = [file for name in _MODEL for file in (root / name).rglob("*") if file.suffix in _ENDINGS]
    digest = hashlib.sha256()
    for file in sorted(files):
        try:
            content = as_in_checkout(file.read_bytes())
        except OSError:  # a dangling link of an editor, or removed meanwhile
            continue
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _commit(root: Path) -> tuple[str | None, bool | None]:
    """Return the commit of a checkout and whether its files differ; (None, None) unless it has the packages."""
    # A repository around the folder, such as that of a project with a virtual environment, is another one.
    packages = [f"{name}/__init__.py" for name in _MODEL]
    if not (root / ".git").exists() or _git(root, "ls-files", "--error-unmatch", "--", *packages) is None:
        return None, None
    status = _git(
        root, "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "--untracked-files=no", "--", *_TRACKED
    )
    lines = (status or "").splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid")), "(initial)")
    if commit == "(initial)":
        return None, None
    return commit, any(not line.startswith("#") for line in lines)


def _git(root: Path, *arguments: str) -> str | None:
    """Return the output of Git in the repository whose work tree is a folder; None if it fails or there is no Git.

    The repository is named instead of found, so that it may belong to another user, as in a container.
    """
    named = [f"--git-dir={root / '.git'}", f"--work-tree={root}", "-c", "core.fsmonitor=false"]
    variables = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(
            ["git", *named, *arguments],
            cwd=root,
            env=variables | {"GIT_OPTIONAL_LOCKS": "0"},  # status would write the index
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_GIT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")
