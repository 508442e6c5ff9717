"""Imports of commands that load a module when it is first used, not when the command describes its options.

``from sim.capacity import plan`` binds a module that stands for the real one, which its first attribute imports.
``from sim.capacity.plan import plan`` imports it at once.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_PACKAGES = ("traces.", "models.", "sim.", "validate.", "cli.parse.", "cli.tables.", "cli.pages.", "cli.figures.")
_MODULES = ("cli.words",)


# Not importlib.util.LazyLoader: where the import of another module loads such a one, Python 3.11 swallows what is
# raised in there, Ctrl-C among it.
class _Module(ModuleType):
    """Stands for a module of the same name; `sys.modules` has it only while a command is imported."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what the import system looks for
            raise AttributeError(attribute)
        with _unhooked():
            return getattr(importlib.import_module(self.__name__), attribute)


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run as yet."""


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PACKAGES) and fullname not in _MODULES:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.submodule_search_locations is not None:
            return None
        spec.loader = _Loader()
        return spec


_finder = _Finder()


@contextlib.contextmanager
def imported_later() -> Iterator[None]:
    """Modules of ours that are imported meanwhile are loaded when they are first used."""
    sys.meta_path.insert(0, _finder)
    try:
        yield
    finally:
        _unhook()


@contextlib.contextmanager
def _unhooked() -> Iterator[None]:
    """Modules are imported as ever meanwhile."""
    hooked = _finder in sys.meta_path
    if hooked:
        _unhook()
    try:
        yield
    finally:
        if hooked:
            sys.meta_path.insert(0, _finder)


def _unhook() -> None:
    """Import as ever from here on; nothing but commands knows the modules that stand for others."""
    sys.meta_path.remove(_finder)
    for name, module in list(sys.modules.items()):
        if type(module) is _Module:
            del sys.modules[name]
            package, _, last = name.rpartition(".")
            if vars(sys.modules[package]).get(last) is module:
                delattr(sys.modules[package], last)
