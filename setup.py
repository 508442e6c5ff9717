"""Adds the kernel to what pyproject.toml says: a library of C, without Python's headers, for every Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent))  # pip's builds leave it out

from sim.engine.compiled import build


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


if os.environ.get("TAILCAST_NO_KERNEL") == "1":
    setup()
else:
    setup(
        ext_modules=[Extension("sim.engine.compiled._kernel", sources=[])],
        cmdclass={"build_ext": BuildKernel, "bdist_wheel": Wheel},
        setup_requires=[build.ZIG] if build.uses_zig() else [],
    )
