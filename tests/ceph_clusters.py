"""Ceph clusters for tests: round numbers, no randomness, and the arithmetic of one request on an idle cluster."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from models.ceph.mechanisms.rocksdb import memtable_factor
from models.ceph.spec.spec import CephSpec
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Visit
from models.store import compile_spec, spec_of
from sim.demands.changed_networks import with_visits
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from tests.small_traces import trace_of
from traces.spec.spec_file import override
from traces.workload.distributions import Deterministic

HOP, READ_CPU, WRITE_CPU = 0.05e-3, 0.3e-3, 0.2e-3
READ, WRITE, LOG_WRITE, COMMIT, COMMIT_MEMBER = 5e-3, 3e-3, 0.1e-3, 0.02e-3, 0.01e-3
CPU = {"GET": 1e-3, "PUT": 2e-3, "HEAD": 0.5e-3, "DELETE": 1.5e-3, "LIST": 4e-3}
WITH_DB = ('db={"device": {"read": "0.01ms", "write": "0.1ms", "capacity": "375GB"}, "size": "80GB"}',)

_BASE: dict[str, Any] = {  # with Quincy's memtables
    "store": "ceph",
    "release": "quincy",
    "workload": {"operations": 1, "object_size": "4KiB", "keys": {"kind": "uniform", "count": 1000}},
    "client": {"nic": 1e15},
    "network": {"latency": HOP, "connection_rate": 1e15, "window": 1e15},
    "hosts": {"count": 8, "drives": 2, "cores": 16, "nic": 1e15},
    "osd": {
        "read": READ_CPU,
        "write": WRITE_CPU,
        "message": 0,
        "contention": 0,
        "commit": COMMIT,
        "commit_member": COMMIT_MEMBER / memtable_factor(256 << 20),
    },
    "gateways": {"cpu": CPU, "nic": 1e15, "tcp_nodelay": True},
    "device": {"read": READ, "write": WRITE, "capacity": "4TB"},
}


def ceph(*assignments: str) -> CephSpec:
    """Eight hosts of two drives that take round times whatever the bytes, with overrides as for ``--set``."""
    spec = spec_of(override(_BASE, assignments), "spec")
    assert isinstance(spec, CephSpec)
    return spec


def compiled(spec: CephSpec, op: str, size: int = 4096, key: str = "k") -> tuple[Network, Requests]:
    """One request, with every demand at its mean."""
    network, requests = compile_spec(spec, trace_of([op], [key], size_bytes=size))
    return steady(network), requests


def alone(spec: CephSpec, op: str, size: int = 4096, key: str = "k") -> Outcome:
    """One request on an idle cluster, with every demand at its mean."""
    return compiled_engine.run(Program.of(*compiled(spec, op, size, key), 0))


def latency_s(spec: CephSpec, op: str, size: int = 4096, key: str = "k") -> float:
    """Of one request on an idle cluster."""
    return float(alone(spec, op, size, key).end_s[0])


def steady(network: Network) -> Network:
    """The network without randomness in its demands: an occasional visit takes its time times its probability."""

    def visit(v: Visit) -> Visit:
        mean = v.demand.model_copy(update={"distribution": Deterministic()})
        return dataclasses.replace(v, demand=mean.scaled(v.fraction), chance=None)

    return with_visits(network, visit)


def of_role(network: Network, values: np.ndarray, role: str) -> float:
    """The sum over the stations of a role."""
    return float(sum(v for station, v in zip(network.stations, values, strict=True) if station.role == role))


def of_name(network: Network, values: np.ndarray, end: str) -> float:
    """The sum over the stations whose name ends so."""
    return float(sum(v for station, v in zip(network.stations, values, strict=True) if station.name.endswith(end)))
