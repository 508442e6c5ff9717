"""What differs between releases of MinIO, by date."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator

_NAME = re.compile(r"(?:RELEASE\.)?(\d{4}-\d{2}-\d{2})(?:T[\d:Z-]+)?")

LATEST = "2026-02-12"
"""The commit that the model was read from, 7aac2a2c."""
_LOOKS_UP = "2025-07-23"
_REFUSES = "2024-08-17"
_FIXED_PARITY = "2021-01-30"
_INLINES = "2021-04-06"  # the first release after pull request 11758
_HAS_XL_META = "2020-06-12"  # from memory
EARLIEST = _INLINES
"""The earliest release whose accesses the model has; of earlier ones it has the parity and the files of objects."""


def _as_date(value: Any) -> Any:
    name = _NAME.fullmatch(str(value).strip())
    try:
        return date.fromisoformat(name[1] if name else "").isoformat()
    except ValueError:
        raise ValueError(f"{value!r} is not a release; give its date, such as 2025-07-23") from None


Release = Annotated[str, BeforeValidator(_as_date, json_schema_input_type=str)]
"""The date of a release; its whole name, such as RELEASE.2025-07-23T15-54-02Z, is accepted."""


def has_fixed_parity(release: str) -> bool:
    """Whether the default parity has a limit of 4; before, it was half of the set (the release is assumed)."""
    return release >= _FIXED_PARITY


def inlines(release: str) -> bool:
    """Whether small objects are stored inside xl.meta; before, all had a file with their data."""
    return release >= _INLINES


def has_xl_meta(release: str) -> bool:
    """Whether metadata are in xl.meta, next to a folder with the data; before, xl.json and part.1 were in one folder.

    Then only xl.json was synced, not part.1 (posix.CreateFile and WriteAll, cmd/posix.go of 2019).
    """
    return release >= _HAS_XL_META


def looks_up(release: str) -> bool:
    """Whether a PUT reads the object's metadata under a read lock first (getPoolIdx, cmd/erasure-server-pool.go)."""
    return release >= _LOOKS_UP


def refuses(release: str) -> bool:
    """Whether requests beyond the limit get 429 at once; before, they waited (maxClients, cmd/handler-api.go)."""
    return release >= _REFUSES
