"""Programs that Cargo builds from crates."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from traces.errors import InputError
from validate.lab.programs.building import build, tool_of
from validate.lab.programs.found import cache_folder, found
from validate.lab.store import Progress


@dataclass(frozen=True)
class CargoProgram:
    """A program that ``cargo install`` builds into a folder of its own.

    Attributes:
        title: what people call the program.
        name: of its file, and of its crate.
        release: version of the crate.
        variable: of the environment, which may name the program.
        features: of the crate, instead of its default ones.
        profile: variables of the environment that shorten the build.
    """

    title: str
    name: str
    release: str
    variable: str
    features: Sequence[str]
    profile: Mapping[str, str] = field(default_factory=dict)

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
        """Build the program; what an interrupted build has compiled is not compiled again.

        Args:
            progress: called with a line for each crate that Cargo has come to.

        Raises:
            InputError: there is no Cargo, or the build fails.
        """
        cargo = tool_of("cargo", "Cargo", "Rust", self.title, self.variable)
        wanted = f"{self.name} {self.release}"
        progress(f"building {wanted}")
        features = ["--no-default-features", "--features", ",".join(self.features)]
        built = ["--root", str(self._folder), "--target-dir", str(self._folder / "target")]
        command = [cargo, "install", self.name, "--version", self.release, "--locked", *features, *built]
        build(command, self.profile, progress, f"cargo install {wanted}")
        if (program := self.find()) is None:
            raise InputError(f"cargo install {wanted} has built no program {self.name}")
        shutil.rmtree(self._folder / "target", ignore_errors=True)
        return program
