"""Programs of Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError
from validate.lab.box.packages import install_packages
from validate.lab.store import Progress


@dataclass(frozen=True)
class Programs:
    """The programs of a store.

    Attributes:
        title: what people call the store.
        packages: of the distribution.
        names: of the programs; the first one stands for the store.
        without: beginnings of variables of the environment that they must not see.
    """

    title: str
    packages: Sequence[str]
    names: Sequence[str]
    without: tuple[str, ...] = ("PYTHON", "VIRTUAL_ENV")

    def find(self) -> Path | None:
        """Return the first program, if all are installed."""
        return None if self.missing() else Path(shutil.which(self.names[0]) or "")

    def missing(self) -> list[str]:
        """Return the programs that are not installed."""
        return [program for program in self.names if shutil.which(program) is None]

    def install(self, progress: Progress) -> Path:
        """Install the packages, and return the first program.

        Raises:
            InputError: this is not root's Debian or Ubuntu, or the installation fails.
        """
        install_packages(self.packages, self.missing, progress)
        if lacking := self.missing():
            needed = " ".join(self.packages)
            raise InputError(f"{self.title} is not installed ({lacking[0]} is missing): apt-get install {needed}")
        return Path(shutil.which(self.names[0]) or "")

    def environment(self) -> dict[str, str]:
        """Return the environment of the programs, without settings for another Python or another store."""
        return {name: value for name, value in os.environ.items() if not name.startswith(self.without)}

    def run(self, command: Sequence[str], within_s: float) -> str:
        """Run a program to its end; return what it prints.

        Raises:
            InputError: it fails, or takes too long.
        """
        name = Path(command[0]).name
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=self.environment(), timeout=within_s
            )
        except subprocess.TimeoutExpired as error:
            raise InputError(f"{self.title}: {name} does not end within {within_s:.0f} s") from error
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"{self.title}: {name}: {last}")
        return done.stdout
