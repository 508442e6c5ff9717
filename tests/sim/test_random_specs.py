"""Random specs of all stores: no forecast contradicts a long run, or itself.

`TAILCAST_SPECS` sets the number of specs: 200 by default, 3,000 with `nightly`. By default each spec is checked for one
property, in turn, with `nightly` for all of them.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from functools import lru_cache

import pytest

from sim.simulate import simulate
from sim.verdict.verdict import verdict_on_run
from tests.contradictions import GATEWAY_CORES, PROPERTIES, is_compared, is_growing
from tests.exclusions import has_rare_work, is_excluded
from tests.profiles import NIGHTLY
from tests.random_specs import PACING, Mapping, RandomSpec, examples, random_spec
from tests.random_subjects import Subject
from traces.workload.generate import generate

COUNT = int(os.environ.get("TAILCAST_SPECS", 3_000 if NIGHTLY else 200))
LONG = (1, 3, 16, 28, 36, 80, 88, 107, 111, 114, 117, 139, 140, 144, 147, 151, 166)
"""Seeds whose trials take long: those of s3fs minutes, others 20 to 60 s, or as long as ten of the usual ones."""
SEEDS = range(COUNT + (not NIGHTLY) * sum(seed < COUNT for seed in LONG))
NAMES = tuple(PROPERTIES)
MOST_UNKNOWN = 0.05
"""Greatest fraction of the specs without a rate at saturation."""
MOST_EXCLUDED = 0.05
"""Greatest fraction of the specs that a property excludes by a named condition."""


_nightly = pytest.mark.nightly("they take as long as all others; others have the same kinds of requests and caches")


@lru_cache(maxsize=200 if NIGHTLY else len(SEEDS))
def subject_of(seed: int) -> Subject:
    """The random spec of a seed, with what an earlier test has calculated from it."""
    return Subject(random_spec(seed))


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=_nightly if seed in LONG and not NIGHTLY else ()) for seed in SEEDS]
)
def test_no_forecast_contradicts_a_run_or_itself(seed: int) -> None:
    subject = subject_of(seed)
    checked = NAMES if NIGHTLY else NAMES[seed % len(NAMES) :][:1]
    found = {name: PROPERTIES[name](subject) for name in checked if not is_excluded(name, subject)}
    assert not {name: lines for name, lines in found.items() if lines}, str(subject.random)


def test_the_rate_at_saturation_is_known_for_almost_all() -> None:
    """Few specs have a load that no station limits, or whose limit is only known to be at most or at least a rate."""
    known = [NAMES.index(name) for name in ("saturation", "bounds", "hardware")]  # whose check has calculated it
    seeds = [seed for seed in SEEDS if NIGHTLY or (seed % len(NAMES) in known and seed not in LONG)]
    subjects = [subject_of(seed) for seed in seeds]
    alone = [each for each in subjects if not each.random.has_groups]
    unknown = [each.random.seed for each in alone if each.capacity_ops is None or each.bound != "at"]
    assert len(unknown) <= MOST_UNKNOWN * len(alone), unknown


def test_exclusions_are_narrow() -> None:
    seeds = range(COUNT) if NIGHTLY else [seed for seed in range(40) if seed not in LONG]
    counts = Counter(name for seed in seeds for name in NAMES if is_excluded(name, subject_of(seed)))
    assert all(count <= MOST_EXCLUDED * len(seeds) + 1 for count in counts.values()), counts


def test_random_specs_are_of_all_kinds() -> None:
    made = [random_spec(seed) for seed in range(100)]
    assert Counter(each.data["store"] for each in made).keys() == {
        "minio",
        "ceph",
        "swift",
        "bob",
        "openio",
        "juicefs",
        "s3fs",
        "silo",
        "rustfs",
        "garage",
        "versitygw",
        "seaweedfs",
    }
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


def made(name: str, faults: tuple[Mapping, ...] = (), **sections: Mapping) -> RandomSpec:
    """An example with further sections, in a closed loop."""
    data = dict(examples())[name]
    workload = {field: value for field, value in data["workload"].items() if field not in PACING}
    return RandomSpec(0, name, {**data, "workload": workload, **sections}, (), {}, faults, None, 3)


def test_work_that_begins_after_a_short_run_counts_as_background() -> None:
    """Healing begins seconds after a drive is back; a closed loop with it needs a duration."""
    fault = {"kind": "drive_replaced", "drive": 0, "at": 0.2, "back_at": 0.4}
    plain, healed = (Subject(made("minio/two-pools.yaml", faults)) for faults in ((), (fault,)))
    assert healed.has_background and not plain.has_background
    assert "duration" in healed.closed_loop(3, 100) and "duration" not in plain.closed_loop(3, 100)


def test_failures_that_take_no_time_need_a_duration() -> None:
    subject = Subject(made("reference/rustfs-3node.yaml", ({"kind": "drive_down", "drive": 2, "at": 0.4},)))
    assert subject.has_background and "duration" in subject.closed_loop(3, 100)


def test_pools_over_disks_that_reorder_do_not_tell_how_near_saturation_is() -> None:
    """A volume's appends wait for its disk, whose accesses are shorter at a higher load: 62 % busy at 30 % of it."""
    subject = Subject(made("seaweedfs/cluster.yaml", drives={"count": 4, "preset": "hdd-7k2", "direct": True}))
    assert subject.capacity_ops is not None
    spec = subject.open_loop(0.3 * subject.capacity_ops, 24_000)
    run = simulate(spec, generate(spec.workload, 1), seed=1)
    verdict = verdict_on_run(run, subject.capacity)
    assert verdict is not None and verdict.saturates_first is not None
    assert verdict.saturates_first.role == "drive" and 3 < verdict.saturates_first.headroom < 3.7
    volumes = [row["utilization"] for row in run.station_rows if row["role"] == "volume"]
    assert max(volumes) > 0.45


