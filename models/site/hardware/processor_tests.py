"""Recognises `openssl speed` and `sysbench cpu`, of which a spec takes nothing, and says why.

A store's CPU times are those of whole requests. How long a core takes for a hash or a cipher is a part of them that
depends on the store's own code, and the processors on which they were measured have no such figures.
"""

from __future__ import annotations

import re

from models.site.reader import Found, Reader, SiteFile

_OPENSSL = re.compile(r"^\s*type\s+16 bytes\s|^Doing \S+ (?:for|on) .* size blocks", re.MULTILINE)
_SYSBENCH = re.compile(r"^\s*Prime numbers limit:|^Maximum prime number checked in CPU test:", re.MULTILINE)
_NOTE = (
    "is not used: it tells how fast a core computes {}, which is not known of the processors on which CPU times of "
    "requests were measured; give the speed of a core if you know the ratio"
)


def _unused(kind: str, form: re.Pattern[str], what: str) -> Reader:
    def read(file: SiteFile) -> Found:
        return Found({}, (f"{kind} {_NOTE.format(what)}",))

    return Reader(kind, lambda file: file.json is None and bool(form.search(file.text)), read)


OPENSSL = _unused("openssl speed", _OPENSSL, "hashes and ciphers")
SYSBENCH = _unused("sysbench cpu", _SYSBENCH, "prime numbers")
"""The readers."""
