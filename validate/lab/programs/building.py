"""Builds programs from their sources with the tools of their language."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from traces.errors import InputError
from validate.lab.store import Progress


def tool_of(tool: str, name: str, source: str, title: str, variable: str) -> str:
    """Return the path of a tool that builds a program.

    Args:
        tool: its file.
        name: what people call it.
        source: what to install for it.
        title: what people call the program.
        variable: of the environment, which may name the program.

    Raises:
        InputError: the tool is missing.
    """
    path = shutil.which(tool)
    if path is None:
        raise InputError(
            f"{title} is not installed and there is no {name} to build it: "
            f"install {source}, or set {variable} to the program"
        )
    return path


def build(command: Sequence[str], environment: Mapping[str, str], progress: Progress, what: str) -> None:
    """Run a build, and report each line that it says.

    Args:
        command: of the build.
        environment: variables beyond those of this process.
        progress: called with each line.
        what: the build, for messages.

    Raises:
        InputError: it fails; the message has the last line.
    """
    last = ""
    with subprocess.Popen(
        command, env=os.environ | environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stderr is not None
        for line in run.stderr:
            last = line.strip() or last
            progress(last)
    if run.returncode:
        raise InputError(f"{what} failed: {last}")
