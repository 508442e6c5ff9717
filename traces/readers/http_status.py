"""The statuses of HTTP."""

from __future__ import annotations

import http

FIRST_ERROR, LAST_STATUS = 400, 999
"""From where on they are errors', and the last that can be one."""

_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}


def error_of(status: int) -> str | None:
    """The name of a status from 400 on, such as ``Not Found``; None below."""
    return None if status < FIRST_ERROR else _PHRASES.get(status, f"HTTP {status}")
