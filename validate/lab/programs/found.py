"""Where the program of a store is: as the environment names it, on the PATH, or where the lab has installed it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from traces.errors import InputError

_SAYS_WITHIN_S = 30.0


def program_named_by(variable: str) -> Path | None:
    """Return the program that a variable of the environment names; None if it is not set.

    Raises:
        InputError: it names no program.
    """
    named = os.environ.get(variable)
    if not named:
        return None
    path = Path(named)
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise InputError(f"{variable} is {named!r}, which is no program")
    return path.resolve()


def found(variable: str, name: str, installed: Path) -> Path | None:
    """Return the program that a variable names, else that on the PATH, else the installed one; None if there is none.

    Raises:
        InputError: the variable names no program.
    """
    if (named := program_named_by(variable)) is not None:
        return named
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path).resolve()
    return installed if installed.is_file() and os.access(installed, os.X_OK) else None


def first_line(program: Path, option: str = "--version") -> str:
    """Return what a program says of itself, first line; empty where it says nothing."""
    said = subprocess.run([program, option], capture_output=True, text=True, check=False, timeout=_SAYS_WITHIN_S)
    return said.stdout.split("\n", 1)[0].strip()


def cache_folder() -> Path:
    """Return the folder of the user's cache in which the lab installs programs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tailcast"
