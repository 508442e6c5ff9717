"""Conditions with a known reason under which a property of a random spec is not checked."""

from __future__ import annotations

from collections.abc import Callable

from tests.random_subjects import LONGEST, MOST_CHANCE, Subject


def is_excluded(name: str, subject: Subject) -> bool:
    """Whether a condition with a known reason keeps a property from being checked."""
    return any(applies(subject) for applies in EXCLUDED.get(name, ()))


def has_rare_work(subject: Subject) -> bool:
    """Whether so few requests make most of the work of the station that saturates first that runs have it by chance.

    Such as one request in 700 that takes 42 s of a proxy's CPU: 24,000 requests have 31 of these, and a rate 10 % above
    the one at saturation is served in every third run.
    """
    return subject.capacity_ops is not None and subject.chance(LONGEST) > MOST_CHANCE


def stages_writes(subject: Subject) -> bool:
    """Whether writes end in a local cache, whose uploads saturate the store below long after the run.

    A JuiceFS with write-back serves 850 op/s of 24,000 writes of which 118/s can be uploaded.
    """
    return bool((subject.random.data.get("cache") or {}).get("writeback"))


EXCLUDED: dict[str, tuple[Callable[[Subject], bool], ...]] = {
    "saturation": (has_rare_work, stages_writes),
    "bounds": (has_rare_work, stages_writes),
}
"""Conditions under which a property is not checked, each a function whose docstring has the reason."""
