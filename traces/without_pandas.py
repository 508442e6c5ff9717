"""Keep pyarrow from importing pandas, which takes as long as all other imports of a command, and is not used."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any


def _refuse(name: str, *_: Any) -> None:
    if name == "pandas":
        raise ModuleNotFoundError("tailcast does without pandas", name=name)


_FINDER: Any = SimpleNamespace(find_spec=_refuse)
"""A finder of modules that leaves all but pandas to those after it."""


def do_without_pandas() -> None:
    """Make ``import pandas`` fail in this process: pyarrow tries it when it makes its first array."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def do_with_pandas() -> None:
    """Let pandas be imported again, for libraries that need it."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


def does_without_pandas() -> bool:
    """Return whether this process does."""
    return _FINDER in sys.meta_path
