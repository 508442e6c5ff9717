"""The names in a log: numbered while it is read, and hashed by a key where they are not to be known."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

_BETWEEN = "\0"  # bucket and key; neither can hold it
_HASH_BYTES = 8
_QUERY = re.compile(r"\?[^\s\"']*")
_ERROR_CODE = re.compile(r"[A-Z][A-Za-z]+|[1-5]\d\d|error")
_LONGEST_ERROR = 200


class Numbering:
    """Distinct texts, numbered from 0 as they first come."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def of(self, texts: pa.Array) -> pa.Array:
        """The number (int32) of each text; null stays null."""
        encoded = texts.dictionary_encode()
        number = self._number
        found = [number.setdefault(text, len(number)) for text in encoded.dictionary.to_pylist()]
        return pa.array(found, pa.int32()).take(encoded.indices)

    def texts(self, change: Callable[[str], str] | None = None) -> pa.Array:
        """The texts by number, each changed by `change`."""
        return pa.array(self._number if change is None else map(change, self._number), pa.large_string())


class Objects:
    """The objects that requests name, by bucket and key, numbered as they first come."""

    def __init__(self) -> None:
        self._joined = Numbering()

    def __len__(self) -> int:
        return len(self._joined)

    def of(self, bucket: pa.Array, key: pa.Array) -> pa.Array:
        """The number (int32) of each row's object; rows without a bucket are in one called ``bucket``."""
        return self._joined.of(pc.binary_join_element_wise(bucket.fill_null("bucket"), key, _BETWEEN))

    def texts(self, hashed: Hashed | None = None) -> tuple[pa.Array, pa.Array]:
        """Buckets and keys by the number of the object, hashed where told to."""
        if hashed is None:
            joined = self._joined.texts()
        else:
            joined = self._joined.texts(lambda text: _BETWEEN.join(map(hashed.path, text.split(_BETWEEN, 1))))
        parts = pc.split_pattern(joined, _BETWEEN, max_splits=1)
        return pc.list_element(parts, 0), pc.list_element(parts, 1)


class Hashed:
    """Names as keyed hashes: who has not the key can neither compute nor invert them; equal names have equal hashes."""

    def __init__(self, key: bytes) -> None:
        """`key`: the secret; at most its first 64 bytes count (BLAKE2b, RFC 7693)."""
        self._key = key[:64]
        self._part = lru_cache(1 << 16)(self._hash)

    def path(self, name: str) -> str:
        """Each part between slashes by itself, so that a listing by a whole prefix still finds what it found."""
        return "/".join(self._part(part) if part else "" for part in name.split("/"))

    def _hash(self, part: str) -> str:
        return hashlib.blake2b(
            part.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES, key=self._key
        ).hexdigest()


def told_error(text: str) -> str:
    """An error's text without queries, which may hold signatures, in one line of bounded length."""
    return " ".join(_QUERY.sub("", text).split())[:_LONGEST_ERROR] or "error"


def anonymous_error(text: str) -> str:
    """An error's code; ``error`` where its text is more than that."""
    return text if _ERROR_CODE.fullmatch(text) else "error"
