"""Installs Debian packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence

from validate.lab.store import Progress


def install_packages(packages: Sequence[str], is_needed: Callable[[], object], progress: Progress) -> None:
    """Install packages with apt-get, if this is root's Debian or Ubuntu, while something is needed.

    Args:
        is_needed: whether what the packages contain is still missing.
    """
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    for command in (install, ["apt-get", "update", "-q"], install):  # the lists of packages may be absent
        if not is_needed():
            return
        progress(f"installing {' '.join(packages)}")
        subprocess.run(command, capture_output=True, check=False, env=environment)
