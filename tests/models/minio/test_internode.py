"""Several MinIO processes over one erasure set: the calls between them, by hand, without queueing."""

from __future__ import annotations

import numpy as np
import pytest

from models.minio.spec.spec import MinioSpec
from models.network.joined_table import take
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from tests.models.minio.test_compile import BASE, alone
from tests.small_traces import trace_of
from traces.errors import InputError
from validate.replay.cpu_usage import modelled_cpu_s

CALL_S, BYTE_S, WAY_S = 0.5e-3, 3e-9, 0.25e-3
INTERNODE = {"call": {"constant": CALL_S, "per_byte": BYTE_S}, "latency": WAY_S}
LARGE = 1_000_000


def servers(count: int, drives: int = 4, internode: dict | None = None) -> MinioSpec:
    host = BASE["hosts"] | {"processes": count, "internode": INTERNODE if internode is None else internode}
    return spec_of(BASE | {"hosts": host, "drives": BASE["drives"] | {"count": drives}}, "spec")


def call_s(size: int = 0, data_shards: int = 2) -> float:
    """A call that nothing else keeps waiting: both sides' CPU, and both ways."""
    return 2 * (CALL_S + BYTE_S * size / data_shards) + 2 * WAY_S


@pytest.mark.parametrize(
    ("op", "size", "more_s"),
    [
        ("PUT", 4096, 4 * call_s() + call_s(4096)),  # lock, look-up, lock anew, shard with its metadata, clean up
        ("PUT", LARGE, 5 * call_s() + call_s(LARGE)),  # lock, look-up, shard, lock, metadata, clean up
        ("GET", 4096, call_s() + call_s(4096)),  # the lock; the metadata with the shard
        ("GET", LARGE, call_s() + call_s() + call_s(LARGE)),  # the lock; the metadata; the shard of one other server
        ("HEAD", 4096, call_s() + call_s()),
        ("LIST", 4096, 2 * WAY_S),
    ],
)
def test_a_lone_request_takes_so_many_calls_longer(op, size, more_s):
    one, four = (alone(servers(count), op, size)[0] for count in (1, 4))
    assert four.end_s[0] - one.end_s[0] == pytest.approx(more_s)


@pytest.mark.parametrize(
    ("op", "size", "bare", "with_shard"),
    [("PUT", 4096, 18, 3), ("PUT", LARGE, 21, 3), ("GET", 4096, 6, 3), ("GET", LARGE, 9, 1.5), ("DELETE", 4096, 15, 0)],
)
def test_cpu_of_all_calls_counts_even_if_no_request_waits_for_them(op, size, bare, with_shard):
    """Three calls each: lock, release, metadata, shards written, clean-up; a large object is read by one or two."""
    trace = trace_of([op], ["k"], size_bytes=size)
    one, four = (modelled_cpu_s(spec, *compile_spec(spec, trace))["server"] for spec in map(servers, (1, 4)))
    assert four - one == pytest.approx(2 * (bare * CALL_S + with_shard * (CALL_S + BYTE_S * size / 2)))
    (outcome, network), (before, _) = (alone(servers(count), op, size) for count in (4, 1))
    cpu = [station.role for station in network.stations].index("host cpu")
    if with_shard == 3 or not with_shard:  # the same for all objects
        assert outcome.busy_s[cpu] - before.busy_s[cpu] == pytest.approx(four - one)


def test_drives_of_the_receiving_server_need_no_call():
    per_server = {count: alone(servers(count), "PUT", 4096)[0].visits[0] for count in (1, 2, 4)}
    # Two visits to a core for each call. Locked and freed twice: a call to each other server; and looked up, written
    # and cleaned up once: a call for each drive of another.
    assert per_server[2] - per_server[1] == 2 * (4 * 1 + 3 * 2)
    assert per_server[4] - per_server[1] == 2 * (4 * 3 + 3 * 3)


def test_a_fraction_of_small_puts_pauses_for_its_lock():
    n, fraction = 4000, 0.4
    trace = trace_of(["PUT"] * n, ["k"] * n, arrival_s=np.arange(n) * 10.0, size_bytes=4096)
    never, often = (
        compiled_engine.run(
            Program.of(*compile_spec(servers(4, internode=INTERNODE | {"lock_conflict_fraction": p}), trace), 0)
        ).end_s
        for p in (0.0, fraction)
    )
    pause_s = (often - never)[often - never > 1e-9]
    assert len(pause_s) / n == pytest.approx(fraction, abs=0.03)
    assert pause_s.max() <= 0.35
    assert np.quantile(pause_s, [0.25, 0.5, 0.75]) == pytest.approx([0.0875, 0.175, 0.2625], abs=0.01)
    large = {p: servers(4, internode=INTERNODE | {"lock_conflict_fraction": p}) for p in (0.0, fraction)}
    assert alone(large[0.0], "PUT", LARGE)[0].end_s == alone(large[fraction], "PUT", LARGE)[0].end_s


def test_one_server_makes_no_calls_and_free_calls_change_nothing():
    trace = trace_of(["GET", "PUT"], ["a", "b"], size_bytes=[4096, LARGE])
    plain = compiled_engine.run(Program.of(*compile_spec(servers(1, internode={}), trace), 0)).end_s
    for spec in (servers(1), servers(4, internode={})):
        ends_s = compiled_engine.run(Program.of(*compile_spec(spec, trace), 0)).end_s
        assert ends_s == pytest.approx(plain)


def test_a_get_waits_for_the_metadata_of_all_drives():
    stage = compile_spec(servers(4, drives=16), trace_of(["GET"], ["k"]))[0].routes[0].stages[2]
    assert (len(stage.branches), stage.need) == (16, 16)


def test_servers_share_every_erasure_set():
    with pytest.raises(InputError, match=r"hosts.processes is 3; 4 drives of a host allow 1, 2, 4"):
        servers(3)
    table = compile_spec(servers(8, drives=32), trace_of(["GET"], ["k"]))[0].placements[0]
    assert np.all(take(table, np.arange(len(table)), np.arange(table.shape[1])) >= 0)
