"""Fan-out, hedged and tied requests: the model compared with published measurements.

    python benchmarks/hedging.py [--json] [--size SHARE]

A latency distribution is fitted only to quantiles measured without hedging; figures with hedging, or with fan-out, are
then predictions. What had to be assumed beyond the published figures is named with each distribution.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from latency_distributions import (
    Floats,
    Points,
    distribution,
    distribution_quantile_ms,
    never_queued,
    poisson,
    ran,
    requested,
)

from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Stage, Visit, single
from models.network.service_demand import ServiceDemand
from traces.trace import Pacing

# Dean and Barroso, "The tail at scale", CACM 56(2), 2013: table 1, leaves of a large fan-out service as the root sees
# them; then a read of 1,000 keys of BigTable from 100 servers, hedged after 10 ms, which adds 2 % of requests; then
# reads of a distributed file system, tied after 1 ms.
LEAF_MS = {0.50: 1.0, 0.95: 5.0, 0.99: 10.0}
NINETY_FIVE_MS = {0.50: 12.0, 0.95: 32.0, 0.99: 70.0}
ALL_MS = {0.50: 40.0, 0.95: 87.0, 0.99: 140.0}
LEAVES = 100
KEYS, HEDGE_MS, HEDGED_FRACTION, READ_P999_MS, READ_P999_HEDGED_MS = 1000, 10.0, 0.02, 1800.0, 74.0
TIED_AFTER_MS = 1.0
TIED_MS = {
    "idle": ({0.5: 19.0, 0.9: 38.0, 0.99: 67.0, 0.999: 98.0}, {0.5: 16.0, 0.9: 29.0, 0.99: 42.0, 0.999: 61.0}),
    "terasort": ({0.5: 24.0, 0.9: 56.0, 0.99: 108.0, 0.999: 159.0}, {0.5: 19.0, 0.9: 38.0, 0.99: 67.0, 0.999: 108.0}),
}
DISK_MS = 8.0  # assumed: one random read of a 7,200/min disk

# MinIO on one laptop, s3bench, 2023: reads of 1 MiB by one client, 256 samples, without a hedge; then p99 and maximum
# with a hedge at the 95th percentile. s3bench's p99 of 256 samples is the third largest.
MINIO_MS = {0.0: 3.22, 0.25: 4.06, 0.50: 4.65, 0.75: 5.44, 0.90: 6.73, 0.99: 24.27, 1.0: 73.91}
MINIO_MEAN_MS = 5.7758
MINIO_HEDGED_MS = {"p99": 21.28, "max": 34.57}
READS, HEDGES_AT = 256, 0.95


def quantiles_ms(latency_ms: Floats, at: Points) -> list[float]:
    """The quantiles at the probabilities of `at`."""
    return [float(q) for q in np.quantile(latency_ms, list(at))]


def row(case: str, basis: str, published: Points, ours: list[float]) -> dict[str, Any]:
    """A line of the result: `basis` is ``fitted``, ``predicted``, or what is in between."""
    names = [f"p{100 * p:g}" for p in published]
    return {
        "case": case,
        "basis": basis,
        "published_ms": dict(zip(names, published.values(), strict=True)),
        "ours_ms": dict(zip(names, ours, strict=True)),
    }


def forked(need: int, leaf: ServiceDemand, n: int, shared: ServiceDemand | None = None) -> Floats:
    """Latencies in ms of requests that wait for `need` of 100 independent leaves, after a visit that all share."""
    first = () if shared is None else (single(Visit(0, shared)),)
    network = never_queued(*first, Stage(((Visit(0, leaf),),) * LEAVES, need))
    return ran(network, poisson(n, 1.0, seed=1), seed=1)[1]


def fan_out(n: int = 20_000) -> list[dict[str, Any]]:
    """Table 1: what one leaf's distribution says of 100, and what has to be added to it.

    1. Independent leaves, their distribution through one leaf's quantiles.
    2. The same distribution up to its p99, the tail above it fitted to two figures of "all": p50 and p95. Of 100
       independent leaves all are done with probability F^100, so the leaf's quantile is theirs at p^(1/100).
    3. The first distribution, after a visit shared by all leaves (root, parents, network), fitted to the row "95 %".
    """
    leaf = distribution(LEAF_MS)
    heavy = distribution(LEAF_MS | {p ** (1 / LEAVES): ALL_MS[p] for p in (0.5, 0.95)})
    alone_ms = float(np.median(forked(95, leaf, n)))
    shared = distribution({p: value - alone_ms for p, value in NINETY_FIVE_MS.items()})
    variants = (
        ("independent", leaf, None, "predicted", "predicted"),
        ("independent, heavy tail", heavy, None, "predicted", "p50, p95 fitted; p99 predicted"),
        ("shared visit", leaf, shared, "fitted", "predicted"),
    )
    rows = []
    for name, demand, common, few, whole in variants:
        for need, basis, published in ((95, few, NINETY_FIVE_MS), (LEAVES, whole, ALL_MS)):
            ours = quantiles_ms(forked(need, demand, n, common), published)
            rows.append(row(f"{need} of {LEAVES}, {name}", basis, published, ours))
    return rows


def most_late(fraction_of_leaves: float, late: int) -> float:
    """Return the maximum fraction of requests of 100 leaves with `late` late ones, for any dependence between leaves.

    Markov's inequality, for leaves of which this share is late.
    """
    return min(1.0, LEAVES * fraction_of_leaves / late)


def bigtable(
    reads: int = 10_000, tails: tuple[str, ...] = ("lognormal", "Pareto", "exponential")
) -> list[dict[str, Any]]:
    """p99.9 of a read of 1,000 keys, each hedged after 10 ms; the keys' latencies are independent.

    Two figures fix a key's distribution: 2 % are later than 10 ms (they are the 2 % of requests that hedging adds), and
    of 1,000 the last one's p99.9 is 1,800 ms. How the distribution runs between them is not published: three forms.
    """
    rows = []
    at = {0.999: READ_P999_HEDGED_MS}
    for tail in tails:
        key = distribution({1 - HEDGED_FRACTION: HEDGE_MS, 0.999 ** (1 / KEYS): READ_P999_MS}, tail)
        late = distribution_quantile_ms(key, 0.999 ** (1 / KEYS))
        rows.append(row(f"BigTable, {tail} tail, not hedged", "fitted", {0.999: READ_P999_MS}, [late]))
        network = never_queued(single(Visit(0, key)), policy=Policy(hedge_after_s=HEDGE_MS / 1000))
        outcome, latency_ms = ran(network, poisson(reads * KEYS, 1e5, seed=1), seed=1)
        slowest_ms = latency_ms.reshape(reads, KEYS).max(axis=1)
        line = row(f"BigTable, {tail} tail, hedged", "predicted", at, quantiles_ms(slowest_ms, at))
        rows.append(line | {"extra_requests": float((outcome.attempts - 1).mean())})
    return rows


def tied(n: int = 400_000) -> list[dict[str, Any]]:
    """Tied reads: the queues of the two servers are independent; the first of the two to be served cancels the other.

    How much of a latency is queue and how much is service is not published: all of it is queue, or all but one
    disk access.
    """
    rows = []
    for load, (without, with_) in TIED_MS.items():
        for service_ms in (0.0, DISK_MS):
            queue = distribution({p: value - service_ms for p, value in without.items()})
            visits = Visit(0, queue), Visit(0, ServiceDemand(constant=service_ms / 1000), ties=True)
            for policy, basis, published in (
                (NO_POLICY, "fitted", without),
                (Policy(tied_after_s=TIED_AFTER_MS / 1000), "predicted", with_),
            ):
                network = never_queued(single(*visits), policy=policy)
                ours = quantiles_ms(ran(network, poisson(n, 1.0, seed=1), seed=1)[1], published)
                name = "one request" if policy == NO_POLICY else "tied"
                rows.append(row(f"{load}, {service_ms:g} ms of service, {name}", basis, published, ours))
    return rows


def minio_reads(policy: Policy, seeds: int, before: int = 0) -> dict[str, dict[str, float]]:
    """p99 and maximum in ms of 256 reads by one client, after `before` others: median and 90 % range over seeds."""
    network = never_queued(single(Visit(0, distribution(MINIO_MS, "bounded"))), policy=policy)
    reads = requested(np.zeros(before + READS), Pacing("closed", clients=1))
    last = np.array([np.sort(ran(network, reads, seed)[1][before:])[[-3, -1]] for seed in range(seeds)])
    ranges = np.quantile(last, (0.05, 0.5, 0.95), axis=0).T
    return {
        name: dict(zip(("low", "median", "high"), map(float, three), strict=True))
        for name, three in zip(("p99", "max"), ranges, strict=True)
    }


def minio(seeds: int = 2000) -> dict[str, Any]:
    """The MinIO tail: fitted to the run without a hedge. A hedge's quantile needs 100 reads before it is known."""
    hedge = Policy(hedge_quantile=HEDGES_AT)
    return {
        "published_ms": {"without": {"p99": MINIO_MS[0.99], "max": MINIO_MS[1.0]}, "with": MINIO_HEDGED_MS},
        "mean_ms": {"published": MINIO_MEAN_MS, "ours": 1000 * distribution(MINIO_MS, "bounded").constant},
        "without": minio_reads(NO_POLICY, seeds),
        "with, quantile learned meanwhile": minio_reads(hedge, seeds),
        "with, quantile known before": minio_reads(hedge, seeds, before=READS),
    }


