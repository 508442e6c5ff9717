"""What a forecast of a random spec says that contradicts a long run, or itself.

Each function returns sentences; none if all agrees. A contradiction by a short run may be chance or its start, so it
counts only if it remains in runs that are several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from models.shared.work import WORKERS
from models.store import Spec, compile_spec
from sim.analysis.bounds import bounds_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.saturation.capacity import Capacity, capacity_of
from sim.saturation.stable_rate import with_other_work
from sim.simulate import simulate
from sim.verdict.first_saturated import BUSY, FULL, TOLERATED
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.verdict import FAILING, NEAR, LoadVerdict, verdict_on_run
from tests.random_specs import Mapping, RandomSpec, doubled
from tests.random_subjects import CHANCE, LENGTHS, LONGEST, ROWS, Subject
from traces.errors import InputError
from traces.run import Run
from traces.workload.generate import generate

LIGHT, BELOW, ABOVE = 0.3, 0.9, 1.1
"""Rates as fractions of that at saturation: the first two are served, the third is not."""
_SERVED, _LEAST_SERVED = 0.985, 0.955
"""Responses per arrival from which a rate is served, and below which it is not, in a run of any length; in the longest,
the first decides: where only some requests need what saturates, the others are served at any rate."""
_LOST = 0.025  # fraction of the requests that fail above that at a light load, from which a rate is not served
_LATENCIES = 10.0  # least length of a run, in mean latencies at a light load
_OF_DEMANDS, _OF_TRIALS = 0.02, 0.04
"""By how much rates at saturation may differ between loops: trials end if the limit is between rates 4 % apart."""
SILENT = ("drive_frozen", "link_down", "host_hung")
"""Faults during which requests may wait without an end."""
_SETTLED = 0.4  # fraction of the time after which is counted
_NOISE = 3.0  # standard errors
_GROWS_FROM, _PARTS, _GROWN = 0.2, 5, 1.5
"""Fraction of the time of arrivals after which requests in flight are counted, in how many parts, and the least ratio
of the last to the first: at a constant rate above that at saturation it is 3 at most."""


def of_saturation(subject: Subject) -> list[str]:
    """A rate 10 % below that at saturation is served, one 10 % above is not, and the verdicts agree at any rate."""
    most_ops = subject.capacity_ops
    if most_ops is None:
        return []
    factors = {"at": (LIGHT, BELOW, ABOVE), "at most": (ABOVE,), "at least": (LIGHT, BELOW)}[subject.bound]
    return [line for factor in factors for line in _at(subject, factor, most_ops)]


def _at(subject: Subject, factor: float, most_ops: float) -> list[str]:
    found: list[str] = []
    lengths = LENGTHS if subject.chance(LENGTHS[-1]) <= CHANCE else (*LENGTHS, LONGEST)
    for operations in lengths:
        spec, run = subject.run_at(factor * most_ops, operations)
        assert run.trace is not None
        if float(run.trace.arrival_s[-1]) < _LATENCIES * float(subject.light.latency_s.mean()):
            continue  # hardly a request has ended
        served, lost = served_fraction(run), lost_fraction(run) - lost_fraction(subject.light)
        # Without the store's own work, which has its times, the capacity is the same for all loads.
        known = None if subject.has_own_work else replace(subject.capacity, rate_ops=factor * most_ops)
        verdict = verdict_on_run(run, known) if known is not None else verdict_of_run(spec, run)
        assert verdict is not None
        bent = subject.capacity.bent
        found = [f"{line} ({operations} requests)" for line in _of_verdict(verdict, run, bent)]
        limit = _SERVED if factor < 1 or operations == lengths[-1] else _LEAST_SERVED
        is_served = served > limit and lost < _LOST
        if is_served and factor > 1 and operations == lengths[-1]:
            is_served = not (is_full(run, subject) or is_growing(run))
        if factor < 1 and operations == lengths[-1] and served > _LEAST_SERVED and lost < _LOST:
            is_served = is_served or not is_growing(run)  # long services leave a queue that comes and goes
        if is_served != (factor < 1):
            found.append(f"{served:.3f} of {factor:g} x {most_ops:.5g} op/s served, {lost:.1%} more fail than usually"
                         f" ({operations} requests)")  # fmt: skip
        if verdict.overloaded != (factor > 1):
            found.append(f"{verdict.status} at {factor:g} x {most_ops:.5g} op/s ({operations} requests)")
        first = verdict.saturates_first
        if first is not None and abs(first.capacity_ops / most_ops - 1) > 0.1:
            found.append(f"{first} at {factor:g} x {most_ops:.5g} op/s ({operations} requests)")
        if not found:
            return []
    return found


def verdict_of_run(spec: Spec, run: Run) -> LoadVerdict | None:
    """Return the verdict as commands state it; None: the run has no requests."""
    return verdict_on_run(run, capacity_of_run(spec, run))


def capacity_of_run(spec: Spec, run: Run) -> Capacity:
    """Return the capacity for the requests of a run, until its end."""
    assert run.trace is not None
    return capacity_of(spec, run.trace, end_s=last_end_s([load_of(run)]))


def served_fraction(run: Run) -> float:
    """Return responses as a fraction of arrivals in the last part of the time of arrivals."""
    arrival_s, end_s = run.column("arrival_s"), run.column("end_s")
    until_s = float(arrival_s.max())
    from_s = _SETTLED * until_s
    arrived = int((arrival_s >= from_s).sum())
    ended = int(((end_s >= from_s) & (end_s < until_s)).sum())
    return ended / arrived


def lost_fraction(run: Run) -> float:
    """Return the fraction of the requests in the last part of the time of arrivals that fail."""
    arrival_s = run.column("arrival_s")
    return float(run.failed[arrival_s >= _SETTLED * arrival_s.max()].mean())


def is_full(run: Run, subject: Subject) -> bool:
    """Whether a station has no idle time, though almost all requests are served.

    Such as the shard of a popular bucket index, or the processes of a jammed drive that most requests avoid: requests
    wait there ever longer, but few need it. Pools without an idle token count also where the store's own work takes
    some, as requests that wait for tokens do not finish their work sooner.
    """
    return busiest(run, subject.capacity.bent - subject.pools) >= FULL or offered_load(run, subject) > 1


def offered_load(run: Run, subject: Subject) -> float:
    """Return the most work that requests bring to a pool per time of their arrivals and token, less its standard error.

    Of many pools, such as those of single disks, one may be too slow for the few requests that need it.
    """
    names, (network, requests) = subject.pools, subject.compiled
    alone = names - with_other_work(network, requests)
    assert run.stations is not None
    rows = [row for row in run.stations.to_pylist() if row["name"] in alone and row["visits"]]
    arrival_s = run.column("arrival_s")
    ratio = run.info["course"]["clock_s"] / float(arrival_s.max() - arrival_s.min())
    return max((row["utilization"] * ratio - 1 / math.sqrt(row["visits"]) for row in rows), default=0.0)


def is_growing(run: Run) -> bool:
    """Whether ever more requests are in flight, though almost all are served.

    Such as those of a few full hard disks, whose utilisation does not tell: requests wait there ever longer.
    """
    arrival_s, end_s = run.column("arrival_s"), run.column("end_s")
    edges_s = np.linspace(_GROWS_FROM, 1.0, _PARTS + 1) * float(arrival_s.max())
    spent_s = [(np.clip(end_s, a, b) - np.clip(arrival_s, a, b)).sum() for a, b in pairwise(edges_s)]
    return bool((np.diff(spent_s) > 0).all()) and spent_s[-1] > _GROWN * spent_s[0]


def of_bounds(subject: Subject) -> list[str]:
    """No settled run serves more than the bounds of few requests."""
    if subject.capacity_ops is None:
        return []
    found: list[str] = []
    clients = subject.random.clients
    short = subject.random.spec(subject.closed_loop(clients, ROWS))
    bounds = bounds_of(short, generate(short.workload, 0))
    most_ops = bounds.throughput_ops.high
    stated_ops = bounds.max_throughput_ops
    least = subject.capacity.least
    exact = _OF_TRIALS if least is not None and least.is_tried else _OF_DEMANDS
    if stated_ops is None or abs(stated_ops / subject.capacity_ops - 1) > exact:
        found.append(f"saturates at {stated_ops} op/s, but {subject.capacity_ops} in an open loop")
    if most_ops is None:
        return found
    for operations in LENGTHS:
        spec = subject.random.spec(subject.closed_loop(clients, operations))
        run = simulate(spec, generate(spec.workload, 3), seed=3)
        end_s = np.sort(run.column("end_s")[~run.failed])
        first, last = int(0.2 * len(end_s)), int(0.9 * len(end_s)) - 1
        served_ops = (last - first) / (end_s[last] - end_s[first])
        by_chance = 0.02 + _NOISE * math.sqrt(_spread(end_s[first:last]) / (last - first))
        if served_ops <= most_ops * (1 + by_chance):
            return found
    return [*found, f"{clients} clients get {served_ops:.5g} op/s of at most {most_ops:.5g} ({operations} requests)"]


def _spread(end_s: np.ndarray) -> float:
    """Return the dispersion of the numbers of responses in equal times, at most that of a Poisson process."""
    counts = np.histogram(end_s, 20)[0]
    return float(min(counts.var() / max(counts.mean(), 1e-9), 20.0))


def of_late_faults(subject: Subject) -> list[str]:
    """A fault after the end is as none, to the bit."""
    random = subject.random
    if not random.faults:
        return []
    pacing = pacing_of(subject, 400)
    plain = random.spec(pacing, policies=True)
    trace = generate(plain.workload, 2)
    without = simulate(plain, trace, seed=2)
    end_s = float(without.column("end_s").max()) if len(without) else 1.0
    late = random.spec(pacing, policies=True, faults=random.faults_in(max(end_s, 1e-3), 3.0))
    run = simulate(late, trace, seed=2)
    found = [f"a fault after the end changes the {name}" for name, a, b in (
        ("requests", without.requests, run.requests), ("stations", without.stations, run.stations)
    ) if not a.equals(b)]  # fmt: skip
    a, b = verdict_of_run(plain, without), verdict_of_run(late, run)
    if a != b:
        found.append(f"a fault after the end changes the verdict: {a} / {b}")
    return found


def pacing_of(subject: Subject, operations: int) -> Mapping:
    """Return the pacing of a run at the load of the random spec."""
    random = subject.random
    if random.has_groups:
        return {"duration": operations / 4000}
    if random.load is None:
        return subject.closed_loop(random.clients, operations)
    return {"rate": random.load * (subject.capacity_ops or 1000.0), "operations": operations}


def _long(subject: Subject, operations: int) -> tuple[Spec, Run]:
    """Simulate the spec with policies and faults."""
    random, pacing = subject.random, pacing_of(subject, operations)
    plain = random.spec(pacing, policies=True)
    trace = generate(plain.workload, 4)
    span_s = float(trace.arrival_s.max(initial=0.0))
    if random.faults and not span_s:
        run = simulate(plain, trace, seed=4)
        span_s = float(run.column("end_s").max(initial=1e-3))
    spec = random.spec(pacing, policies=True, faults=random.faults_in(span_s or 1.0)) if random.faults else plain
    return spec, simulate(spec, trace, seed=4, critical_path=True)


def of_run(subject: Subject) -> list[str]:
    """Requests, work and words of a run with policies and faults agree."""
    spec, run = _long(subject, LENGTHS[0])
    found = [*_of_conservation(subject, spec, run)]
    capacity = capacity_of_run(spec, run)
    verdict = verdict_on_run(run, capacity)
    if verdict is not None:
        found += _of_verdict(verdict, run, capacity.bent)
    return found


def _of_conservation(subject: Subject, spec: Spec, run: Run) -> Iterator[str]:
    """Yield what is lost or made, and what breaks Little's formula."""
    arrival_s, start_s, end_s = (run.column(name) for name in ("arrival_s", "start_s", "end_s"))
    if not len(run):
        return
    workload = spec.workload
    if workload.rate is not None and run.trace is not None and len(run) != run.trace.issued:
        stays = any(fault.kind in SILENT for fault in spec.faults)
        if not stays:
            yield f"{run.trace.issued} requests in, {len(run)} out"
    if ((run.column("winner") == 0) != run.failed).any() or (run.column("winner") > run.column("attempts")).any():
        yield "the winning attempt contradicts the error"
    retries = spec.client.retry.retries
    if (run.column("attempts") > 2 * (1 + retries)).any():
        yield "more attempts than the policies allow"
    if (end_s < start_s).any() or (start_s < arrival_s - 1e-12).any():
        yield "a request ends before it starts, or starts before it arrives"
    moved = run.column("transfer_bytes")
    if (moved < 0).any() or (not workload.ranges and (moved > run.column("size_bytes")).any()):
        yield "more bytes are transferred than the object has"
    if workload.rate is None and not workload.groups:
        clients = run.column("client")
        order = np.lexsort((start_s, clients))
        same = clients[order][1:] == clients[order][:-1]
        if (start_s[order][1:] < end_s[order][:-1] - 1e-9)[same].any():
            yield "a client has two requests at once"
        span_s = float(end_s.max() - start_s.min())
        if span_s and float((end_s - start_s).sum()) / span_s > workload.clients * (1 + 1e-9):
            yield "Little: more requests in progress than clients"
    assert run.stations is not None
    for row in run.stations.to_pylist():
        if row["servers"] is not None and not -1e-9 <= row["utilization"] <= 1 + 1e-6:
            yield f"{row['name']} is {row['utilization']:.3f} busy"
        if row["mean_queue"] < -1e-9 or not math.isfinite(row["mean_queue"]):
            yield f"{row['name']} has a queue of {row['mean_queue']}"
    if run.critical_path is not None and run.critical_path.num_rows:
        path = run.critical_path
        parts_s = path.column("waiting_s").to_numpy() + path.column("service_s").to_numpy()
        total_s = np.bincount(path.column("request").to_numpy(), parts_s, len(run))
        if not np.allclose(total_s[~run.failed], (end_s - start_s)[~run.failed], rtol=1e-6, atol=1e-8):
            yield "a critical path does not add up to the latency"


