"""Metrics of a live MinIO, scraped by a real Prometheus under a replayed load."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from models.store import store_named
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.metrics.server import Server
from validate.lab.store import Store
from validate.metrics.measured import HostChoice, measured
from validate.metrics.reading import Window, from_server
from validate.replay.replay import replay

pytestmark = pytest.mark.live

RATE, SECONDS = 20, 20


def free_port() -> int:
    """Return a port of loopback that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def prometheus(live_minio: Store, tmp_path: Path) -> Iterator[Server]:
    """A Prometheus that scrapes the store and node_exporter each second."""
    programs = [shutil.which(name) for name in ("prometheus", "prometheus-node-exporter")]
    if None in programs:
        pytest.skip("Debian's packages prometheus and prometheus-node-exporter are not installed")
    port, node_port = free_port(), free_port()
    target = live_minio.endpoint_url.removeprefix("http://")
    jobs = [("v2", "/minio/v2/metrics/cluster", target), ("v3", "/minio/metrics/v3", target),
            ("node", "/metrics", f"127.0.0.1:{node_port}")]  # fmt: skip
    lines = ["global: {scrape_interval: 1s}", "scrape_configs:"]
    lines += [f"- {{job_name: {n}, metrics_path: {p}, static_configs: [{{targets: ['{t}']}}]}}" for n, p, t in jobs]
    (tmp_path / "prometheus.yml").write_text("\n".join(lines))
    commands = [
        [programs[0], f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
         f"--web.listen-address=127.0.0.1:{port}"],
        [programs[1], f"--web.listen-address=127.0.0.1:{node_port}"],
    ]  # fmt: skip
    with ExitStack() as stack:
        for command in commands:
            log = stack.enter_context((tmp_path / "log").open("a"))
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))  # type: ignore[call-overload]
            stack.callback(process.terminate)
        server = Server(f"http://127.0.0.1:{port}")
        for _ in range(300):
            try:
                if server.read(["node_cpu_seconds_total"], time.time() - 10, time.time()):
                    break
            except InputError:
                pass
            time.sleep(0.1)
        yield server


def test_metrics_of_a_replay(live_minio: Store, prometheus: Server) -> None:
    count = RATE * SECONDS
    op = np.where(np.arange(count) % 4 == 3, "PUT", "GET").tolist()
    trace = trace_of(op, [f"k{n % 20}" for n in range(count)], arrival_s=np.arange(count) / RATE, size_bytes=1 << 16)
    run = replay(trace, live_minio.target)
    meaning = store_named("minio").metrics
    assert meaning is not None
    start_s = float(run.info["zero_at"])
    metrics = from_server(prometheus, meaning, Window(start_s + 2, start_s + SECONDS - 1))
    found = measured(metrics, meaning, HostChoice(), 1)
    assert found.ops["GET"].rate_ops == pytest.approx(0.75 * RATE, rel=0.15)
    assert found.ops["PUT"].rate_ops == pytest.approx(0.25 * RATE, rel=0.15)
    assert found.ops["PUT"].bytes_each == pytest.approx(1 << 16, rel=0.15)
    assert found.cpu_cores is not None
    assert found.cpu_cores / RATE == pytest.approx(run.info["cpu"]["server_per_op_s"], rel=0.5)
    assert len(found.hosts) == 1
