"""`tailcast init`: a spec from options and from questions on a terminal, which other commands take."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
import yaml

from cli.commands import init
from cli.main import main
from models.basis.assumptions import require_demands
from models.basis.described import DescribedSpec
from models.store import load_spec, names, register, store_named
from sim.simulate import simulate
from tests.stores.fifo_disk import STORE as FIFO_DISK
from traces.spec.spec_file import load_mapping

LOAD = ["--size", "64KiB", "--rate", "100/s"]
ENOUGH = {
    "minio": ["--hosts", "4", "--drives", "4", "--drive", "nvme", "--nic", "25Gbit/s"],
    "ceph": [
        *("--hosts", "5", "--drives", "12", "--drive", "hdd-7k2", "--db", "nvme", "--db-drives", "2"),
        *("--nic", "25Gbit/s", "--gateways", "2", "--objects", "200M"),
    ],
    "swift": [
        *("--hosts", "3", "--drives", "4", "--drive", "hdd-7k2", "--nic", "10Gbit/s", "--proxies", "2"),
        *("--objects", "1e6"),
    ],
    "bob": ["--hosts", "3", "--drives", "4", "--drive", "nvme", "--nic", "10Gbit/s", "--objects", "1e6"],
    "openio": [
        *("--hosts", "4", "--drives", "4", "--drive", "hdd-7k2", "--nic", "10Gbit/s", "--gateways", "2"),
        *("--objects", "1e6", "--protection", "6+3"),
    ],
    "silo": ["--hosts", "4", "--drives", "4", "--drive", "nvme", "--nic", "25Gbit/s"],
    "rustfs": ["--hosts", "4", "--drives", "4", "--drive", "nvme", "--nic", "25Gbit/s"],
    "garage": ["--hosts", "3", "--drives", "2", "--drive", "hdd-7k2", "--nic", "1Gbit/s", "--objects", "1e6"],
    "versitygw": ["--drives", "4", "--drive", "nvme", "--nic", "10Gbit/s", "--objects", "1e6"],
    "seaweedfs": ["--hosts", "4", "--drives", "4", "--drive", "hdd-7k2", "--nic", "10Gbit/s", "--objects", "1e6"],
    "juicefs": ["--mounts", "2", "--metadata", "redis"],
    "s3fs": ["--mounts", "2"],
}
"""What each store needs besides a workload; a layer also needs the spec of a store below."""

ORIGIN = re.compile(r"  # (given|file|data sheet|preset|derived|assumed)\b")


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def written(capsys: pytest.CaptureFixture[str], folder: Path, store: str) -> Path:
    """Write the spec of a store with what it needs."""
    options = [*ENOUGH[store], *LOAD]
    if "below" in {question.name for question in store_named(store).setup.questions}:
        options += ["--below", str(written(capsys, folder, "minio"))]
    path = folder / f"{store}.yaml"
    assert tailcast(capsys, "init", store, *options, "--out", str(path), "--force")[0] == 0
    return path


@pytest.mark.parametrize("store", ENOUGH)
def test_the_spec_runs(capsys, tmp_path, store):
    path = written(capsys, tmp_path, store)
    spec = load_spec(path, ["workload.duration=1s"])
    require_demands(spec)
    DescribedSpec.of(load_mapping(path)).check_assumed()
    assert len(simulate(spec, seed=1)) > 50
    assert tailcast(capsys, "check", str(path))[0] == 0


def test_every_store_is_covered():
    assert set(ENOUGH) == {name for name in names() if store_named(name).setup is not None}


@pytest.mark.parametrize("store", ENOUGH)
def test_each_value_says_where_it_is_from(capsys, tmp_path, store):
    lines = written(capsys, tmp_path, store).read_text().partition("\nassumed:")[0].splitlines()
    values = [line for line in lines if line and not line.startswith("#") and not line.endswith(":")]
    assert len(values) > 10
    assert not [line for line in values if not ORIGIN.search(line)]


def test_a_given_value_is_marked_and_the_others_are_not(capsys, tmp_path):
    text = written(capsys, tmp_path, "minio").read_text()
    assert re.search(r"  count: 4 +# given\n", text)
    assert re.search(r"  cores: 16 +# assumed: ", text)
    assert re.search(r"  parity: 4 +# derived: MinIO's default for 16 drives", text)
    assert re.search(r"  preset: nvme  # given; data sheet: Samsung PM983", text)


def test_assumed_values_have_ranges(capsys, tmp_path):
    path = written(capsys, tmp_path, "minio")
    unknown = {one.path for one in DescribedSpec.of(load_mapping(path)).uncertain.unknowns}
    assert {"network.latency", "hosts.cores.count", "hosts.cpu"} <= unknown
    assert yaml.safe_load(path.read_text())["assumed"]["hosts.cores"] == {
        "low": 8, "high": 64, "source": "range of real stores"
    }  # fmt: skip


def test_it_ends_with_commands_on_its_file(capsys, tmp_path):
    path = written(capsys, tmp_path, "minio")
    commands = [line for line in path.read_text().splitlines() if line.startswith("#   tailcast ")]
    assert len(commands) == 3 and all(f" {path}" in line for line in commands)


def test_without_a_file_it_is_printed(capsys):
    code, out, _ = tailcast(capsys, "init", "minio", *ENOUGH["minio"], *LOAD)
    assert code == 0 and yaml.safe_load(out)["hosts"]["count"] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["minio"], "needs --hosts, --drives, --drive, --nic, --size, --rate;"),
        (["minio", *ENOUGH["minio"]], "needs --size, --rate;"),
        (["minio", "--hosts", "0"], "--hosts: '0': a whole number from 1"),
        (["minio", "--hosts", "many"], "--hosts: 'many': a whole number from 1"),
        (["minio", "--nic", "25"], "--nic: '25' needs a unit, as in 25Gbit/s"),
        (["minio", "--nic", "25parsec"], "--nic: '25parsec' has the unknown unit 'parsec'"),
        (["minio", "--drive", "nvmee"], "--drive: 'nvmee' is not a drive; did you mean nvme?"),
        (["minio", "--mix", "GOT=1"], "--mix: 'GOT' is not an operation; did you mean GET?"),
        (["minio", "--mix", "GET=1,GET=2"], "--mix: 'GET=1,GET=2': each operation has one weight"),
        (["minio", "--size", "0"], "--size: '0' is 0; more is needed"),
        (["minio", "--duration", "5"], "--duration: '5' needs a unit"),
        (["minio", *ENOUGH["minio"], *LOAD, "--parity", "9"], "the new spec: erasure.parity: is 9"),
        (["ceph", "--protection", "six"], "--protection: 'six': allowed are replicas"),
        (["ceph", "--release", "rief"], "--release: 'rief': did you mean reef?"),
        (["juicefs", "--below", "none.yaml"], "--below: none.yaml: no such file"),
        (["minio", "--gateways", "2"], "No such option: --gateways"),
        (["minoi"], "No such command 'minoi'. Did you mean 'minio'?"),
    ],
)
def test_mistakes_are_one_line(capsys, monkeypatch, arguments, said):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, out, err = tailcast(capsys, "init", *arguments)
    assert (code, out) == (2, "")
    assert said in err and len(err.splitlines()) == 1


def test_an_existing_file_is_kept(capsys, tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text("mine")
    code, _, err = tailcast(capsys, "init", "minio", *ENOUGH["minio"], *LOAD, "-o", str(path))
    assert code == 2 and "--force overwrites it" in err and path.read_text() == "mine"


def test_a_store_without_setup_is_refused():
    register(FIFO_DISK)
    with pytest.raises(Exception, match="store fifo-disk: its model does not say how a spec of it is written"):
        init.app_of("fifo-disk")


class _Terminal(io.StringIO):
    """What a user types."""

    def isatty(self) -> bool:
        return True


def test_what_is_missing_is_read_from_a_terminal(capsys, monkeypatch, tmp_path):
    path = tmp_path / "spec.yaml"
    typed = ["nvme", "six", "6", "", "", "1MiB", "2000/s", "", ""]
    monkeypatch.setattr("sys.stdin", _Terminal("\n".join([*typed, ""])))
    options = ["--drives", "8", "--nic", "25Gbit/s"]
    code, _, err = tailcast(capsys, "init", "minio", *options, "-o", str(path))
    assert code == 2 and not path.exists()  # the first is no number, the sixth no size: it asks again, until the end
    assert err.count("Storage hosts: ") == 3 and "'six': a whole number" in err

    monkeypatch.setattr("sys.stdin", _Terminal("\n".join(["6", "nvme", "", "", "1MiB", "2000/s", "", "", ""])))
    code, _, err = tailcast(capsys, "init", "minio", *options, "-o", str(path))
    spec = load_spec(path)
    assert code == 0 and (spec.hosts.count, spec.drives.preset, spec.hosts.cores.count) == (6, "nvme", 16)
    assert "Cores of each storage host [16]: " in err and "Data drives" not in err
    assert re.search(r"  cores: 16 +# assumed", path.read_text())


CORES = '{"lscpu": [{"field": "CPU(s):", "data": "48"}]}'
TREE = """\
ID  CLASS  WEIGHT   TYPE NAME       STATUS  REWEIGHT  PRI-AFF
-1         9.00000  root default
-3         6.00000      host a
 0    hdd  3.00000          osd.0       up   1.00000  1.00000
 1    hdd  3.00000          osd.1       up   1.00000  1.00000
