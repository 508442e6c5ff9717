"""Names in a log: numbered while reading, and replaced by keyed hashes for anonymous imports."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

_BETWEEN = "\0"  # separates bucket and key; neither can contain it
_HASH_BYTES = 8
_QUERY = re.compile(r"\?[^\s\"']*")
_ERROR_CODE = re.compile(r"[A-Z][A-Za-z]+|[1-5]\d\d|error")
_LONGEST_ERROR = 200


class Numbering:
    """Distinct texts, numbered from 0 in order of first occurrence."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._number)

    def of(self, texts: pa.Array) -> pa.Array:
        """Return the number (int32) of each text; null stays null."""
        encoded = texts.dictionary_encode()
        number = self._number
        found = [number.setdefault(text, len(number)) for text in encoded.dictionary.to_pylist()]
        return pa.array(found, pa.int32()).take(encoded.indices)

    def texts(self, change: Callable[[str], str] | None = None) -> pa.Array:
        """Return the texts by number, each transformed by `change`."""
        return pa.array(self._number if change is None else map(change, self._number), pa.large_string())


class ObjectNumbers:
    """Objects by bucket and key, numbered from 0 in order of first occurrence."""

    def __init__(self) -> None:
        self._joined = Numbering()

    def __len__(self) -> int:
        return len(self._joined)

    def of(self, bucket: pa.Array, key: pa.Array) -> pa.Array:
        """Return the number (int32) of each row's object; a missing bucket is called ``bucket``."""
        return self._joined.of(pc.binary_join_element_wise(bucket.fill_null("bucket"), key, _BETWEEN))

    def texts(self, hashed: Hashed | None = None) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
        """Return the buckets and keys by object number, dictionary-encoded, hashed if `hashed` is given."""
        if hashed is None:
            joined = self._joined.texts()
        else:
            joined = self._joined.texts(lambda text: _BETWEEN.join(map(hashed.path, text.split(_BETWEEN, 1))))
        parts = pc.split_pattern(joined, _BETWEEN, max_splits=1)
        return pc.list_element(parts, 0).dictionary_encode(), pc.list_element(parts, 1).dictionary_encode()


class Hashed:
    """Keyed hashes of names: without the key they can be neither computed nor inverted; equal names hash equally."""

    def __init__(self, key: bytes) -> None:
        """`key`: the secret; only its first 64 bytes are used (BLAKE2b, RFC 7693)."""
        self._key = key[:64]
        self._part = lru_cache(1 << 16)(self._hash)

    def path(self, name: str) -> str:
        """Hash each component of a path separately, so that listing by a prefix of whole components still works."""
        return "/".join(self._part(part) if part else "" for part in name.split("/"))

    def _hash(self, part: str) -> str:
        return hashlib.blake2b(
            part.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES, key=self._key
        ).hexdigest()


def plain_error(text: str) -> str:
    """Return an error text in one line of limited length, without URL queries, which may contain signatures."""
    return " ".join(_QUERY.sub("", text).split())[:_LONGEST_ERROR] or "error"


def anonymous_error(text: str) -> str:
    """Return an error code as it is, and any longer text as ``error``."""
    return text if _ERROR_CODE.fullmatch(text) else "error"
