"""Folders of Runs, and names for the Runs in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traces.errors import InputError
from traces.run import Run


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of Runs, each once: paths that are Runs, and all Runs below the others.

    Raises:
        InputError: one of the paths contains no Run.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        inside = [path] if (path / "run.json").is_file() else sorted(file.parent for file in path.rglob("run.json"))
        # The name of a folder that is still being written begins with a dot.
        inside = [f for f in inside if f == path or not any(p.startswith(".") for p in f.relative_to(path).parts)]
        if not path.is_dir():
            Run.read(path)  # says what the path is
        if not inside:
            raise InputError(f"{path}: contains no Run, which is a folder with a run.json")
        for folder in inside:
            found.setdefault(folder.resolve(), folder)
    return list(found.values())


def run_names(folders: Sequence[Path]) -> list[str]:
    """Return names for Runs: those of their folders if they differ, otherwise the whole paths."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]
