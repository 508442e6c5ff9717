"""Adds to what pyproject.toml says the packages, the kernel (a library of C without Python's headers, for every Python)
and the version of the sources, so that an installation knows its commit.

A checkout has the packages next to each other, and so has its editable installation. A wheel has them, and the
examples, within the package `tailcast`, where they are in the way of no one's folder called `models` or `cli`: imports
are rewritten in the copies.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).parent))  # pip's builds leave it out

from sim.engine.compiled import build
from traces import provenance
from traces.installed_names import PACKAGE, PARTS, installed

IS_CHECKOUT = not {"editable_wheel", "develop", "sdist", "egg_info"}.isdisjoint(sys.argv)
PREFIX = "" if IS_CHECKOUT else f"{PACKAGE}."

DATA = {
    "cli.pages": ["*.css", "*.js", "*.LICENSE", "templates/*.html"],
    "cli.explore": ["*.css"],
    "cli.live": ["*.css"],
    "models.catalogue": ["*.yaml"],
    "sim.engine.compiled": ["kernel/*.[ch]"],
    "validate.lab.box": ["drive/*.[ch]"],
    "validate.reference": ["*.csv"],
    "examples": ["**/*"],
}


class BuildModules(build_py):
    """Rewrites imports, and records the version of the sources; not for an editable installation."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        root = Path(self.build_lib, *PREFIX.split(".")[:-1])
        for module in root.rglob("*.py") if PREFIX else ():
            module.write_text(installed(module.read_text(encoding="utf-8")), encoding="utf-8")
        provenance.write_record(provenance.ROOT, root, self.distribution.get_version())


class SourceArchive(sdist):
    """Records the version of the sources in the archive."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        provenance.write_record(provenance.ROOT, Path(base_dir), self.distribution.get_version())


class BuildKernel(build_ext):
    """Puts the library into the package, or next to its sources in an editable installation."""

    def get_ext_filename(self, fullname: str) -> str:
        return fullname.replace(".", os.sep) + build.ending()

    def build_extension(self, ext: Extension) -> None:
        build.build(Path(self.get_ext_fullpath(ext.name)))


class Wheel(bdist_wheel):
    """A wheel for every Python of one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", build.portable_platform() or super().get_tag()[2]


parts = [*find_packages(include=[pattern for name in PARTS for pattern in (name, f"{name}.*")])]
examples = [] if "editable_wheel" in sys.argv else ["examples"]
commands = {"build_py": BuildModules, "sdist": SourceArchive}
kernel = {}
if os.environ.get("TAILCAST_NO_KERNEL") != "1":
    commands |= {"build_ext": BuildKernel, "bdist_wheel": Wheel}
    kernel = {
        "ext_modules": [Extension(f"{PREFIX}sim.engine.compiled._kernel", sources=[])],
        "setup_requires": [build.ZIG] if build.uses_zig() else [],
    }
setup(
    packages=[PACKAGE, *(PREFIX + name for name in (*parts, *examples))],
    package_dir={PREFIX + name: name.replace(".", "/") for name in (*parts, *examples)} if PREFIX else {},
    package_data={PACKAGE: ["py.typed"]} | {PREFIX + name: patterns for name, patterns in DATA.items()},
    cmdclass=commands,
    **kernel,
)