def _of_verdict(verdict: LoadVerdict, run: Run, bent: Collection[str]) -> list[str]:
    """The words of a verdict agree with the figures next to it.

    `bent`: stations that may be busy all the time at a light load, such as journals that commit in groups.
    """
    errors = float(run.failed.mean())
    good = verdict.status in ("healthy", "near saturation", "saturated")
    found = []
    if good and errors > TOLERATED:
        found.append(f"{verdict.status}, but {errors:.2%} of the requests fail")
    if errors >= FAILING and verdict.status != "failing":
        found.append(f"{verdict.status}, but {errors:.2%} of the requests fail")
    if abs(verdict.errors - errors) > 1e-9:
        found.append(f"{verdict.errors:.2%} of the requests fail, but {errors:.2%} in the run")
    if verdict.offered_ops is not None and verdict.served_ops > verdict.offered_ops * (1 + 1e-9):
        found.append(f"{verdict.served_ops:.5g} of {verdict.offered_ops:.5g} op/s served")
    total = sum(each.served_ops for op, each in verdict.ops.items() if "." not in op)
    if abs(total - verdict.served_ops) > 1e-6 * max(total, 1e-9):
        found.append(f"{verdict.served_ops:.5g} op/s served, but {total:.5g} by operation")
    first = verdict.saturates_first
    if first is not None:
        if not 0 <= first.utilization <= 1 + 1e-6 or not first.capacity_ops > 0:
            found.append(f"{first} is impossible")
        if verdict.status == "healthy" and (first.utilization > 0.95 and first.station not in bent):
            found.append(f"healthy, but {first}")
        if good and (verdict.status == "healthy") != (first.headroom > 1 / NEAR):
            found.append(f"{verdict.status}, but {first}")
        if verdict.status == "healthy" and busiest(run, bent) > FULL:
            found.append(f"healthy, but a station is {busiest(run, bent):.1%} busy")
        if verdict.status == "saturated" and first.utilization < FULL:
            found.append(f"saturated, but {first}")
        if verdict.status == "saturated" and first.headroom > 1 / BUSY:
            found.append(f"saturated, but {first}")
        if verdict.overloaded and first.capacity_ops > (verdict.offered_ops or math.inf) * 1.01 and not errors:
            found.append(f"overloaded at {verdict.offered_ops}, but {first}")
    return found


