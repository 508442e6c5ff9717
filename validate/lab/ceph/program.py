"""Ceph's programs: which they are, and how they are run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validate.lab.programs.debian import Programs

PROGRAMS = Programs(
    "Ceph",
    ("ceph-mon", "ceph-mgr", "ceph-osd", "radosgw", "ceph-common"),
    ("ceph-mon", "ceph-mgr", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool"),
    ("PYTHON", "VIRTUAL_ENV", "CEPH_"),
)
_PYTHON = "/usr/bin/python3"  # the one that has Debian's python3-rados


def version(program: Path) -> str:
    """Return what the program says of itself."""
    return PROGRAMS.run([str(program), "-v"], 30.0).split("\n", 1)[0].strip()


def run_python(code: str, arguments: Sequence[str], within_s: float) -> str:
    """Run code with Ceph's Python modules; return what it prints.

    Raises:
        InputError: it fails, or takes too long.
    """
    return PROGRAMS.run([_PYTHON, "-c", code, *arguments], within_s)
