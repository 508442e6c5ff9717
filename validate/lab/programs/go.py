"""Programs that Go builds from their sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from validate.lab.programs.building import build, tool_of
from validate.lab.programs.found import found
from validate.lab.store import Progress


@dataclass(frozen=True)
class GoProgram:
    """A program that ``go install`` builds.

    Attributes:
        title: what people call the program.
        name: of its file.
        module: path of its package, with the version.
        variable: of the environment, which may name the program.
    """

    title: str
    name: str
    module: str
    variable: str

    def find(self) -> Path | None:
        """Return the program: as the variable names it, else on the PATH, else where Go installs programs.

        Raises:
            InputError: the variable names no program.
        """
        return found(self.variable, self.name, _go_bin() / self.name)

    def install(self, progress: Progress) -> Path:
        """Build the program.

        Args:
            progress: called with a line for each package that Go has come to.

        Raises:
            InputError: there is no Go, or the build fails.
        """
        go = tool_of("go", "Go", "Go", self.title, self.variable)
        progress(f"building {self.module}")
        flags = f"{os.environ.get('GOFLAGS', '')} -buildvcs=false".strip()
        build([go, "install", "-v", self.module], {"GOFLAGS": flags}, progress, f"go install {self.module}")
        return _go_bin() / self.name


def _go_bin() -> Path:
    """Where ``go install`` puts programs; its default where there is no Go."""
    go = shutil.which("go")
    if go:
        known = subprocess.run([go, "env", "GOBIN", "GOPATH"], capture_output=True, text=True, check=False)
        gobin, gopath, *_ = [*known.stdout.split("\n"), "", ""]
        if gobin or gopath:
            return Path(gobin) if gobin else Path(gopath.split(os.pathsep)[0]) / "bin"
    return Path.home() / "go" / "bin"