def busiest(run: Run, bent: Collection[str]) -> float:
    """Return the greatest utilisation of a station that requests may have to wait for, without bent ones."""
    assert run.stations is not None
    rows = [row for row in run.stations.to_pylist() if row["servers"] is not None and row["name"] not in bent]
    return max((row["utilization"] for row in rows if row["role"] != WORKERS), default=0.0)


def of_hardware(subject: Subject) -> list[str]:
    """More hardware does not lower the rate at saturation, and requests are not slower beyond noise."""
    if subject.capacity_ops is None:
        return []
    found = []
    for path, random in more_hardware(subject):
        more, change = Subject(random), f"{'.'.join(path)} x 2"
        try:
            most_ops = more.capacity_ops
        except InputError:  # such as drives that no erasure sets fit
            continue
        if most_ops is not None and most_ops < subject.capacity_ops * 0.95:
            found.append(f"{change}: {subject.capacity_ops:.5g} -> {most_ops:.5g} op/s at saturation")
        elif path not in MOVES_WORK:
            found += _slower(subject, more, change)
    return found


def _slower(subject: Subject, more: Subject, change: str) -> list[str]:
    line = ""
    for operations in LENGTHS:
        pairs = []
        for seed in range(3):
            means = []
            for each in (subject, more):
                spec = each.open_loop(0.7 * subject.capacity_ops, operations)
                means.append(float(simulate(spec, generate(spec.workload, seed), seed=seed).latency_s.mean()))
            pairs.append(math.log(means[1] / means[0]) if all(means) else 0.0)
        mean, error = float(np.mean(pairs)), float(np.std(pairs, ddof=1) / math.sqrt(len(pairs)))
        line = f"{change}: latency {math.exp(mean) - 1:+.1%} ± {error:.1%} ({operations} requests)"
        if mean <= 0.02 + 4 * error:
            return []
    return [line]


