"""Remove credentials from the settings of a benchmark."""

from __future__ import annotations

import re
from typing import Any

REPLACED = "*REDACTED*"
"""What replaces a credential, as in warp's own files."""

_NAME = r"(?:secret|access[-_.]?key|s3[-_]?key|keyid|passw|token|cred|signature|http_(?:user|pass))"
_SECRET = re.compile(_NAME, re.IGNORECASE)
_ARGUMENT = re.compile(rf"""(?i)(-{{1,2}}[\w.-]*{_NAME}[\w.-]*)("?\s+"?|=)(?!-)[^\s"]+""")
_ASSIGNMENT = re.compile(rf"(?i)(\b[\w.-]*{_NAME}[\w.-]*)(=)[^\s\";,&]+")
_USER_OF_URL = re.compile(r"(://)[^/@\s\"]+@")


def without_credentials(value: Any, name: str = "") -> Any:
    """Return a value in which keys, secrets, tokens and passwords are replaced, also in command lines and addresses.

    Args:
        value: text, a number, or a list or mapping of such.
        name: the setting's name.
    """
    if isinstance(value, dict):
        return {key: without_credentials(part, str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_credentials(part, name) for part in value]
    if name and _SECRET.search(name) and value not in (None, ""):
        return REPLACED
    if not isinstance(value, str):
        return value
    text = _ARGUMENT.sub(rf"\1\2{REPLACED}", value)
    text = _ASSIGNMENT.sub(rf"\1\2{REPLACED}", text)
    return _USER_OF_URL.sub(rf"\1{REPLACED}@", text)
