"""Swift's servers: which programs they are, and how each is called."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from validate.lab.programs.debian import Programs

SERVERS = ("object", "container", "account")
"""The servers of a host, in the order of their ports."""

PROGRAMS = Programs(
    "Swift",
    ("swift-proxy", "swift-account", "swift-container", "swift-object", "memcached"),
    (*(f"swift-{kind}-server" for kind in ("proxy", *SERVERS)), "memcached"),
)

_RUN = (
    "import runpy, sys; from swift.common import utils; utils.SWIFT_CONF_FILE = sys.argv[1]; del sys.argv[:2]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a server's program with a swift.conf of its own: the path of that file is otherwise fixed, below /etc."""


_WITHIN_S = 60.0


def python_of(program: Path) -> str:
    """Return the interpreter of Swift's programs, which has its modules."""
    with program.open() as lines:
        first = lines.readline()
    return first[2:].split()[0] if first.startswith("#!") else "/usr/bin/python3"


def run(program: Path, code: str, *arguments: str) -> str:
    """Run code with Swift's modules; return what it prints.

    Raises:
        InputError: it fails, or takes too long.
    """
    return PROGRAMS.run([python_of(program), "-c", code, *arguments], _WITHIN_S).strip()


def version(program: Path) -> str:
    """Return the release of Swift."""
    return f"swift {run(program, 'import swift; print(swift.__version__)')}"


def server(program: Path, kind: str, swift_conf: Path, configuration: Path) -> list[str]:
    """Return the command of a server, which logs to its standard output."""
    binary = program.with_name(f"swift-{kind}-server")
    return [python_of(program), "-c", _RUN, str(swift_conf), str(binary), str(configuration), "-v"]


def memcached(address: tuple[str, int]) -> list[str]:
    """Return the command of memcached."""
    binary, user = shutil.which("memcached") or "memcached", ["-u", "root"] if os.geteuid() == 0 else []
    return [binary, *user, "-l", address[0], "-p", str(address[1]), "-U", "0", "-m", "64"]
