"""What differs between releases of s3fs: as measured (docs/s3fs.md), and in s3fs.cpp, curl.cpp, threadpoolman.cpp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["1.97", "1.90"]


@dataclass(frozen=True)
class Release:
    """The behaviour and defaults of a release.

    Attributes:
        threads: requests at a time that move or copy data (`max_thread_count`; 1.90: `parallel_count`).
        lookup_threads: HEADs at a time of a directory's entries; None: the same threads (1.90: `multireq_max`).
        reconnects: whether each request has a new connection.
        absent_heads: HEADs before the LIST that finds no name: NAME, NAME/ and, in 1.90, NAME_$folder$.
        creation_lookups: how often a new file or folder looks up its absent name: both times that it needs it, unless
            it is remembered.
        forgets_written: whether what was written has to be looked up again.
        rename_heads: HEADs of the source that a rename makes.
        attribute_heads: HEADs after a change of attributes.
        looks_after_mkdir: whether a new directory is looked up again, as NAME, which is absent, and as NAME/.
    """

    threads: int
    lookup_threads: int | None
    reconnects: bool
    absent_heads: int
    creation_lookups: int
    forgets_written: bool
    rename_heads: int
    attribute_heads: int
    looks_after_mkdir: bool


RELEASES: dict[Name, Release] = {
    "1.97": Release(10, None, True, 2, 1, False, 1, 0, False),
    "1.90": Release(5, 20, False, 3, 2, True, 0, 1, True),
}
