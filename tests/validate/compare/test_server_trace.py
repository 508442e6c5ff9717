"""The server's own times: read from a trace, matched with a Run's requests, and what a fit makes of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.spec.spec_values import with_values
from models.store import compile_spec, spec_of
from sim.simulate import simulate
from tests.runs import MEASURED, run_of
from tests.specs import minio
from traces.errors import InputError
from traces.run import Run
from traces.statistics.summary import Floats
from traces.workload.generate import generate
from validate.calibration.calibrate import calibrate
from validate.calibration.parameters import Parameter
from validate.compare.figures import labels_of, parts_of
from validate.compare.server_part import latency_parts, simulate_server_part, stamped
from validate.compare.server_trace import Handled, matched, read_server_trace, server_times

BEGAN_S = datetime.fromisoformat(str(MEASURED["started_at"])).timestamp()
APIS = {"GET": "s3.GetObject", "PUT": "s3.PutObject"}


def line(one: Handled) -> str:
    """As mc prints it."""
    at = datetime.fromtimestamp(int(one.time_s), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    entry = {
        "status": "success",
        "time": f"{at}.{round(one.time_s % 1 * 1e9):09d}Z",
        "api": APIS[one.op],
        "path": f"/{one.bucket}/{one.key}",
        "statusCode": 200,
        "callStats": {"rx": 100, "tx": 4096, "duration": round(one.duration_s * 1e9), "timeToFirstByte": 1000},
    }
    return json.dumps(entry)


def seen_by_server(run: Run, server_s: Floats, zero_s: float, bucket: str = "tailcast-1") -> list[Handled]:
    """What a server whose clock is at `zero_s` when the Run begins would tell of its successful requests."""
    keys, ops = (run.requests.column(name).to_pylist() for name in ("key", "op"))
    arrived_s = run.column("end_s") - server_s
    return [
        Handled(ops[i], bucket, keys[i], float(zero_s + arrived_s[i]), float(server_s[i]))
        for i in np.argsort(run.column("end_s"))
        if np.isfinite(server_s[i])
    ]


def test_a_trace_of_mc_is_read(tmp_path: Path) -> None:
    one = Handled("GET", "b", "a/ä 1%20", 1714565000.25, 0.0015)
    other = json.loads(line(one)) | {"api": "s3.ListObjectsV2", "path": "/b/"}
    path = tmp_path / "trace.json"
    path.write_text("\n".join([line(one), "", json.dumps(other), line(one)]))
    assert read_server_trace(path) == [one, one]


@pytest.mark.parametrize("spoilt", ["no json", '{"api": "s3.GetObject"}', '{"api": "s3.GetObject", "path": 3}',
                                    line(Handled("GET", "b", "k", 0.0, 1.0)).replace("1970-", "today ")])  # fmt: skip
def test_a_line_that_mc_does_not_print_is_refused(tmp_path: Path, spoilt: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(f"\n{spoilt}\n")
    with pytest.raises(InputError, match=r"trace\.json: line 2: "):
        read_server_trace(path)


def test_requests_are_matched_whatever_the_servers_clock_says() -> None:
    rng = np.random.default_rng(1)
    latency_s = rng.lognormal(-5, 0.5, 400)
    columns: dict[str, Any] = {"op": ["PUT" if i % 3 == 0 else "GET" for i in range(400)]}
    run = run_of(latency_s, **columns)
    server_s = latency_s * rng.uniform(0.3, 0.9, 400)
    for zero_s in (BEGAN_S, BEGAN_S - 3600, BEGAN_S + 7):
        handled = seen_by_server(run, server_s, zero_s)
        written_before = [Handled("PUT", "tailcast-1", f"k{i}", zero_s - 2 + i / 100, 0.001) for i in range(100)]
        # Which of two Runs of the same requests it is, only clocks that nearly agree can tell.
        of_others = seen_by_server(run, server_s / 2, zero_s + 60, "tailcast-2") if abs(zero_s - BEGAN_S) < 30 else []
        assert np.allclose(server_times(run, [*of_others, *handled, *written_before]), server_s, atol=1e-6)


def test_what_is_not_known_stays_so() -> None:
    latency_s = np.full(200, 0.004)
    attempts = np.where(np.arange(200) == 7, 2, 1).astype(np.int16)
    run = run_of(latency_s, attempts=attempts)
    server_s = np.where(np.arange(200) == 9, 0.005, 0.003)  # longer than at the client: not the same request
    handled = [one for i, one in enumerate(seen_by_server(run, server_s, BEGAN_S)) if i != 20]
    unknown = np.flatnonzero(np.isnan(server_times(run, handled)))
    assert set(unknown) >= {7, 9} and len(unknown) == 3
    assert np.isnan(server_times(run, handled[:20])).all(), "too few to be this Run's"


def test_a_trace_of_other_requests_is_refused(tmp_path: Path) -> None:
    run, path = run_of(np.full(20, 0.004)), tmp_path / "t.json"
    path.write_text(line(Handled("GET", "b", "elsewhere", BEGAN_S, 0.001)))
    with pytest.raises(InputError, match=r"t\.json: has no request of one"):
        matched([("one", run)], [path])


def test_shares_add_up_and_have_figures() -> None:
    latency_s = np.linspace(0.002, 0.004, 300)
    run = run_of(latency_s)
    server_s = np.where(np.arange(300) < 10, np.nan, 0.6 * latency_s)
    server, rest = latency_parts(run, server_s).values()
    assert np.allclose(server.latency_s + rest.latency_s, latency_s[10:])
    assert {name for _, name in labels_of(parts_of(run, server_s))} >= {"server_p50", "rest_p50", "p50"}
    few = np.where(np.arange(300) < 60, np.nan, server_s)
    assert labels_of(parts_of(run, few)) == labels_of(parts_of(run)), "of too few requests it is known"


@pytest.mark.parametrize("more", [(), ("network.latency=0.3ms",), ("client=null",), ("client.placement=own",)])
def test_the_simulated_share_is_what_comes_after_the_client(more: tuple[str, ...]) -> None:
    data = minio("workload.operations=3000", *more)
    spec = spec_of({name: value for name, value in data.items() if value is not None}, "spec")
    trace = generate(spec.workload, seed=1)
    network, requests = compile_spec(spec, trace)
    run, server_s = simulate_server_part(spec, stamped(spec, network), requests, trace, seed=2)
    rest_s = (run.latency_s - server_s).mean()
    no_contention_s = 2 * spec.network.latency + (0.24e-3 + 4096 * 0.3e-9 if spec.client.cpu else 0)
    assert rest_s == pytest.approx(no_contention_s, rel=0.02, abs=1e-9), "requests of one client do not wait"
    assert run.latency_s.mean() == pytest.approx(simulate(spec, trace, seed=3).latency_s.mean(), rel=0.05)


def test_the_servers_times_tell_client_and_server_apart(tmp_path: Path) -> None:
    """Without them, and without CPU times, one client's latency is one sum."""
    fitted = {"hosts.cpu.GET.constant": 1.5e-3, "client.cpu.GET.constant": 0.6e-3}
    spec = with_values(spec_of(minio("client.placement=own", "workload.clients=2"), "spec"), fitted)
    trace = generate(spec.workload, seed=1)
    network, requests = compile_spec(spec, trace)
    run, server_s = simulate_server_part(spec, stamped(spec, network), requests, trace, seed=5)
    run = replace(run, info=run.info | {"kind": "measured"}, trace=generate(spec.workload, seed=1))
    path = tmp_path / "server.json"
    path.write_text("\n".join(line(one) for one in seen_by_server(run, server_s, 1e9)))
    parameters = [Parameter(name, value / 10, value * 10) for name, value in fitted.items()]
    known = matched([("run", run)], [path])
    assert np.allclose(known["run"], server_s, atol=1e-6)
    with_it, without = (
        calibrate(
            spec_of(minio("client.placement=own"), "spec"), [("run", run)], parameters, server_s=times, anyway=True
        )
        for times in (known, None)
    )
    for name, truth in fitted.items():
        told, untold = with_it.parameters[name], without.parameters[name]
        assert told.low <= truth <= told.high and told.value == pytest.approx(truth, rel=0.1)
        assert math.log(told.high / told.low) < 0.8 * math.log(untold.high / untold.low), name
    assert {"server_p50", "rest_p50"} <= {r.figure for r in with_it.residuals}
