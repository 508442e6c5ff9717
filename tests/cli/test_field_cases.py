"""Questions that engineers asked of forecasts, with the right answers, by the commands as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.cli.commands.test_simulate import tailcast
from tests.paths import EXAMPLES, SAMPLES

CASES = SAMPLES / "field-cases"
SATURATES = re.compile(r"(?:saturates at|saturates first, at|serves at most) ([\d.,]+) op/s")


def said(capsys, *arguments: str) -> str:
    """What a command that succeeds prints, on both streams."""
    code, out, err = tailcast(capsys, *arguments)
    assert code == 0
    return out + err


def rates(text: str) -> set[float]:
    """The rates at saturation that it states."""
    return {float(rate.replace(",", "")) for rate in SATURATES.findall(text)}


def verdict(capsys, path: Path, *settings: str) -> dict:
    sets = [part for setting in settings for part in ("--set", setting)]
    return json.loads(tailcast(capsys, "simulate", str(path), *sets, "--json")[1])["verdict"]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("hosts", [1, 3])
def test_requests_that_time_out_are_no_capacity(capsys, hosts):
    """One drive serves 2.21 LISTs per second, with its deepest queue: with timeouts or without, with any verdict.

    A LIST visits the drives of all hosts, so more hosts serve no more.
    """
    case, more = str(CASES / "verdict-timeout.yaml"), ["--set", f"hosts.count={hosts}"]
    stated = [rates(said(capsys, command, case, *more)) for command in ("simulate", "bounds")]
    assert stated == [{2.21}, {2.21}]
    patient = said(capsys, "simulate", case, *more, "--set", "client.timeout=null", "--set", "workload.duration=100s")
    assert "overloaded: 2.2" in patient
    assert "failing: 0.0" in said(capsys, "simulate", case, *more)


def test_the_headroom_of_hard_disks_is_the_same_at_each_load(capsys):
    case = str(CASES / "headroom-hdd.yaml")
    for rate in (10, 25, 50):
        stated = said(capsys, "simulate", case, "--set", f"workload.rate={rate}/s")
        assert rates(stated) == {46.6}, rate
    assert rates(said(capsys, "bounds", case)) == {46.6}
    more = ["workload.rate=90/s", "workload.duration=300s", "client.timeout=null"]
    served = verdict(capsys, CASES / "headroom-hdd.yaml", *more)
    assert served["served_ops"] == pytest.approx(46.6, rel=0.03)


def test_a_scanner_that_is_off_says_so_and_a_faster_one_makes_drives_busier(capsys):
    case = CASES / "scanner-off.yaml"
    assert "scanner: is off, because speed is not given" in said(capsys, "simulate", str(case))
    assert "scanner" not in said(capsys, "simulate", str(case), "--set", "scanner.speed=default").splitlines()[0]
    busy = [
        verdict(capsys, case, f"scanner.speed={speed}")["saturates_first"]["utilization"]
        for speed in ("off", "default", "fast", "fastest")
    ]
    assert busy == sorted(busy)
    assert busy[-1] > busy[0] + 0.02


def test_operations_that_end_before_the_duration_arrive_at_the_rate(capsys):
    settings = ["--set", "workload.rate=3000/s", "--set", "workload.operations=3000"]
    text = said(capsys, "bounds", str(EXAMPLES / "minio.yaml"), *settings)
    assert "overloaded: 2,9" in text or "overloaded: 3,0" in text
    assert "healthy" not in text


def test_one_of_two_gateways_that_is_dead_is_no_healthy_store(capsys, tmp_path):
    path = written(tmp_path, """
        store: ceph
        workload: {rate: 300/s, duration: 10s, object_size: 64KiB, mix: {GET: 1}}
        hosts: {count: 3, drives: 4, cores: 16, nic: 3.125GB/s}
        gateways: {count: 2, cores: 8, nic: 3.125GB/s, cpu: {GET: 1ms}}
        device: {preset: nvme}
        pools: {data: replica 3, pg_num: 128}
        faults: [{kind: gateway_down, gateway: 0, at: 0s, detected_after: 1h}]
    """)  # fmt: skip
    found = verdict(capsys, path)
    assert found["status"] == "failing"
    assert found["errors"] == pytest.approx(0.5, abs=0.03)
    assert found["served_ops"] == pytest.approx(found["offered_ops"] / 2, rel=0.06)
    text = said(capsys, "simulate", str(path))
    assert "% of the requests fail" in text
    assert "gateway down: gateway 0" in text


def test_writes_that_fail_for_minutes_are_no_healthy_store(capsys):
    """While a bucket is resharded, all its PUTs wait; with a timeout, they fail."""
    settings = ["client.timeout=2s", "workload.duration=120s", "faults.0.entries=1000000"]
    found = verdict(capsys, EXAMPLES / "ceph" / "reshard-stall.yaml", *settings)
    assert found["status"] == "failing"
    worst = found["ops"]["PUT"]["worst"]
    assert worst["failed"] / worst["requests"] > 0.9
    assert worst["end_s"] - worst["start_s"] > 20
    assert found["faults"] == [[10.0, "reshard: bucket 0"]]


def test_a_rare_request_has_the_rate_of_the_run(capsys, tmp_path):
    """One HEAD of a fraction of a millisecond in 200 s is not thousands per second."""
    data = {
        "store": "minio",
        "workload": {"rate": "20/s", "duration": "200s", "object_size": "4KiB", "mix": {"GET": 999, "HEAD": 1}},
        "hosts": {"cores": 4, "cpu": {"GET": "1ms", "HEAD": "0.3ms"}},
        "drives": {"count": 1, "read": "0.1ms"},
    }
    code, out, _ = tailcast(capsys, "simulate", str(written(tmp_path, yaml.safe_dump(data))), "--json")
    head = json.loads(out)["ops"]["HEAD"]
    assert code == 0
    assert 1 <= head["count"] <= 15
    assert head["throughput_ops"] == pytest.approx(head["count"] / 200, rel=0.01)
