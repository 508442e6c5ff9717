"""The rate at saturation: one figure, whatever the load and whichever command states it, which long runs confirm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cli.parse.slo import parse_slo
from models.network.network import Network
from models.shared.caches import has_cache
from models.store import Spec, compile_spec, load_spec, spec_of
from sim.analysis.bounds import bounds_of
from sim.capacity.health import HealthCheck, assess
from sim.demands.service_demands import Demands, mean_demands
from sim.experiments.find.find_limit import InfeasibleTrial, find_limit
from sim.experiments.find.goal import Goal
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants
from sim.saturation.capacity import capacity_of
from sim.saturation.enough_requests import with_enough_requests
from sim.saturation.saturation import _at_saturation, at_saturation, mix_at_saturation
from sim.simulate import simulate
from sim.verdict.verdict import verdict_on_run
from tests.paths import EXAMPLES, SPECS
from tests.profiles import NIGHTLY, others_nightly
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.trace import Trace
from traces.workload.generate import generate

HDD: dict[str, Any] = {
    "store": "minio",
    "release": "2023-02-27",
    "workload": {
        "rate": "15/s",
        "duration": "120s",
        "object_size": "500KB",
        "mix": {"PUT": 1},
        "keys": {"kind": "uniform", "count": 100_000},
    },
    "client": {"timeout": "60s"},
    "hosts": {"count": 1, "cores": {"count": 16}, "cpu": {"PUT": {"constant": "1ms", "per_byte": "2ns"}}},
    "drives": {"count": 12, "preset": "hdd-7k2", "commit_in": "queue"},
    "stored": {"objects": 5e6, "object_size": "500KB"},
}
"""Twelve hard disks on which PUTs write and commit in the head's order."""

SLOW_LIST: dict[str, Any] = {
    "store": "minio",
    "workload": {"rate": "20/s", "duration": "30s", "object_size": "100KB", "mix": {"LIST": 1}},
    "hosts": {"count": 1, "cores": {"count": 4}, "cpu": {"LIST": "3ms"}},
    "drives": {"count": 1, "preset": "hdd-7k2", "commit_in": "queue"},
    "listing": {"entries": 100},
}
"""LISTs that read a hundred entries from one hard disk."""

FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9) if NIGHTLY else (0.9,)
"""Offered rates, as fractions of that at saturation, which is calculated at 1 op/s, a light load, to begin with."""


def example(name: str) -> Spec:
    return spec_of(HDD, "hdd") if name == "hdd" else load_spec(EXAMPLES / name)


def changed(spec: Spec, **workload: Any) -> Spec:
    """The spec with another pacing."""
    kept = spec.workload.model_dump(exclude_unset=True)
    for field in ("rate", "clients", "think_time", "duration", "operations"):
        kept.pop(field, None)
    return spec.model_copy(update={"workload": type(spec.workload).model_validate(kept | workload)})


def saturates_at(spec: Spec, seed: int = 0) -> float:
    most_ops = capacity_of(spec, generate(spec.workload, seed)).capacity_ops
    assert most_ops is not None
    return most_ops


def _open_loops() -> list[str]:
    """Examples of all stores whose workload may be an open loop."""
    found = ["hdd"]
    for path in SPECS:
        try:
            changed(load_spec(path), rate=1.0, operations=10)
        except (InputError, ValueError, AttributeError):
            continue
        if load_spec(path).workload.groups or load_spec(path).faults:  # one of a part of the run, which a rate changes
            continue
        found.append(str(path.relative_to(EXAMPLES)))
    return found


KINDS = (
    "hdd",
    "minio-12-hdd.yaml",
    "minio/hdd-4x4.yaml",
    "recorded-box/minio.yaml",
    "minio.yaml",
    "ceph/nvme-squid.yaml",
    "ceph/box.yaml",  # tokens of index shards are held while commits wait
    "recorded-ceph/ceph.yaml",
    "recorded-swift/swift.yaml",  # processes of object servers are held while drives are busy
)
"""Examples whose rate at saturation is found in different ways, or for different stations."""


