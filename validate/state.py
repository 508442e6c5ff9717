"""The folder of what tailcast keeps between commands: stores of the lab, names of buckets."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder: `$TAILCAST_STATE`, else ``tailcast`` in the XDG state home."""
    state = os.environ.get("TAILCAST_STATE")
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return (Path(state) if state else Path(home) / "tailcast").resolve()