_MORE = (
    ("hosts", "count"), ("hosts", "cores"), ("hosts", "nic"), ("drives", "count"), ("hosts", "drives"),
    ("proxies", "count"), ("gateways", "count"), ("gateways", "cores"), ("client", "cores"), ("client", "nic"),
)  # fmt: skip
MOVES_WORK = (("hosts", "count"), ("drives", "count"), ("hosts", "drives"), ("gateways", "count"), ("proxies", "count"))
"""More of these move work elsewhere, so that single requests may take longer: fewer accesses are local to the host that
coordinates a request, or a request has more of them. Only the rate at saturation is compared."""


WITH_SETS = ("minio", "rustfs", "silo")
"""Stores whose erasure sets are as wide as the number of drives allows."""
GATEWAY_CORES = (("gateways", "count"), ("gateways", "cores"))
"""More of these are more cores of gateways."""


def is_compared(subject: Subject, path: tuple[str, str]) -> bool:
    """Whether the rate at saturation with twice as much of a part must not be lower.

    It may be with more hosts or drives if a request then takes more work: calls of other hosts where all was local or
    a single host has all requests, wider erasure sets; or if chance places objects anew, of which there are few places.
    And it may be if the same hosts divide their cores otherwise: collocated gateways of Ceph take theirs from the OSDs.
    """
    data = subject.random.data
    hosts, section = data.get("hosts") or {}, data[path[0]]
    if data["store"] == "ceph" and path in GATEWAY_CORES and takes_cores_of_osds(section or {}):
        return False
    if path not in MOVES_WORK:
        return True
    is_alone = path == ("hosts", "count") and hosts.get("count", 1) == 1
    has_few_places = (data.get("ring") or {}).get("part_power", 10) < 8
    keys = data["workload"].get("keys") or {}
    has_few_keys = isinstance(keys, dict) and keys.get("count", 1000) < 1000
    is_wider = data["store"] in WITH_SETS and (data.get("erasure") or {}).get("set_size") is None
    goes_elsewhere = data.get("balance") == "single" or section is None
    return not (is_alone or has_few_places or has_few_keys or is_wider or goes_elsewhere)


