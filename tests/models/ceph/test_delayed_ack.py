"""Bodies that wait until clients acknowledge their headers: Nagle's algorithm and delayed acknowledgements."""

from __future__ import annotations

import csv
from statistics import median

import pytest

from models.shared.links import held_bytes, payload_fraction, segment_bytes
from models.store import compile_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as reference_engine
from sim.simulate import simulate
from tests.ceph_clusters import HOP, ceph, latency_s
from traces.errors import InputError
from traces.workload.generate import generate

OFF = "gateways.tcp_nodelay=false"
ACK_S = 0.04


def held_s(*assignments: str, op: str = "GET", size: int = 4096) -> float:
    """How much longer a request takes without TCP_NODELAY."""
    return latency_s(ceph(OFF, *assignments), op, size) - latency_s(ceph(*assignments), op, size)


@pytest.mark.parametrize(("size", "mtu", "held"), [
    (1, 1500, True), (8192, 1500, True), (8688, 1500, True), (8689, 1500, False), (64 << 10, 1500, False),
    (8689, 9000, True), (53688, 9000, True), (64 << 10, 9000, False),
    (20 << 10, 65536, True), (64 << 10, 65536, False),
])  # fmt: skip
def test_small_body_waits_for_the_acknowledgement_of_its_headers(size, mtu, held):
    expected_s = ACK_S + 2 * HOP if held else 0
    assert held_s(f"network.mtu={mtu}", size=size) == pytest.approx(expected_s, abs=1e-9)


@pytest.mark.parametrize("op", ["PUT", "HEAD", "DELETE", "LIST"])
def test_other_operations_do_not_wait(op):
    assert held_s(op=op) == 0


def test_who_does_not_wait():
    assert held_s("proxy={}") == pytest.approx(0)  # it reads at once
    assert held_s("gateways.frontend=civetweb") == 0
    assert held_s("access=rados") == 0
    assert held_s("network.delayed_ack=0s") == 0
    assert held_s("network.delayed_ack=200ms") == pytest.approx(0.2 + 2 * HOP)


def test_gateway_is_free_while_the_client_waits():
    load = "workload={clients: 40, object_size: 4KiB, operations: 2000, mix: {GET: 1}}"
    run = simulate(ceph(load, OFF, "gateways.max_requests=8", "gateways.cores.count=8"))
    assert len(run.latency_s) / run.duration_s > 1.2 * 8 / ACK_S


def test_wait_is_that_of_a_real_gateway(nagle_rows):
    """Medians of GETs of one client without and with tcp_nodelay: 44 ms up to 20 KiB on loopback, 2 ms at 64 KiB."""
    mtu = 65536
    for size, (held_ms, plain_ms) in nagle_rows.items():
        measured_s = (held_ms - plain_ms) / 1000
        assert (measured_s > 0.03) == (size <= held_bytes(mtu))
        if measured_s > 0.03:
            assert ACK_S < measured_s < ACK_S + 8e-3


@pytest.fixture(scope="module")
def nagle_rows() -> dict[int, tuple[float, float]]:
    """Medians in ms by size in bytes, of a radosgw 20.2.4 on loopback (2026): default, and with tcp_nodelay=1."""
    table = """\
1024,46.8,44.0,2.1
4096,48.0,44.0,1.8
8192,48.0,47.8,2.0
9216,47.9,48.0,2.5
16384,52.0,44.1,2.8
20480,51.8,47.6,2.3
65536,2.9,2.4,2.5
1048576,8.1,3.1,3.8
"""
    rows = [[float(cell) for cell in row] for row in csv.reader(table.splitlines())]
    return {int(size): (median((first, second)), plain) for size, first, second, plain in rows}


def test_engines_agree():
    spec = ceph("workload={clients: 10, object_size: 4KiB, operations: 200, mix: {GET: 50, PUT: 50}}", OFF)
    program = Program.of(*compile_spec(spec, generate(spec.workload, 1)), 1)
    ends = [engine.run(program).end_s for engine in (reference_engine, compiled_engine)]
    assert (ends[0] == ends[1]).all()


def test_framing_by_mtu():
    assert segment_bytes(1500) == 1448
    assert payload_fraction(1500) == pytest.approx(0.941, abs=1e-3)
    assert payload_fraction(9000) == pytest.approx(0.990, abs=1e-3)
    assert ceph("network.mtu=9000").network.payload == payload_fraction(9000)
    assert ceph("network.mtu=9000", "network.payload_fraction=50%").network.payload == 0.5
    with pytest.raises(InputError, match=r"network\.mtu: "):
        ceph("network.mtu=100")
