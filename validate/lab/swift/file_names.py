"""Names of the files of a Swift's object server, which are hashes and times."""

from __future__ import annotations

import re

_OBJECTS = re.compile(r"^(objects[^/]*)(/\d+)?(/[0-9a-f]{3}(?=/|$))?(/[0-9a-f]{32}(?=/|$))?")
_TIME = re.compile(r"\d{10}\.\d{5}(_[0-9a-f]+)?")
_COMPONENTS = 2
_TEMPORARY = re.compile(r"^(tmp[^/]*)/.+")


def file_name(path: str) -> str:
    """Return the end of a path on a drive, with ``<partition>``, ``<suffix>``, ``<hash>`` and ``<time>``."""

    def named(match: re.Match[str]) -> str:
        below = zip(match.groups()[1:], ("<partition>", "<suffix>", "<hash>"), strict=True)
        return "/".join([match[1], *(name for group, name in below if group)])

    whole = _TIME.sub("<time>", _OBJECTS.sub(named, _TEMPORARY.sub(r"\1/<id>", path)))
    return "/".join(whole.split("/")[-_COMPONENTS:])
