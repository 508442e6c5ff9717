"""Failures that are staged on a store in a box: their loads, faults and phases, and what is read off a Run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from models.shared.client_policy import ClientPolicies
from traces.operations import OPS
from traces.run import Run
from traces.spec.spec_file import validated
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys
from traces.workload.workload import Workload

MIX = {"GET": 0.7, "PUT": 0.3}
_SETTLED_S = 2.0


@dataclass(frozen=True)
class Case:
    """A failure, or a light load without one.

    Attributes:
        fault: what fails, as `tailcast lab fault` has it, without its time; empty: nothing.
        begin_s, for_s, length_s: when the fault begins, how long it lasts, and the load.
        clients: of a closed loop; 0: an open loop at `rate_ops`.
        size, objects: bytes of each object, and number of those that GETs read.
        mix: operations of the load.
        policies: of the clients, as in the section `client` of a spec.
        options: of the store.
        hosts, drives, gateways, balancers: form of the store, if it is not the usual one; 0: as usual.
    """

    name: str
    fault: str = ""
    for_s: float = 30.0
    length_s: float = 90.0
    begin_s: float = 20.0
    clients: int = 0
    rate_ops: float = 12.0
    size: str = "64KiB"
    objects: int = 100
    mix: tuple[tuple[str, float], ...] = tuple(MIX.items())
    policies: str = "{}"
    options: tuple[tuple[str, str], ...] = ()
    hosts: int = 0
    drives: int = 0
    gateways: int = 0
    balancers: int = 0

    @property
    def faults(self) -> list[str]:
        """The fault with its time, as `tailcast replay --fault` takes it."""
        return [f"{self.fault} at {self.begin_s:g}s for {self.for_s:g}s"] if self.fault else []

    @property
    def client(self) -> ClientPolicies:
        """The policies of the clients."""
        return validated(ClientPolicies, json.loads(self.policies), self.name)

    def trace(self, seed: int) -> Trace:
        """Return the requests: GETs read objects that are there before, and every PUT writes one of its own."""
        pace: dict[str, Any] = {"rate": self.rate_ops}
        if self.clients:
            pace = {"clients": self.clients, "operations": 400}
        requested = {"object_size": self.size, "mix": dict(self.mix), "keys": UniformKeys(count=self.objects)}
        trace = generate(validated(Workload, requested | pace | {"duration": self.length_s}, self.name), seed)
        keys = trace.table.column("key").to_pylist()
        for n, row in enumerate(np.flatnonzero(trace.op == OPS.index("PUT")).tolist()):
            keys[row] = f"written-{n:05d}"
        column = trace.table.column_names.index("key")
        table = trace.table.set_column(column, "key", pa.array(keys).dictionary_encode())
        return Trace.of(table, replace(trace.pacing, repeat=False), self.name)

    def facts(self) -> dict[str, Any]:
        """Return what a Run of the case was measured by."""
        return {name: value for name, value in asdict(self).items() if name not in ("mix", "options")} | {
            "mix": dict(self.mix), "options": dict(self.options)
        }  # fmt: skip


def phases(run: Run) -> dict[str, tuple[float, float]]:
    """Return the time before, during and after the fault of a Run, from its recorded times; one phase without a fault.

    What the first requests and connections cost is left out.
    """
    end_s = float(np.nanmax(run.column("arrival_s")))
    if not (staged := run.info.get("lab_faults")):
        return {"all": (_SETTLED_S, end_s)}
    at_s, until_s = staged[0]["at"], staged[0]["until"]
    return {"before": (_SETTLED_S, at_s), "during": (at_s, until_s), "after": (until_s, end_s)}


def figures(run: Run, periods: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """Return throughput, errors, stalls and latencies of a Run in each period.

    Requests belong to the period that they arrive in, completions and stalls to that of their time. A stall is the
    longest time without a successful completion.
    """
    arrival_s, end_s = run.column("arrival_s"), run.column("end_s")
    ok = ~run.failed
    result: dict[str, Any] = {}
    for name, (from_s, until_s) in periods.items():
        arrived = (arrival_s >= from_s) & (arrival_s < until_s)
        done_s = np.sort(end_s[ok & (end_s >= from_s) & (end_s < until_s)])
        gaps_s = np.diff(np.concatenate([[from_s], done_s, [until_s]]))
        found: dict[str, Any] = {
            "throughput_ops": len(done_s) / (until_s - from_s), "errors": int((arrived & ~ok).sum()),
            "requests": int(arrived.sum()), "stall_s": float(gaps_s.max()),
        }  # fmt: skip
        for code, op in enumerate(OPS):
            latency_s = run.latency_s[arrived & ok & (run.op == code)]
            if len(latency_s):
                found[op] = dict(
                    zip(("p50", "p95", "p99"), np.quantile(latency_s, (0.5, 0.95, 0.99)).tolist(), strict=True)
                )
        result[name] = found
    return result
