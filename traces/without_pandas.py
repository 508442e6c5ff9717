"""Keep libraries from importing modules that are not used.

pyarrow tries to import pandas when it makes its first array, which takes as long as all other imports of a command.
`scipy.special` looks up all names of NumPy, and so imports `numpy.f2py` and `numpy.testing` with `unittest`: a fifth of
the time that it takes itself.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import SimpleNamespace
from typing import Any

_DEFERRED = ("numpy.f2py", "numpy.testing")


def _find(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
    if name == "pandas":
        raise ModuleNotFoundError("tailcast does without pandas", name=name)
    if name not in _DEFERRED:
        return None
    spec = PathFinder.find_spec(name, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = importlib.util.LazyLoader(spec.loader)
    return spec


_FINDER: Any = SimpleNamespace(find_spec=_find)
"""A finder of modules that leaves others to those after it."""


def do_without_pandas() -> None:
    """Make ``import pandas`` fail in this process, and execute `_DEFERRED` only when a name of one is used."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def do_with_pandas() -> None:
    """Let pandas be imported again, for libraries that need it."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def does_without_pandas() -> bool:
    """Return whether this process does."""
    return _FINDER in sys.meta_path
