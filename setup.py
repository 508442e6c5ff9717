"""Adds to what pyproject.toml says the kernel, a library of C without Python's headers, for every Python, and the
version of the sources, so that an installation knows its commit.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).parent))  # pip's builds leave it out

from sim.engine.compiled import build
from traces import provenance


class BuildModules(build_py):
    """Records the version of the sources next to them, except for an editable installation, which is a checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            provenance.write_record(provenance.ROOT, Path(self.build_lib), self.distribution.get_version())


class SourceArchive(sdist):
    """Records the version of the sources in the archive."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        provenance.write_record(provenance.ROOT, Path(base_dir), self.distribution.get_version())


class BuildKernel(build_ext):
    """Puts the library into the package, or next to its sources in an editable installation."""

    def get_ext_filename(self, fullname: str) -> str:
        return fullname.replace(".", os.sep) + build.LIBRARY.suffix

    def build_extension(self, ext: Extension) -> None:
        build.build(Path(self.get_ext_fullpath(ext.name)))


class Wheel(bdist_wheel):
    """A wheel for every Python of one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", build.portable_platform() or super().get_tag()[2]


COMMANDS = {"build_py": BuildModules, "sdist": SourceArchive}

if os.environ.get("TAILCAST_NO_KERNEL") == "1":
    setup(cmdclass=COMMANDS)
else:
    setup(
        ext_modules=[Extension("sim.engine.compiled._kernel", sources=[])],
        cmdclass=COMMANDS | {"build_ext": BuildKernel, "bdist_wheel": Wheel},
        setup_requires=[build.ZIG] if build.uses_zig() else [],
    )
