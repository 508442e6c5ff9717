"""Experiments from Python, as in a notebook: a table of variants, the greatest load, the fewest cores, the best hedge.

    python examples/whatif.py

All are about variants of one spec with common random numbers. Takes half a minute.
"""

from __future__ import annotations

import tailcast

OBJECTIVE = ["GET.p99<10ms"]


def main(operations: int = 4000) -> None:
    """Run the experiments with this number of requests, and print the results."""
    load = {"workload.rate": "600/s", "workload.duration": None, "workload.operations": operations}
    spec = tailcast.load_spec(tailcast.EXAMPLES / "minio.yaml", set=load)

    # A table of cores and rates.
    table = tailcast.whatif(
        spec, {"hosts.cores.count": [2, 4], "workload.rate": ["600/s", "1200/s"]}, slos=OBJECTIVE, seed=1
    ).to_polars()
    print(table.select("hosts.cores.count", "workload.rate", "op", "latency_p99_s", *OBJECTIVE))

    # The greatest rate that meets the objective; the fewest cores that meet it at twice the load.
    most = tailcast.find(spec, "max workload.rate", slos=OBJECTIVE, seed=1)
    print(most.summary())
    doubled = tailcast.load_spec(spec, set={"workload.rate": f"{2 * most.value.value:.0f}/s"})
    print(tailcast.find(doubled, "min hosts.cores.count", slos=OBJECTIVE, seed=1).summary())

    # When to hedge, with at most 2 % of additional requests?
    hedge = tailcast.find(spec, "best client.hedge.after", target="GET.p99", extra_load=0.02, seed=1)
    print(hedge.summary())


if __name__ == "__main__":
    main()