@pytest.mark.parametrize(
    "name",
    others_nightly(_open_loops(), (*KINDS, "bob/cluster.yaml", "ceph/rbd-ec-squid.yaml"), "stations of the same kinds"),
)
def test_the_rate_at_saturation_does_not_depend_on_the_load(name: str) -> None:
    spec = example(name)
    most_ops = saturates_at(changed(spec, rate=1.0, operations=300))
    for fraction in FRACTIONS:
        loaded = changed(spec, rate=fraction * most_ops, operations=300)
        of_loaded = saturates_at(loaded)
        assert of_loaded == pytest.approx(most_ops, rel=0.02)
    assert bounds_of(loaded, generate(loaded.workload, 0)).max_throughput_ops == of_loaded


@pytest.mark.parametrize("name", ["minio-12-hdd.yaml", "ceph/rbd-ec-squid.yaml", "recorded-box/minio.yaml"])
def test_loads_share_a_store_at_saturation_which_is_that_of_each(name: str, few_requests: None) -> None:
    loads = [changed(example(name), rate=rate, operations=count) for rate, count in ((1.0, 300), (70.0, 500))]
    traces = [generate(spec.workload, seed) for seed, spec in enumerate(loads)]
    one, other = (at_saturation(of, with_enough_requests(of, trace)) for of, trace in zip(loads, traces, strict=True))
    assert one is other
    at_load = with_enough_requests(loads[1], traces[1], at_load=True)
    assert at_load.arrival_s[-1] < 1000 / 50
    anew = _at_saturation(loads[1], at_load)
    assert anew.limits == one.limits
    assert anew.demands.low_s.tobytes() == one.demands.low_s.tobytes()


def test_clients_do_not_change_it_either() -> None:
    """Few clients get less than saturation, because fewer accesses wait."""
    few, many = (changed(example("hdd"), clients=clients, operations=2000) for clients in (12, 600))
    of_few, of_many = (bounds_of(spec, generate(spec.workload, 0)) for spec in (few, many))
    assert of_few.max_throughput_ops == pytest.approx(saturates_at(example("hdd")))
    assert of_many.max_throughput_ops == pytest.approx(saturates_at(example("hdd")))
    assert of_many.throughput_ops.high == of_many.max_throughput_ops
    assert of_few.throughput_ops.high is not None and of_many.throughput_ops.high is not None
    assert of_few.throughput_ops.high < 0.8 * of_many.throughput_ops.high


@pytest.mark.parametrize("name", KINDS)
def test_a_rate_10_percent_below_is_served_and_one_above_is_not(name: str) -> None:
    spec = example(name)
    most_ops = saturates_at(changed(spec, rate=1.0, operations=2000))
    for factor in (0.9, 1.1):
        loaded = changed(spec, rate=factor * most_ops, operations=8000)
        trace = generate(loaded.workload, 1)
        run = simulate(loaded, trace, seed=1)
        backlog = float((run.column("end_s") > trace.arrival_s[-1]).mean())
        # Of a rate 10 % above, a tenth waits at the end, if all stations of a kind saturate.
        assert (backlog > 0.04) == (factor > 1), (factor, backlog)
        verdict = verdict_on_run(run, capacity_of(loaded, trace))
        assert verdict is not None and verdict.saturates_first is not None
        assert verdict.overloaded == (factor > 1)
        assert verdict.saturates_first.capacity_ops == pytest.approx(most_ops, rel=0.06)


@pytest.mark.parametrize("timeout", [None, "60s"])
def test_a_disk_whose_clients_give_up_serves_the_rate_at_saturation(timeout: str | None) -> None:
    """Accesses that wait shorten each other's seeks: at 0.73 op/s, the rate of a disk without a queue, few wait."""
    data = {**SLOW_LIST, "client": {"timeout": timeout}} if timeout else SLOW_LIST
    most_ops = saturates_at(spec_of(data, "test"))
    assert most_ops == pytest.approx(2.21, abs=0.01)
    for factor in (0.45, 0.9, 1.1):
        spec = changed(spec_of(data, "test"), rate=factor * most_ops, operations=4000)
        run = simulate(spec, generate(spec.workload, 1), seed=1)
        arrival_s, end_s = run.column("arrival_s"), run.column("end_s")
        late = run.failed | (end_s > arrival_s[-1])
        assert (late[2000:].mean() > 0.05) == (factor > 1), (factor, late.mean())


