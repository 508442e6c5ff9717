"""FUSE on this machine, which mounts need."""

from __future__ import annotations

import os

from traces.errors import InputError

_DEVICE = "/dev/fuse"


def require() -> None:
    """Check that file systems can be mounted.

    Raises:
        InputError: they cannot.
    """
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        raise InputError(f"a mount needs {_DEVICE} (the FUSE device, with permission to use it); a gateway does not")
