"""Experiments from Python, as in a notebook: the greatest load, the fewest cores, the best hedge, and sensitivities.

    python examples/whatif.py

All are about variants of one spec with common random numbers. Takes half a minute.
"""

from __future__ import annotations

from pathlib import Path

from sim.experiments.find.find_best import find_best
from sim.experiments.find.find_limit import find_limit
from sim.experiments.find.goal import Goal, OpLatency
from sim.experiments.sensitivity import NumberRange, sensitivity
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants
from sim.experiments.variation import Variation
from sim.experiments.whatif import WhatIfExperiment, whatif
from sim.replication.slo import Slo

SPEC = Path(__file__).parent / "minio.yaml"
OPEN_LOOP = ["workload.rate=600/s", "workload.duration=null", "workload.operations=4000"]


def main() -> None:
    """Run the experiments, and print the results."""
    settings = Settings(seed=1, replications=5)
    variants = Variants.of(SPEC, OPEN_LOOP, settings)
    slo = Slo("GET.p99<10ms", "GET", "p99", 0.010)

    # A table of cores and rates.
    vary = [Variation("hosts.cores.count", ("2", "4")), Variation("workload.rate", ("600/s", "1200/s"))]
    for point in whatif(WhatIfExperiment(variants.data, variants.source, vary, [slo], settings=settings)).simulated:
        p99_s = point.ops["GET"].latency_s["p99"]
        print(f"{point.set}: p99 of GET {p99_s * 1e3:.2f} ms, {point.verdict}")

    # The greatest rate that meets the objective; the fewest cores that meet it at twice the load.
    most = find_limit(variants, Goal("max", "workload.rate"), [slo])
    print(f"up to {most.value:.0f} requests per second; the 95 % intervals leave no doubt up to {most.sure.meets:.0f}")
    doubled = Variants.of(SPEC, [*OPEN_LOOP, f"workload.rate={2 * most.value:.0f}/s"], settings)
    fewest = find_limit(doubled, Goal("min", "hosts.cores.count"), [slo])
    print(f"twice that: {fewest.value} cores")

    # When to hedge, with at most 2 % of additional requests?
    hedge = find_best(variants, Goal("best", "client.hedge.after"), OpLatency("GET", "p99"), most_extra_load=0.02)
    gain = hedge.difference
    verdict = "certainly better" if hedge.improves else "possibly by chance"
    print(
        f"hedged after {hedge.value * 1e3:.2f} ms, p99 of GET changes by {gain.value * 1e3:.2f} ms "
        f"({gain.low * 1e3:.2f} to {gain.high * 1e3:.2f}): {verdict}"
    )

    # Which number affects p99 most, within a factor of two in both directions?
    ranges = [
        NumberRange("workload.rate", "300/s", "1200/s"),
        NumberRange("hosts.cpu.GET.constant", "0.2ms", "0.8ms"),
        NumberRange("hosts.cpu.PUT.constant", "0.95ms", "3.8ms"),
        NumberRange("network.latency", "0.075ms", "0.3ms"),
    ]
    for row in sensitivity(variants, ranges, OpLatency("GET", "p99"), trajectories=6).parameters:
        effect = row.elasticity
        print(f"{row.path}: +1 % gives {effect.value:+.2f} % ({effect.low:+.2f} to {effect.high:+.2f})")


if __name__ == "__main__":
    main()
