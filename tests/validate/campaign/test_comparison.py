"""Comparisons of stores: entries, the ranking of their rows, what syncs cost, and the CSV file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cli.tables.measured.stores import misses_grid, stores_shown
from docs.generators.comparison import comparison_page, read_rows
from tests.paths import EXAMPLES, ROOT
from traces.errors import InputError
from traces.run import Run
from validate.campaign.campaign import Campaign
from validate.campaign.compared import Compared, compared, ranked, sync_costs, write_rows
from validate.campaign.comparison import Cause, read_comparison, sampled
from validate.campaign.predict import spec_for

FILE = EXAMPLES / "campaigns" / "comparison" / "stores.yaml"
COMPARISON = {
    "common": {
        "shape": {"drives": {"read": "1ms", "write": "1ms"}},
        "workload": {"duration": "1s", "object_size": "4KiB", "mix": {"PUT": 1}},
        "loads": [{"name": "put-c{clients}", "vary": {"workload.clients": [1, 4]}}],
    },
    "sample": ["*-c1"],
    "entries": {
        "store": {
            "fitted_to": "free",
            "campaign": {
                "store": "versitygw",
                "spec": str(EXAMPLES / "versitygw" / "box.yaml"),
                "set": {"drives.read": "1ms", "drives.write": "1ms"},
                "fit": {"hosts.cpu.PUT.constant": {"load": "put-c1"}},
            },
        },
        "free": {"like": "store", "promise": "unsynced", "campaign": {"set": {"drives.write": 0}}},
    },
}
ROW = Compared(
    "a", "a", "synced", "put", "all", "PUT", 100, 0, 0, False, 0.2, 0.1,
    10.0, 9.0, 11.0, 12.0, 0.1, 0.09, 0.11, 0.12, 0.99, math.nan, math.nan, math.nan, math.nan,
)  # fmt: skip


def written(folder: Path, **entries: object) -> Path:
    path = folder / "comparison.yaml"
    path.write_text(yaml.safe_dump(COMPARISON | {"entries": COMPARISON["entries"] | entries}, sort_keys=False))
    return path


def row(name: str, ops: float, predicted_ops: float, promise: str = "synced") -> Compared:
    return replace(ROW, entry=f"{name}-{promise}", store=name, promise=promise, ops=ops, predicted_ops=predicted_ops)


def shape_of(campaign: Campaign) -> object:
    assert campaign.shape is not None
    return campaign.shape.nic


def test_stores_of_the_example_have_the_same_loads_and_links() -> None:
    found = read_comparison(FILE)
    assert {entry.of for entry in found.entries.values()} == {
        "minio", "ceph", "swift", "seaweedfs", "versitygw", "garage"
    }  # fmt: skip
    synced = [entry for entry in found.entries.values() if entry.promise == "synced"]
    assert len(synced) == 6 and len({entry.names for entry in synced}) == 1
    assert {shape_of(entry.campaign) for entry in found.entries.values()} == {shape_of(synced[0].campaign)}
    for entry in found.entries.values():
        assert 0 < len(sampled(entry, found.sample)) <= 8
        light = {fit.load for fit in found.entries[entry.fitted_to].campaign.file.fit.values()}
        assert light <= set(sampled(found.entries[entry.fitted_to], found.sample))


def test_an_entry_takes_the_campaign_of_another_one(tmp_path: Path) -> None:
    entries = read_comparison(written(tmp_path)).entries
    assert [entry.fitted_to for entry in entries.values()] == ["free", "free"]
    empty = replace(Run.read(EXAMPLES / "recorded-box" / "light-put"), info={})
    specs = [spec_for(one.campaign, one.cells["put-c1"], empty, {}) for one in entries.values()]
    assert [spec.drives.write.constant for spec in specs] == [1e-3, 0]
    assert [spec.drives.read.constant for spec in specs] == [1e-3, 1e-3]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"like": "no"}, "entries: other: like: no entry before it is 'no'"),
        ({"like": "store", "fitted_to": "no"}, "entries: other: fitted_to: there is no entry 'no'"),
        ({"like": "store", "loads": ["get-*"]}, r"load 'get-\*': matches none"),
        ({"like": "store", "campaign": {"stoer": "minio"}}, "entries: other: .*stoer"),
        ({"like": "store", "campaign": {"set_for": {"x*": {"hosts.nic": 0}}}}, "set_for: no load has a name like"),
        ({"likes": "store"}, "likes"),
    ],
)
def test_wrong_entries_are_refused(entry: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_comparison(written(tmp_path, other=entry))


def test_values_of_some_loads_are_not_those_of_others(tmp_path: Path) -> None:
    """Also if they lead into a section that the campaign sets."""
    sets = {"set": {"client.cpu": {"PUT": "1ms"}}, "set_for": {"*-c4": {"client.cpu.PUT": "7ms"}}}
    entry = read_comparison(written(tmp_path, other={"like": "store", "campaign": sets})).entries["other"]
    empty = replace(Run.read(EXAMPLES / "recorded-box" / "light-put"), info={})
    found = [
        spec_for(entry.campaign, entry.cells[name], empty, {}).client.cpu["PUT"].constant
        for name in ("put-c4", "put-c1", "put-c4")
    ]
    assert found == [7e-3, 1e-3, 7e-3]


def test_pairs_that_differ_are_ranked() -> None:
    rows = [row("a", 10, 10), row("b", 11, 5), row("c", 20, 30), row("d", 30, 25), row("e", 1, 90, "unsynced")]
    found = ranked(rows, "ops")
    assert (found.pairs, found.right) == (5, 4), "a and b differ by a tenth"
    assert [wrong[1:] for wrong in found.wrong] == [("d-synced", "c-synced", 1.5, pytest.approx(25 / 30))]
    assert ranked([replace(each, fitted=True) for each in rows], "ops").pairs == 0
    assert ranked([replace(each, fitted=True) for each in rows], "ops", with_fitted=True).pairs == 5


def test_lower_latencies_are_better() -> None:
    rows = [replace(row("a", 1, 1), p50_s=0.1, predicted_p50_s=0.2), replace(row("b", 1, 1), p50_s=0.2)]
    assert ranked(rows, "p50").wrong[0][1:3] == ("a-synced", "b-synced")
    assert not ranked(rows, "tail").pairs


def test_what_syncs_cost() -> None:
    rows = [row("minio", 10, 12), row("other", 20, 18), row("other", 100, 90, "unsynced"), row("x", 1, 1, "unsynced")]
    (cost,) = sync_costs(rows, "minio")
    assert cost.gain == (5, 5) and cost.same == (2, 1.5) and cost.unequal == (10, 7.5)


def test_rows_that_miss_an_aim_have_their_causes() -> None:
    off = [
        row("a", 10, 10.9),
        row("b", 10, 11.2),
        replace(row("c", 10, 5), busy=0.6),
        replace(row("d", 10, 5), fitted=True),
    ]
    off += [replace(row("e", 10, 10), predicted_p50_s=0.08), replace(row("f", 10, 20), phase="during", busy=0.6)]
    known = replace(ROW, p50_s=0.1, predicted_p50_s=0.1)
    off = [replace(each, predicted_p50_s=0.1) if each.entry[0] in "abcdf" else each for each in [*off, known]]
    causes = [
        Cause(entries=("b-*", "e-*"), loads=("pu*",), text="one"),
        Cause(entries=("e-*",), loads=("put",), suspected=False, text="two"),
    ]
    (grid,) = misses_grid(off, causes)
    assert [(cells[0], cells[1], cells[-1]) for cells in grid.rows] == [
        ("b-synced", "put PUT", "suspected: one"), ("e-synced", "put PUT", "suspected: one; two"),
        ("f-synced", "put PUT during", "not known"), ("a", "put PUT", "not known"),
    ]  # fmt: skip
    assert [cells[2] for cells in grid.rows] == ["+12%", "+0%", "+100%", "+20%"]
    assert not misses_grid(off[:1], causes)


def test_causes_are_of_loads(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = yaml.safe_load(path.read_text())
    for causes, message in (
        ([{"entries": ["store"], "loads": ["get"], "text": "x"}], "causes.0: no load"),
        ([{"loads": ["put-c1"]}], "entries"),
    ):
        path.write_text(yaml.safe_dump(data | {"causes": causes}, sort_keys=False))
        with pytest.raises(InputError, match=message):
            read_comparison(path)


def test_rows_are_the_same_in_a_file(tmp_path: Path) -> None:
    write_rows([ROW, row("b", 3, 4, "unsynced")], tmp_path / "rows.csv")
    first, second = read_rows(tmp_path / "rows.csv")
    assert replace(first, tail_s=0, tail_s_low=0, tail_s_high=0, predicted_tail_s=0) == replace(
        ROW, tail_s=0, tail_s_low=0, tail_s_high=0, predicted_tail_s=0
    )
    assert math.isnan(first.tail_s) and second.promise == "unsynced"
    (tmp_path / "rows.csv").write_text("entry\na\n")
    with pytest.raises(InputError, match="line 2: 'store' is missing"):
        read_rows(tmp_path / "rows.csv")


def test_a_measured_run_has_intervals_next_to_its_prediction() -> None:
    entry = read_comparison(FILE).entries["minio"]
    run = Run.read(EXAMPLES / "recorded-box" / "light-put")
    (found,) = compared(entry, "put-4KiB-c1", [run], {}, 1)
    assert found.fitted and found.ops_low <= found.ops <= found.ops_high and found.predicted_p50_s > 0
    assert found.p50_s_low <= found.p50_s <= found.p50_s_high
    assert "put-4KiB-c1 (fitted)" in [cells[0] for cells in stores_shown([found], "minio")[-1].rows]


def test_the_page_has_the_measured_rows() -> None:
    box = ROOT / "benchmarks" / "box"
    page = comparison_page(box / "stores.csv", box / "accesses.csv", read_comparison(FILE))
    assert "predicted the right way round" in page and "| seaweedfs | three copies on four hosts" in page
