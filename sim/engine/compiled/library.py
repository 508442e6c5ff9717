"""The kernel's shared library: its location, its functions, and whether it was built from these sources."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

from sim.engine.compiled.build import LIBRARY, sources_hash

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "kernel_sources": (ctypes.c_char_p, []),
    "kernel_check": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)]),
    "kernel_create": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]),
    "kernel_check_sheet": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)]),
    "kernel_advance": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
    "kernel_wanted": (ctypes.c_int64, [ctypes.c_void_p]),
    "kernel_begun": (ctypes.c_int64, [ctypes.c_void_p]),
    "kernel_finish": (None, [ctypes.c_void_p]),
    "kernel_ready": (ctypes.c_int64, [ctypes.c_void_p]),
    "kernel_take": (None, [ctypes.c_void_p, ctypes.c_void_p]),
    "kernel_destroy": (None, [ctypes.c_void_p]),
}
"""The types of the result and the arguments. Calls release Python's lock, so engines run concurrently in threads."""


class NoLibraryError(Exception):
    """The library is missing, cannot be loaded, or was built from other sources."""


@cache
def library() -> ctypes.CDLL:
    """Load the library once; the environment variable TAILCAST_KERNEL overrides its path.

    Raises:
        NoLibraryError: there is no suitable library.
    """
    path = Path(os.environ.get("TAILCAST_KERNEL") or LIBRARY)
    try:
        found = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        reason = "is not built" if not path.exists() else f"cannot be loaded: {error}"
        raise NoLibraryError(f"the compiled engine's library {path.name} {reason}") from error
    built_from = found.kernel_sources().decode()
    if built_from != (sources_hash() or built_from):
        raise NoLibraryError(f"the compiled engine's library {path.name} was built from other sources")
    return found


def missing() -> str | None:
    """Return why the compiled engine cannot be used; None: it can."""
    try:
        library()
    except NoLibraryError as error:
        return str(error)
    return None