-5         3.00000      host b
 2    hdd  3.00000          osd.2       up   1.00000  1.00000
-7         3.00000      host c
 3    hdd  3.00000          osd.3       up   1.00000  1.00000
"""


def test_hosts_that_differ_become_groups(capsys, tmp_path):
    (tmp_path / "tree.txt").write_text(TREE)
    path = tmp_path / "ceph.yaml"
    more = ["--nic", "10Gbit/s", "--gateways", "1", "--objects", "1M", *LOAD]
    assert tailcast(capsys, "init", "ceph", "--from", str(tmp_path / "tree.txt"), *more, "-o", str(path))[0] == 0
    spec = load_spec(path)
    assert (spec.osds, spec.host_count) == (4, 3)
    assert sorted((part.hosts.count, part.hosts.drives) for part in spec.host_groups.values()) == [(1, 2), (2, 1)]


def test_files_give_what_they_have(capsys, tmp_path):
    for name, text in (("cores.json", CORES), ("tree.txt", TREE)):
        (tmp_path / name).write_text(text)
    files = [argument for name in ("cores.json", "tree.txt") for argument in ("--from", str(tmp_path / name))]
    more = ["--nic", "10Gbit/s", "--gateways", "1", "--objects", "1M", "--hosts", "4", *LOAD]
    path = tmp_path / "ceph.yaml"
    code, out, err = tailcast(capsys, "init", "ceph", *files, *more, "-o", str(path))
    assert (code, out) == (0, "")
    assert "cores.json is lscpu: cores\n" in err
    assert "tree.txt is ceph osd tree: hosts, drives, host-groups, osd-order, drive.capacity, drive\n" in err
    assert "note: hosts is 4 given, 3 in tree.txt (ceph osd tree); the first is used" in err
    text = path.read_text()
    assert load_spec(path).hosts.count == 4
    assert re.search(r"  cores: 48 +# file cores\.json: lscpu\n", text)
    assert re.search(r"  capacity: 3299GB +# file tree\.txt: ceph osd tree\n", text)
    assert load_spec(path).hosts.count == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("", "is empty"),
        ("text", "its kind is not recognised; read are"),
        ('{"lscpu": [1]}', "looks like lscpu"),
    ],
)
def test_files_that_cannot_be_read_are_one_line(capsys, tmp_path, text, said):
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    code, out, err = tailcast(capsys, "init", "minio", "--from", str(path))
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err


def test_help_names_the_files_that_are_read(capsys):
    _, listed, _ = tailcast(capsys, "init", "--help")
    assert re.search(r"garage +From options, garage.toml, garage status, garage layout show\n", listed)
    assert re.search(r"bob +From options, and files on hardware\n", listed)
    _, text, _ = tailcast(capsys, "init", "swift", "--help")
    assert "of the store swift-ring-builder, ring of Swift" in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hdd", "of this kind are hdd-7k2, hdd-7k2-2.5in, hdd-5k4, hdd-smr"),
        ("zfs", "allowed are hdd-7k2, "),
    ],
)
def test_a_wrong_drive_is_told_which_there_are(capsys, text, said):
    code, _, err = tailcast(capsys, "init", "minio", "--drive", text)
    assert code == 2
    assert f"--drive: {text!r} is not a drive; {said}" in err
