"""Ceph's programs: where they are, and how they are installed and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from traces.errors import InputError
from validate.lab.box.packages import install_packages
from validate.lab.store import Progress

_PACKAGES = ("ceph-mon", "ceph-mgr", "ceph-osd", "radosgw", "ceph-common")
_PROGRAMS = ("ceph-mon", "ceph-mgr", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool")
_PYTHON = "/usr/bin/python3"  # the one that has Debian's python3-rados


def find() -> Path | None:
    """Return the program of the monitor, if all programs are installed."""
    return None if missing() else Path(shutil.which(_PROGRAMS[0]) or "")


def missing() -> list[str]:
    """Return the programs that are not installed."""
    return [program for program in _PROGRAMS if shutil.which(program) is None]


def install(progress: Progress) -> Path:
    """Install Debian's packages.

    Raises:
        InputError: this is not root's Debian or Ubuntu, or the installation fails.
    """
    install_packages(_PACKAGES, missing, progress)
    if lacking := missing():
        raise InputError(f"Ceph is not installed ({lacking[0]} is missing): apt-get install {' '.join(_PACKAGES)}")
    return Path(shutil.which(_PROGRAMS[0]) or "")


def environment() -> dict[str, str]:
    """Return the environment of Ceph's programs, without settings for another Python or another Ceph."""
    without = ("PYTHON", "VIRTUAL_ENV", "CEPH_")
    return {name: value for name, value in os.environ.items() if not name.startswith(without)}


def version(program: Path) -> str:
    """Return what the program says of itself."""
    return run([str(program), "-v"], 30.0).split("\n", 1)[0].strip()


def run(command: Sequence[str], within_s: float) -> str:
    """Run a program to its end; return what it prints.

    Raises:
        InputError: it fails, or takes too long.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=within_s)
    except subprocess.TimeoutExpired as error:
        raise InputError(f"Ceph: {Path(command[0]).name} does not end within {within_s:.0f} s") from error
    if done.returncode:
        raise InputError(f"Ceph: {Path(command[0]).name}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


def run_python(code: str, arguments: Sequence[str], within_s: float) -> str:
    """Run code with Ceph's Python modules; return what it prints.

    Raises:
        InputError: it fails, or takes too long.
    """
    return run([_PYTHON, "-c", code, *arguments], within_s)
