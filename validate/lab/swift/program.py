"""Swift's servers: where they are, how they are installed, and how each is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from traces.errors import InputError
from validate.lab.box.packages import install_packages
from validate.lab.store import Progress

SERVERS = ("object", "container", "account")
"""The servers of a host, in the order of their ports."""

_PACKAGES = ("swift-proxy", "swift-account", "swift-container", "swift-object", "memcached")
_PROGRAMS = (*(f"swift-{kind}-server" for kind in ("proxy", *SERVERS)), "memcached")

_RUN = (
    "import runpy, sys; from swift.common import utils; utils.SWIFT_CONF_FILE = sys.argv[1]; del sys.argv[:2]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a server's program with a swift.conf of its own: the path of that file is otherwise fixed, below /etc."""


def find() -> Path | None:
    """Return the program of the proxy, if all programs are installed."""
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
        raise InputError(f"Swift is not installed ({lacking[0]} is missing): apt-get install {' '.join(_PACKAGES)}")
    return Path(shutil.which(_PROGRAMS[0]) or "")


def python_of(program: Path) -> str:
    """Return the interpreter of Swift's programs, which has its modules."""
    with program.open() as lines:
        first = lines.readline()
    return first[2:].split()[0] if first.startswith("#!") else "/usr/bin/python3"


def environment() -> dict[str, str]:
    """Return the environment of Swift's programs, without settings for another Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def run(program: Path, code: str, *arguments: str) -> str:
    """Run code with Swift's modules; return what it prints.

    Raises:
        InputError: it fails.
    """
    command = [python_of(program), "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=60)
    if done.returncode:
        raise InputError(f"Swift: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout.strip()


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
