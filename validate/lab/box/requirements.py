"""What a box needs of the machine: Linux, root, network namespaces, FUSE, and programs, which root can install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from traces.errors import InputError
from validate.lab.box import drives
from validate.lab.box.packages import install_packages

_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}
"""The Debian package of each program for networks."""


def require(progress: Callable[[str], None] = lambda line: None) -> None:
    """Make sure that a box can be made; install programs that are missing, if this is root's Debian or Ubuntu.

    Raises:
        InputError: something is missing that cannot be installed; one line names all of it.
    """
    if not sys.platform.startswith("linux"):
        raise InputError(f"a box needs Linux; this is {sys.platform}")
    lacking = [] if os.geteuid() == 0 else ["root"]
    if missing_programs():
        install_packages(sorted(set(missing_programs().values())), missing_programs, progress)
        lacking += [f"{program} (apt: {package})" for program, package in missing_programs().items()]
    if not lacking and (reason := _no_namespaces()):
        lacking.append(reason)
    if drives.missing() and not lacking:
        try:
            drives.install(progress)
        except InputError as error:
            lacking.append(str(error))
    else:
        lacking += drives.missing()
    if lacking:
        raise InputError(f"a box needs {', '.join(lacking)}; plain folders on loopback (no shape) need none of it")


def missing_programs() -> dict[str, str]:
    """Return the programs for networks that are missing, with their packages."""
    return {program: package for program, package in _PACKAGES.items() if shutil.which(program) is None}


def _no_namespaces() -> str | None:
    """Return why there can be no network namespaces; None if there can."""
    name = f"tailcast-trial-{os.getpid()}"
    trial = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    said = " ".join(trial.stderr.split())
    return f"network namespaces ({said})" if trial.returncode else None