def test_many_rows_are_not_compiled_for_a_few_of_them() -> None:
    spec = changed(load_spec(EXAMPLES / "ceph/nvme-squid.yaml"), rate=1000.0, operations=200_000)
    assert len(mix_at_saturation(spec, generate(spec.workload, 0)).requests) == 50_000
    few = changed(spec, rate=1000.0, operations=20_000)
    assert saturates_at(spec) == pytest.approx(saturates_at(few), rel=0.01)


def test_what_a_cache_holds_follows_from_all_rows() -> None:
    """Of 20,000 of the rows, most would be the first for their objects."""
    data = example("minio.yaml").model_dump(mode="json", exclude_unset=True)
    data["workload"] = {"rate": 100, "object_size": "64KiB", "mix": {"GET": 1}, "operations": 100_000}
    data["workload"]["keys"] = {"kind": "uniform", "count": 30_000}
    plain, cached = (spec_of(override(data, [f"hosts.page_cache.size={size}"]), "test") for size in ("0", "16GiB"))
    assert has_cache(cached) and not has_cache(plain)
    trace = generate(cached.workload, 0)
    visits = []
    some = mix_at_saturation(cached, trace)
    for network, demands in (_of_all_rows(cached, trace), (some.network, some.demands())):
        drives = [k for k, station in enumerate(network.stations) if station.role == "drive"]
        visits.append(float(demands.fraction @ demands.visits[:, drives].sum(axis=1)))
    assert visits[1] == pytest.approx(visits[0], rel=0.05)


def _of_all_rows(spec: Spec, trace: Trace) -> tuple[Network, Demands]:
    network, requests = compile_spec(spec, trace, saturated=True)
    return network, mean_demands(network, requests)


@pytest.mark.parametrize(
    ("name", "clients", "least"),
    [
        ("hdd", 30, 0.95),
        ("hdd", 300, 0.95),
        ("minio/hdd-4x4.yaml", 300, 0.95),
        ("minio-12-hdd.yaml", 200, 0.95),
        ("swift/box.yaml", 200, 0.95),
        ("ceph/redhat-112-hdd.yaml", 56, 0.9),
        ("ceph/nvme-squid.yaml", 1536, 0.95),
    ],
)
def test_no_settled_run_serves_more_than_the_bound_of_few_requests(name: str, clients: int, least: float) -> None:
    short, long = (changed(example(name), clients=clients, operations=count) for count in (1000, 20_000))
    most_ops = bounds_of(short, generate(short.workload, 0)).throughput_ops.high
    assert most_ops is not None
    end_s = np.sort(simulate(long, generate(long.workload, 3), seed=3).column("end_s"))
    served_ops = (0.7 * len(end_s)) / (end_s[int(0.9 * len(end_s)) - 1] - end_s[int(0.2 * len(end_s))])
    assert least * most_ops <= served_ops <= 1.02 * most_ops  # 2 %: the sizes and operations drawn


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("minio/two-pools.yaml", {}),  # a quarter of the objects is in the slow pool
        ("minio-12-hdd.yaml", {"mix": {"GET": 90, "PUT": 10}}),
        ("ceph/radosbench.yaml", {}),  # some placement groups more on some OSDs
        ("minio.yaml", {"object_size": {"kind": "lognormal", "mean": "64KiB", "cv": 1.0}}),
    ],
)
def test_few_requests_have_the_rate_of_many(name: str, workload: dict[str, Any]) -> None:
    """Which requests a short run has, and on which drives, is chance."""
    spec = example(name)
    many = saturates_at(changed(spec, rate=1.0, operations=20_000, **workload))
    few = changed(spec, rate=1.0, operations=200, **workload)
    for seed in range(4 if NIGHTLY else 2):
        found = bounds_of(few, generate(few.workload, seed))
        assert found.max_throughput_ops == pytest.approx(many, rel=0.03)
        assert found.load.offered_ops == pytest.approx(1.0, rel=0.3)
    assert saturates_at(few, seed) == found.max_throughput_ops


