"""What operations of memcached ask for, were the cache an object store."""

from __future__ import annotations

from collections.abc import Mapping

CACHE_OPERATIONS: Mapping[str, str] = {
    "get": "GET",
    "gets": "GET",
    **dict.fromkeys(("set", "add", "replace", "cas", "append", "prepend", "incr", "decr"), "PUT"),
    "delete": "DELETE",
}
"""By memcached's name (doc/protocol.txt)."""