def test_runs_in_which_few_requests_are_most_of_the_work_tell_nothing() -> None:
    """31 of 24,000 requests that take 42 s each: a run with 10 % more than another one is chance."""
    cpu = {"constant": 0.0613, "distribution": {"kind": "occasional", "probability": 0.00146}}
    rare, usual = (
        Subject(made("recorded-ceph/ceph.yaml", proxy={"cores": 1, "cpu": each}))
        for each in (cpu, {"constant": 0.0613})
    )
    assert has_rare_work(rare) and not has_rare_work(usual)
    assert rare.chance(24_000) == pytest.approx(1 / math.sqrt(24_000 * 0.00146), rel=0.05)


def test_ever_more_requests_at_a_few_full_disks_are_seen() -> None:
    """Of 96 disks that reorder, a few with volumes that are written are full: 99.6 % of the requests are served."""
    subject = Subject(made("seaweedfs/cluster.yaml", drives={"count": 16, "preset": "hdd-7k2"}))
    assert subject.capacity_ops is not None
    growing = []
    for factor in (0.85, 1.15):
        spec = subject.open_loop(factor * subject.capacity_ops, 48_000)
        growing.append(is_growing(simulate(spec, generate(spec.workload, 1), seed=1)))
    assert growing == [False, True]


@pytest.mark.parametrize(("cores", "compared"), [(22, False), ("shared", True)])
def test_collocated_gateways_are_no_more_hardware(cores: int | str, compared: bool) -> None:
    """Twice as many on the same hosts take cores from the OSDs there, unless both use the same cores."""
    gateways = {**dict(examples())["ceph/nvme-squid.yaml"]["gateways"], "cores": cores}
    subject = Subject(made("ceph/nvme-squid.yaml", gateways=gateways))
    assert [is_compared(subject, path) for path in GATEWAY_CORES] == [compared, compared]
