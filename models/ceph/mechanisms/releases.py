"""Ceph's releases, in order, for defaults that changed with them."""

from __future__ import annotations

from typing import Literal, get_args

Release = Literal["jewel", "luminous", "mimic", "nautilus", "octopus", "pacific", "quincy", "reef", "squid", "tentacle"]

RELEASES: tuple[Release, ...] = get_args(Release)
"""Oldest first."""


def since(release: Release, first: Release) -> bool:
    """Whether `release` is `first` or a later one."""
    return RELEASES.index(release) >= RELEASES.index(first)
