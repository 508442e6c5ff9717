"""Benefit of common random numbers: the variance of a paired difference with the same seed and with different seeds.

    python benchmarks/whatif_crn.py [--json] [--replications N] [--size F]

The quotient of the two variances is by how many times fewer replications tell the difference as well (Law, "Simulation
Modeling and Analysis", 5th ed. 2015, section 11.2). Each pair is a question that users ask.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from models.store import load_spec
from sim.replication.replicate import replicate
from sim.replication.summaries import Figure, Replications
from sim.simulate import simulate

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

_CEPH = "ceph/redhat-112-hdd.yaml"
OPERATIONS = 5000
"""Number of requests of a simulation."""
_CLOSED = ("workload.duration=null",)
_OPEN = (*_CLOSED, "workload.rate=250/s", "hosts.cores.count=3")
_UNHEDGED, _HEDGED = "client.hedge.after=null", "client.hedge.after=p95"

PAIRS: dict[str, tuple[str, tuple[str, ...], str, str, str]] = {
    "MinIO, open loop: a third core": ("minio.yaml", _OPEN, "hosts.cores.count=2", "hosts.cores.count=3", "GET"),
    "MinIO, open loop: hedge at p95": ("minio.yaml", _OPEN, _UNHEDGED, _HEDGED, "GET"),
    "MinIO, 8 clients: a third core": ("minio.yaml", _CLOSED, "hosts.cores.count=2", "hosts.cores.count=3", "GET"),
    "Ceph, 112 disks: 8 gateways for 7": (_CEPH, (), "gateways.count=7", "gateways.count=8", "PUT"),
    "Ceph, 112 disks: 32 index shards for 16": (_CEPH, (), "buckets.shards=16", "buckets.shards=32", "PUT"),
    "Ceph, 112 disks: 5 % fewer seeks": (
        _CEPH,
        (),
        "osd.random_write_fraction=0.45",
        "osd.random_write_fraction=0.43",
        "PUT",
    ),
}
FIGURES = ("throughput_ops", "mean", "p50", "p99")


def variances(
    file: str, common: tuple[str, ...], before: str, after: str, op: str, replications: int, operations: int
) -> list[dict[str, Any]]:
    """A row for each figure: the difference, and its variance with common and with independent random numbers."""

    def made(assignment: str, seed: int) -> Replications:
        spec = load_spec(EXAMPLES / file, [*common, f"workload.operations={operations}", assignment])
        return replicate(partial(simulate, spec), seed=seed, replications=replications)

    a, b, other = made(before, 1), made(after, 1), made(after, 2)
    rows = []
    for name in FIGURES:
        mine, paired, independent = (each.figures[op][name] for each in (a, b, other))
        shared, separate = (_variance(each - mine) for each in (paired, independent))
        difference = (paired - mine).interval()
        rows.append({
            "figure": f"{op} {name}",
            "relative_difference": difference.value / mine.value,
            "variance_common": shared,
            "variance_independent": separate,
            "times_fewer": separate / shared if shared else None,
        })  # fmt: skip
    return rows


def _variance(difference: Figure) -> float:
    return float(difference.each.var(ddof=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--replications", type=int, default=20, help="replications of each variant (default: %(default)s)"
    )
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full number of requests (default: %(default)s)"
    )
    options = parser.parse_args()
    found = {
        name: variances(*pair, options.replications, max(20, int(OPERATIONS * options.size)))
        for name, pair in PAIRS.items()
    }
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, rows in found.items():
        print(name)
        for row in rows:
            fewer = "exact" if row["times_fewer"] is None else f"{row['times_fewer']:.1f} times fewer replications"
            print(
                f"  {row['figure']:20} {row['relative_difference']:+8.2%}  variance {row['variance_independent']:9.3g} "
                f"independent, {row['variance_common']:9.3g} common: {fewer}"
            )


if __name__ == "__main__":
    main()