def test_drives_that_serve_commits_in_parts_may_have_any_keys() -> None:
    """Their demands are averaged over the placement like those of other drives."""
    keys = {"kind": "uniform", "count": 1_000_000}
    spec = changed(example("ceph/box.yaml"), rate=1.0, operations=2000, keys=keys)
    mix = mix_at_saturation(spec, generate(spec.workload, 0))
    demands = mix.demands()
    assert len(mix.requests) == 2000
    drives = [k for k, each in enumerate(demands.resources) if each.role == "drive"]
    assert len(drives) > 2
    assert (demands.low_s[drives] > 0).all()


def test_find_and_plan_use_the_same_rate() -> None:
    spec = example("hdd")
    most_ops = saturates_at(spec)
    loads = assess(HealthCheck(changed(spec, rate=30.0, operations=100))).loads
    assert max(loads.values()) == pytest.approx(30 / most_ops, rel=1e-6)
    variants = Variants(HDD, settings=Settings(replications=1))
    found = find_limit(variants, Goal("max", "workload.rate", "40", "80"), [parse_slo("PUT.p99<50s")], tolerance=0.1)
    assert found.beyond is not None and found.value is not None
    assert found.value < most_ops
    refused = [trial.value for trial in found.trials if isinstance(trial, InfeasibleTrial)]
    assert refused and min(refused) > 0.99 * most_ops


@pytest.mark.parametrize("fraction", [0.15, 0.3, 0.6, 0.9])
def test_the_verdict_on_a_run_has_the_rate_at_saturation_at_any_load(fraction: float) -> None:
    """Not the rate over the utilisation of disks, which choose from fewer accesses at a light load."""
    most_ops = saturates_at(example("hdd"))
    spec = changed(example("hdd"), rate=fraction * most_ops, operations=1500)
    trace = generate(spec.workload, 0)
    verdict = verdict_on_run(simulate(spec, trace), capacity_of(spec, trace))
    assert verdict is not None and verdict.saturates_first is not None
    assert (verdict.saturates_first.basis, verdict.overloaded) == ("demands", False)
    assert verdict.saturates_first.capacity_ops == pytest.approx(most_ops, rel=0.02)


def test_of_several_workers_that_get_fewer_turns_later_the_rate_is_at_least_that_of_short_trials() -> None:
    """With eight workers of the replicator, requests of one disk of 72 bring more work than it can do from 690 op/s on.

    Three clients have the same: it followed from the 1,000 requests at hand, and was another.
    """
    spec = load_spec(EXAMPLES / "swift/cluster.yaml", ["replicator.concurrency=8"])
    found = []
    for loop in ({"rate": 100.0}, {"clients": 3, "duration": 20.0}):
        of_loop = changed(spec, operations=1000, **loop)
        found.append(capacity_of(of_loop, generate(of_loop.workload, 0)).least)
    assert [each and each.bound for each in found] == ["at least", "at least"]
    assert found[0] is not None and found[1] is not None
    assert found[0].ops == pytest.approx(found[1].ops, rel=0.03) and 640 < found[0].ops < 740


def test_a_store_saturates_where_requests_of_one_disk_of_many_wait_ever_longer() -> None:
    """Of 72 disks, the busiest has more requests than its object server can process from 820 op/s on.

    As 98.6 % of all requests are served at 1,113 op/s, that was stated.
    """
    spec = changed(load_spec(EXAMPLES / "swift/cluster.yaml"), rate=1.0, operations=300)
    least = capacity_of(spec, generate(spec.workload, 0)).least
    assert least is not None and least.role == "object server" and 740 < least.ops < 860


def test_a_trial_in_which_many_requests_are_in_flight_is_repeated() -> None:
    """Of 12,000 requests a tenth is in flight at a time, so a few more may be at the end of a trial by chance.

    661,000 op/s were stated with one NIC of the clients, and 550,000 with a faster one; 727,000 are served.
    """
    changes = ["hosts.cores=224", "background={scheduling: weighted}", "stored.objects=1250000"]
    spec = load_spec(EXAMPLES / "ceph/rbd-fio.yaml", [*changes, "client.nic=6.25GB/s"])
    assert 0.95 * 727e3 < saturates_at(changed(spec, rate=1.0, operations=300)) < 1.05 * 727e3