def show(result: dict[str, Any]) -> None:
    """Print the tables."""
    for line in result["fan_out"] + result["bigtable"] + result["tied"]:
        pairs = [f"{p} {value:g} | {line['ours_ms'][p]:.1f}" for p, value in line["published_ms"].items()]
        print(f"{line['case']:44} {'   '.join(pairs):72} ({line['basis']})")
    bound = result["most_requests_with_6_leaves_above_10_ms"]
    print(f"With one leaf's p99 at 10 ms, at most {bound:.0%} of requests can have 6 of 100 above it; published: 50 %.")
    minio_ms = result["minio"]
    print(f"MinIO, ms: published {minio_ms['published_ms']}")
    for case in list(minio_ms)[2:]:
        ranges = [f"{k} {v['median']:.1f} ({v['low']:.1f} to {v['high']:.1f})" for k, v in minio_ms[case].items()]
        print(f"  {case:34} {'   '.join(ranges)}")


def main() -> None:
    """Print the tables, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of requests and seeds (default: %(default)s)",
    )
    arguments = parser.parse_args()

    def sized(count: int) -> int:
        return max(20, int(count * arguments.size))

    result = {
        "fan_out": fan_out(sized(20_000)),
        "most_requests_with_6_leaves_above_10_ms": most_late(0.01, 6),
        "bigtable": bigtable(sized(10_000)),
        "tied": tied(sized(400_000)),
        "minio": minio(sized(2000)),
    }
    if arguments.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)


if __name__ == "__main__":
    main()