def takes_cores_of_osds(gateways: Mapping) -> bool:
    """Whether gateways of Ceph have cores of the hosts of OSDs alone."""
    cores = gateways.get("cores")
    is_shared = cores == "shared" or (isinstance(cores, dict) and bool(cores.get("shared")))
    return bool(gateways.get("collocated")) and not is_shared


def more_hardware(subject: Subject) -> Iterator[tuple[tuple[str, str], RandomSpec]]:
    """Yield the spec with twice as much of one part that it names, and which."""
    made = [(path, more) for path in _MORE if (more := doubled(subject.random, *path)) and is_compared(subject, path)]
    if made:
        yield made[subject.random.seed % len(made)]


def of_engines(subject: Subject) -> list[str]:
    """Both engines give the same outcome to the bit."""
    random = subject.random
    pacing = pacing_of(subject, 150)
    spec = random.spec(pacing, policies=True, faults=random.faults_in(0.5))
    trace = generate(spec.workload, 5)
    network, requests = compile_spec(spec, trace)
    program = Program.of(network, requests, 5, paths=True)
    a, b = simpy_engine.run(program), compiled_engine.run(program)
    return [
        f"engines differ in {name}"
        for name in vars(b)
        if not np.array_equal(np.asarray(getattr(a, name)), np.asarray(getattr(b, name)), equal_nan=True)
    ]


PROPERTIES = {
    "saturation": of_saturation,
    "bounds": of_bounds,
    "late faults": of_late_faults,
    "run": of_run,
    "hardware": of_hardware,
    "engines": of_engines,
}
