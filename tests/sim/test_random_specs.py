"""Random specs of all stores: no forecast contradicts a long run, or itself.

`TAILCAST_SPECS` sets the number of specs: 200 by default, 3,000 with `nightly`. By default each spec is checked for one
property, in turn, with `nightly` for all of them.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import lru_cache

import pytest

from tests.contradictions import PROPERTIES, Subject, is_excluded
from tests.profiles import NIGHTLY
from tests.random_specs import random_spec

COUNT = int(os.environ.get("TAILCAST_SPECS", 3_000 if NIGHTLY else 200))
NAMES = tuple(PROPERTIES)
MOST_UNKNOWN = 0.05
"""Greatest fraction of the specs without a rate at saturation."""
MOST_EXCLUDED = 0.05
"""Greatest fraction of the specs that a property excludes by a named condition."""


@lru_cache(maxsize=200)
def subject_of(seed: int) -> Subject:
    """The random spec of a seed, with what an earlier test has calculated from it."""
    return Subject(random_spec(seed))


@pytest.mark.parametrize("seed", range(COUNT))
def test_no_forecast_contradicts_a_run_or_itself(seed: int) -> None:
    subject = subject_of(seed)
    checked = NAMES if NIGHTLY else NAMES[seed % len(NAMES) :][:1]
    found = {name: PROPERTIES[name](subject) for name in checked if not is_excluded(name, subject)}
    assert not {name: lines for name, lines in found.items() if lines}, str(subject.random)


def test_the_rate_at_saturation_is_known_for_almost_all() -> None:
    """Few specs have a load that no station limits, or whose limit is only known to be at most or at least a rate."""
    known = [NAMES.index(name) for name in ("saturation", "bounds", "hardware")]  # whose check has calculated it
    subjects = [subject_of(seed) for seed in range(COUNT) if NIGHTLY or seed % len(NAMES) in known]
    alone = [each for each in subjects if not each.random.has_groups]
    unknown = [each.random.seed for each in alone if each.capacity_ops is None or each.bound != "at"]
    assert len(unknown) <= MOST_UNKNOWN * len(alone), unknown


def test_exclusions_are_narrow() -> None:
    seeds = range(COUNT if NIGHTLY else 60)
    counts = Counter(name for seed in seeds for name in NAMES if is_excluded(name, subject_of(seed)))
    assert all(count <= MOST_EXCLUDED * len(seeds) + 1 for count in counts.values()), counts


def test_random_specs_are_of_all_kinds() -> None:
    made = [random_spec(seed) for seed in range(100)]
    assert Counter(each.data["store"] for each in made).keys() == {"minio", "ceph", "swift", "bob", "openio"}
    assert len({each.name for each in made}) > 20
    changed = {change.partition(":")[0] for each in made for change in each.changes}
    assert len(changed) > 80
    for kind in ("timeout", "retry", "hedge"):
        assert sum(kind in each.policies for each in made) > 15
    assert len({fault["kind"] for each in made for fault in each.faults}) > 6
    assert 20 < sum(bool(each.faults) for each in made) < 70


def test_a_seed_makes_the_spec() -> None:
    random_spec.cache_clear()
    first = [str(random_spec(seed)) for seed in range(10)]
    random_spec.cache_clear()
    assert [str(random_spec(seed)) for seed in range(10)] == first
    assert len(set(first)) == 10
