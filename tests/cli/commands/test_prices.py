"""`--prices` and the catalogue: costs without typed prices, which price is from where, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import main
from cli.parse.prices import pricing
from cli.tables.spec.prices import price_lines
from models.shared.prices import priced_parts
from models.store import spec_of
from sim.choose.hardware import read_hardware
from tests.paths import EXAMPLES
from traces.spec.spec_file import load_mapping

SPEC = """\
store: minio
workload: {rate: 100/s, operations: 200, object_size: 64KiB, mix: {GET: 80, PUT: 20}}
hosts: {count: 2, cores: 4, nic: 10Gbit/s, cpu: {GET: 0.5ms, PUT: 1.5ms}}
drives: {count: 4, preset: nvme}
"""
OWN = "drives: {nvme: [{capacity: 3840GB, price: 500, date: 2026-11, source: an offer}]}\n"


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def spec(tmp_path) -> Path:
    """Return the file of a spec without prices, next to a catalogue."""
    (tmp_path / "own.yaml").write_text(OWN)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path / "spec.yaml"


def costs(capsys, spec: Path, *options: str) -> list[float | None]:
    """Return the costs of one and two hosts."""
    arguments = ["whatif", str(spec), "--vary", "hosts.count=2,4", "--replications", "2", "--json", "--workers", "1"]
    code, out, err = tailcast(capsys, *arguments, *options)
    assert code == 0, err
    return [point["cost"] for point in json.loads(out)["points"]]


def test_variants_have_costs_by_the_catalogue_or_by_ones_own(capsys, spec):
    assert costs(capsys, spec) == [None, None]
    shipped = costs(capsys, spec, "--prices", "shipped")
    own = costs(capsys, spec, "--prices", str(spec.parent / "own.yaml"))
    assert shipped[1] == pytest.approx(2 * shipped[0])
    assert shipped[0] - own[0] == pytest.approx(8 * (1370 - 500))


def test_the_catalogue_replaces_no_prices_that_are_given():
    given = {**load_mapping(EXAMPLES / "minio.yaml"), "prices": {"core": 100}}
    bare = load_mapping(EXAMPLES / "minio.yaml")
    assert pricing(None)(given) is given
    assert pricing("none")(bare) is bare
    assert pricing(None)(bare)["prices"] == {"catalogue": "shipped"}
    assert pricing("shipped")(given)["prices"] == {"catalogue": "shipped", "core": 100}


def test_a_store_below_has_the_catalogue_too():
    found = pricing(None)(load_mapping(EXAMPLES / "juicefs" / "mount.yaml"))
    assert found["prices"] == found["below"]["prices"] == {"catalogue": "shipped"}


def test_it_says_which_price_is_from_where(spec):
    data = pricing(str(spec.parent / "own.yaml"))({**load_mapping(spec), "prices": {"host": 4000}})
    (line,) = price_lines(priced_parts(spec_of(data, "spec")))
    assert "Prices in USD: host 4,000 (given); core 148" in line
    assert "drive 500 (nvme 3.84 TB (paid, 2026-11))" in line
    assert "nic_gbit 20.0 (interface 10 Gbit/s (typical, 2025-01)); sources: tailcast presets --prices." in line
    assert price_lines([]) == []


def test_the_file_of_choose_without_prices():
    file, _ = read_hardware(EXAMPLES / "choose" / "nvme.yaml", lambda data: pricing(None)({**data, "prices": None}))
    given, _ = read_hardware(EXAMPLES / "choose" / "nvme.yaml", pricing(None))
    assert given.cost(6) == 6 * (9000 + 4 * 800)
    # a server, 32 cores, 256 GB of memory, an interface of 25 Gbit/s, four drives
    assert file.cost(6) == pytest.approx(6 * (3500 + 32 * 68 + 256 * 10 + 350 + 4 * 1370), rel=0.01)


def test_the_catalogue_is_printed(capsys):
    code, out, _ = tailcast(capsys, "presets", "--prices")
    assert code == 0
    assert "hdd-7k2" in out
    assert json.loads(tailcast(capsys, "presets", "--prices", "--json")[1])["currency"] == "USD"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("shiped", "--prices: 'shiped' is no file; allowed are a YAML file, 'shipped' and 'none'"),
        ("missing.yaml", "missing.yaml"),
        ("wrong.yaml", "wrong.yaml: drives.nvme.0.prize: unknown field"),
    ],
)
def test_mistakes(capsys, spec, monkeypatch, option, says):
    monkeypatch.chdir(spec.parent)
    Path("wrong.yaml").write_text("drives: {nvme: [{capacity: 1TB, prize: 5}]}\n")
    code, _, err = tailcast(capsys, "plan", "spec.yaml", "--growth", "no.yaml", "--prices", option)
    assert code == 2
    assert says in err
    code, _, err = tailcast(capsys, "presets", "nvme", "--prices")
    assert (code, "leave the name out" in err) == (2, True)
