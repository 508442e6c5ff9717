"""Where hedging hurts: mean and p99 with a hedge at p95 over those without, by utilisation.

    python benchmarks/hedging_hurts.py [--json] [--size F]

Eight servers with queues of their own behind a load balancer; 1 % of the demands are 20 times as long.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from latency_distributions import Floats, poisson, ran

from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Station
from traces.workload.distributions import Exponential, SlowMode

HEDGES_AT = 0.95
UTILISATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SERVERS = 8
SLOW = SlowMode(base=Exponential(), probability=0.01, factor=20)


def cluster(choice: Choice, policy: Policy) -> Network:
    """Return 8 servers with separate queues; demands have mean 1 s, 1 % of them are 20 times as slow."""
    servers = tuple(Station(f"server {i}", "server", Discipline.FIFO, indices=(i,)) for i in range(SERVERS))
    group = Group(choice, np.arange(SERVERS, dtype=np.int32).reshape(-1, 1))
    visit = Visit(Bound(0), ServiceDemand(constant=1.0, distribution=SLOW))
    return Network(servers, (Route("read", (single(visit),), policy=policy),), groups=(group,))


def hurts_from(utilisation: tuple[float, ...], ratio: list[float]) -> float | None:
    """The utilisation above which a figure is worse with hedging (ratio above 1), interpolated; None: never."""
    better = [i for i, r in enumerate(ratio) if r <= 1]
    if not better:
        return utilisation[0]
    last = better[-1]
    if last == len(ratio) - 1:
        return None
    return float(np.interp(1, ratio[last : last + 2], utilisation[last : last + 2]))


def where_it_hurts(
    n: int = 100_000, seeds: int = 5, utilisations: tuple[float, ...] = UTILISATIONS
) -> list[dict[str, Any]]:
    """Mean and p99 with a hedge at p95, over those without, by utilisation: same arrivals, same first demands.

    The first tenth of each run is left out. `extra_requests` is what hedging adds, per request: 0.05 where the delay
    is the present p95, and up to 1 where latencies have outgrown the quantile of all that was seen so far.
    """
    policies = {"losers leave their queues": True, "losers are served": False}

    def figures(network: Network, rho: float, seed: int) -> tuple[float, float, float]:
        outcome, latency_ms = ran(network, poisson(n, SERVERS * rho, seed), seed)
        steady_ms, extra = latency_ms[n // 10 :], outcome.attempts[n // 10 :] - 1
        return float(steady_ms.mean()), float(np.quantile(steady_ms, 0.99)), float(extra.mean())

    def average(network: Network) -> Floats:
        return np.array([np.mean([figures(network, rho, s) for s in range(seeds)], axis=0) for rho in utilisations])

    table = []
    for choice in (Choice.RANDOM, Choice.LEAST_OUTSTANDING):
        plain = average(cluster(choice, NO_POLICY))
        for name, cancels in policies.items():
            hedged = average(cluster(choice, Policy(hedge_quantile=HEDGES_AT, cancels=cancels)))
            ratio = hedged[:, :2] / plain[:, :2]
            line: dict[str, Any] = {"choice": choice.name, "losers": name, "utilisation": list(utilisations)}
            line["extra_requests"] = [float(extra) for extra in hedged[:, 2]]
            for k, figure in enumerate(("mean", "p99")):
                ratios = [float(r) for r in ratio[:, k]]
                line |= {f"{figure}_ratio": ratios, f"{figure}_hurts_from": hurts_from(utilisations, ratios)}
            table.append(line)
    return table


def show(table: list[dict[str, Any]]) -> None:
    """Print the table."""
    for line in table:
        print(f"{line['choice']}, {line['losers']}: with a hedge / without")
        for figure in ("mean", "p99"):
            ratios = zip(line["utilisation"], line[f"{figure}_ratio"], strict=True)
            cells = "  ".join(f"{rho:g}: {r:.2f}" for rho, r in ratios)
            start = line[f"{figure}_hurts_from"]
            print(f"  {figure:5} {cells}   " + ("never worse" if start is None else f"worse from {start:.2f}"))
        print(
            "  extra "
            + "  ".join(f"{r:g}: {x:.2f}" for r, x in zip(line["utilisation"], line["extra_requests"], strict=True))
        )


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full number of requests (default: %(default)s)"
    )
    arguments = parser.parse_args()
    table = where_it_hurts(max(1000, int(100_000 * arguments.size)))
    if arguments.json:
        print(json.dumps({"where_it_hurts": table}, indent=1))
    else:
        show(table)


if __name__ == "__main__":
    main()
