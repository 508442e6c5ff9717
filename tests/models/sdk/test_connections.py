"""`client.connections`: requests wait at their client for a connection, and hold it until their response."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.sdk.connections import ROLE
from models.shared.client_policy import ClientPolicies
from models.store import Spec, compile_spec, spec_of
from sim.simulate import simulate
from traces.workload.kept_traces import generated

STORES: dict[str, dict[str, Any]] = {
    "minio": {
        "hosts": {"count": 4, "cores": 16, "nic": "10Gbit/s", "cpu": {"GET": "1ms", "PUT": "1ms"},
                  "internode": {"latency": "50us"}},
        "drives": {"count": 4, "preset": "nvme"},
    },
    "garage": {"hosts": {"count": 3, "preset": "garage-2.1"}, "drives": {"count": 1, "preset": "nvme"}},
}  # fmt: skip


def spec(client: dict[str, Any], load: dict[str, Any], store: str = "minio", **further: Any) -> Spec:
    data = {
        "store": store,
        "workload": {"object_size": "64KiB", "mix": {"GET": 1}, **load},
        "client": client,
        **STORES[store],
        **further,
    }
    return spec_of(data, "spec")


def pools(of: Spec) -> list[int]:
    """Return the number of tokens of each pool of connections."""
    network, _ = compile_spec(of, generated(of.workload, 1))
    return [station.servers for station in network.stations if station.role == ROLE]


def test_a_closed_loop_gets_no_more_than_its_connections_serve():
    load = {"clients": 8, "operations": 2000}
    alone = simulate(spec({}, {"clients": 2, "operations": 2000}), seed=1)
    limited = simulate(spec({"connections": 2}, load), seed=1)
    free = simulate(spec({}, load), seed=1)

    def rate(run: Any) -> float:
        return len(run) / float(np.max(run.column("end_s")))

    assert rate(limited) == pytest.approx(rate(alone), rel=0.02)
    assert rate(free) > 3 * rate(limited)


def test_machines_have_connections_each():
    assert pools(spec({"connections": 3, "machines": 4}, {"rate": 10, "duration": "1s"})) == [12]


def test_clients_that_never_wait_have_no_pool():
    closed = {"clients": 8, "operations": 10}
    assert pools(spec({"connections": 8}, closed)) == []
    assert pools(spec({"connections": 7}, closed)) == [7]
    assert pools(spec({"connections": 8, "hedge": {"after": "1ms"}}, closed)) == [8]
    assert pools(spec({}, {"rate": 10, "duration": "1s"})) == []


def test_requests_of_an_upload_hold_one_each():
    """An upload of eight parts by one connection: it does not wait for itself."""
    load = {"clients": 1, "operations": 5, "object_size": "64MiB", "mix": {"PUT": 1}}
    multipart = {"threshold": "16MiB", "part_size": "8MiB", "parallel": 4}
    one = simulate(spec({"connections": 1, "multipart": multipart}, load), seed=1)
    four = simulate(spec({"connections": 4, "multipart": multipart}, load), seed=1)
    assert len(one) == len(four) == 5
    assert np.mean(one.latency_s) > 1.1 * np.mean(four.latency_s)


def test_an_abandoned_attempt_returns_its_connection():
    load = {"rate": 200, "duration": "5s"}
    client = {"connections": 50, "timeout": "1ms", "retry": {"retries": 2}}
    run = simulate(spec(client, load, hosts={**STORES["minio"]["hosts"], "cpu": {"GET": "20ms"}}), seed=1)
    assert len(run) > 900  # each request gets a connection


@pytest.mark.parametrize(("sdk", "expected"), [("aws-sdk-java-v2", 50), ("aws-sdk-go-v2", 2048), ("boto3", None)])
def test_defaults_of_sdks(sdk, expected):
    assert ClientPolicies.model_validate({"sdk": sdk}).connections == expected
    assert ClientPolicies.model_validate({"sdk": sdk, "connections": 7}).connections == 7
