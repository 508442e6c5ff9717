"""Bytes on links and drives for each byte of the objects, by hand: a shard of a third on each of six drives."""

from __future__ import annotations

import pytest

from models.minio.moved_bytes import moved_per_byte
from models.store import spec_of


@pytest.mark.parametrize(("placement", "of_client"), [("own", 1 / 3), ("storage_hosts", 2 / 9)])
def test_bytes_of_a_put(placement, of_client):
    spec = spec_of(
        {
            "store": "minio",
            "workload": {"clients": 3, "operations": 300, "object_size": "3MiB", "mix": {"PUT": 1}},
            "client": {"placement": placement},
            "hosts": {"count": 3, "nic": 1e9, "cpu": {"PUT": "1ms"}},
            "drives": {"count": 2, "write": {"constant": "1ms", "per_byte": "1ns"}, "commit": "1ms"},
        },
        "spec",
    )
    found = moved_per_byte(spec)
    between = 2 * 2 / 3 / 3  # each coordinator sends two shards of a third to each of two other hosts
    assert found["received_per_byte"] == pytest.approx(of_client + between, rel=0.02)
    sent = between + (of_client if placement == "storage_hosts" else 0)
    assert found["sent_per_byte"] == pytest.approx(sent, rel=0.02)
    assert found["written_per_byte"] == pytest.approx(2 / 3, rel=0.01)
