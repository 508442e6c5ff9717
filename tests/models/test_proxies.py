"""Tests of the load balancer that the specs of all stores share."""

from __future__ import annotations

import pytest

from models.ceph.spec.spec import CephSpec
from models.store import compile_spec, load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from sim.simulate import simulate
from tests.ceph_clusters import HOP, ceph, latency_s
from tests.paths import EXAMPLES
from tests.sim.engine.test_engines import assert_identical
from traces.workload.generate import generate

WORK_S, BYTE_S, NIC = 20e-6, 1e-9, 1.25e9
PROXY = (f"proxy.cpu.constant={WORK_S}", f"proxy.cpu.per_byte={BYTE_S}", f"proxy.nic={NIC}")
SIZE = 1 << 20


@pytest.mark.parametrize(("op", "body"), [("GET", SIZE), ("PUT", SIZE), ("HEAD", 0), ("LIST", 0), ("DELETE", 0)])
def test_a_lone_request_passes_it_both_ways(op, body):
    wire = ceph().network.payload * NIC
    more_s = latency_s(ceph(*PROXY), op, SIZE) - latency_s(ceph(), op, SIZE)
    assert more_s == pytest.approx(2 * HOP + WORK_S + body * (BYTE_S + 2 / wire), rel=1e-6)


def test_all_bytes_pass_its_nic():
    spec = load_spec(
        EXAMPLES / "ceph" / "nvme-squid.yaml",
        ["proxy.nic=1.25GB/s", "workload.object_size=1MiB", "workload.mix={GET: 1}", "workload.operations=20000"],
    )
    assert isinstance(spec, CephSpec)
    run = simulate(spec, seed=0)
    busy = {station["name"]: station["utilization"] for station in run.stations.to_pylist()}
    assert busy["proxy in"] > 0.9 and busy["proxy out"] > 0.9


def test_both_engines_agree():
    spec = ceph(*PROXY, "workload.clients=8", "workload.mix={GET: 2, PUT: 1, LIST: 1}", "workload.operations=300")
    program = Program.of(*compile_spec(spec, generate(spec.workload, 0)), seed=0)
    assert_identical(simpy_engine.run(program), compiled_engine.run(program))


def test_the_default_is_no_proxy():
    network, _ = compile_spec(ceph(), generate(ceph().workload, 0))
    assert not any(station.role.startswith("proxy") for station in network.stations)
    with_one, _ = compile_spec(ceph("proxy.cores=4"), generate(ceph().workload, 0))
    assert [s.name for s in with_one.stations[len(network.stations) :]] == ["proxy cpu"]
