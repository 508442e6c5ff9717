"""`tailcast lab spec`: the spec of a store on loopback, on the machine that it shares with its clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.main import main
from models.basis.doubts import doubts
from models.store import load_spec
from sim.simulate import simulate
from validate.lab import lab
from validate.lab.registry import STORES
from validate.lab.store import Form, Node, Store


def store(name: str, form: Form) -> Store:
    """Return a store as if it were up."""
    nodes = tuple(Node(f"http://127.0.0.1:{9000 + host}") for host in range(form.hosts))
    return Store(name, form, "", Path("nowhere"), nodes)


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["lab", "spec", *map(str, arguments)])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.mark.parametrize(("form", "shared"), [(Form(1), False), (Form(4), False), (Form(1, 4), True)])
def test_hosts_and_clients_share_the_cores(capsys, tmp_path, monkeypatch, form, shared):
    monkeypatch.setattr(lab, "running", lambda: store("minio", form))
    path = tmp_path / "lab.yaml"
    code, _, err = tailcast(capsys, "--clients", 4, "--size", "4KiB", "-o", path)
    assert code == 0, err
    spec = load_spec(path, ["workload.operations=300"])
    assert (spec.hosts.count, spec.drives.count) == (form.hosts, form.drives)
    assert spec.hosts.cores.shared is shared
    assert spec.drives.shared_journal is (form.drives > 1)
    assert spec.client.on_storage_hosts
    assert spec.workload.clients == 4
    run = simulate(spec, seed=1)
    assert not run.failed.any()
    assert any(row["role"] == "host cpu" and row["utilization"] > 0.3 for row in run.station_rows)


@pytest.mark.parametrize("name", ["ceph", "swift"])
def test_gateways_share_them_too(capsys, tmp_path, monkeypatch, name):
    (form,) = STORES[name].forms.values()
    monkeypatch.setattr(lab, "running", lambda: store(name, form))
    path = tmp_path / "lab.yaml"
    code, _, err = tailcast(capsys, "--clients", 4, "--size", "64KiB", "-o", path)
    assert code == 0, err
    spec = load_spec(path, ["workload.operations=300"])
    assert (spec.hosts.count, spec.hosts.cores.shared, spec.client.on_storage_hosts) == (3, True, True)
    assert doubts(spec) == ()
    run = simulate(spec, seed=1)
    assert not run.failed.any()
    (cores,) = [row for row in run.station_rows if row["role"].endswith(" cpu")]
    assert (cores["name"], cores["utilization"] > 0.3) == ("host cpu", True)


@pytest.mark.parametrize(
    ("running", "arguments", "why"),
    [
        (None, [], "no store is up; start one with"),
        (store("garage", Form(1, 3)), [], "store garage: its model does not have hosts and clients on the same cores"),
        (store("minio", Form(1)), ["--rate", "1/s", "--clients", "2"], "give one"),
        (store("minio", Form(1)), ["--size", "much"], "--size"),
    ],
)
def test_wrong_inputs(capsys, monkeypatch, running, arguments, why):
    monkeypatch.setattr(lab, "running", lambda: running)
    code, _, err = tailcast(capsys, *arguments)
    assert code == 2
    assert why in err
