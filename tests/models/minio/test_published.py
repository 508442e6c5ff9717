"""Bytes on links and drives of a published cluster: three virtual machines with two drives each, 3 data + 3 parity.

The store is RustFS 1.0.1, which writes as MinIO does; warp ran on the third machine and used the endpoints in turn.
Source: github.com/Maaz-Ali-Baig/masters-thesis-s3-evaluation, perf-rustfs-vm-3node-20261010. Rows in which the links
carried less than the objects alone are left out: there, the means over time include pauses.
"""

from __future__ import annotations

import numpy as np
import pytest

from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from tests.small_traces import trace_of

MIB = 1 << 20
NIC = 1e9
PUBLISHED = {
    # Size in MiB: MiB/s of objects, then of each machine: received, sent, written.
    1: (19.36, (13.6, 8.3, 13.1), (13.5, 8.1, 13.2), (8.2, 18.8, 13.3)),
    16: (201.2, (135.7, 77.7, 117.3), (136.2, 79.8, 117.3), (79.2, 193.7, 117.2)),
    100: (216.3, (156.6, 91.1, 134.1), (157.8, 95.7, 134.1), (93.4, 220.7, 134.8)),
}


@pytest.mark.parametrize("size", PUBLISHED)
def test_bytes_on_links_and_drives(size):
    rate, *machines = PUBLISHED[size]
    spec = spec_of(
        {
            "store": "minio",
            "workload": {"operations": 1, "object_size": 1},
            "hosts": {"count": 3, "nic": NIC, "cpu": {"PUT": 0}},
            "network": {"payload_fraction": 1},
            "drives": {"count": 2, "write": {"per_byte": 1e-9}, "commit": 0},
        },
        "spec",
    )
    n = 60
    trace = trace_of(["PUT"] * n, [f"k{i}" for i in range(n)], size_bytes=size * MIB, arrival_s=np.arange(n) * 10.0)
    network, requests = compile_spec(spec, trace)
    outcome = compiled_engine.run(Program.of(network, requests, 0))
    of_object = {s.name: b / (n * size * MIB) for s, b in zip(network.stations, outcome.busy_s, strict=True)}
    ratios = []
    for host, (received, sent, written) in enumerate(machines):
        into, out = (of_object[f"host {host} {way}"] * NIC for way in ("in", "out"))
        drives = sum(of_object[f"host {host} drive {d}"] for d in (0, 1)) / 1e-9
        if host == 2:  # the client's machine: its objects come from here, a third of them for itself
            into, out = into - 1 / 3, out + 2 / 3
        ratios += [rate * into / received, rate * out / sent, rate * drives / written]
    assert np.median(np.abs(np.array(ratios) - 1)) < 0.15
    assert ratios == pytest.approx([1] * 9, abs=0.16)
