"""The examples of MinIO clusters: bounds, a what-if and a failure of each, as their comments name them, but short."""

from __future__ import annotations

import json

import pytest

from cli.main import main
from tests.models.minio.test_examples import FILES, commands, values_of
from tests.profiles import others_nightly

pytestmark = pytest.mark.usefixtures("few_requests_of_module")

SHORT = {
    "nvme-8x8": ("workload.operations=300",),
    "nvme-32x8": ("workload.operations=500",),
}
OPEN_FOR_A_WHILE = {
    "nvme-8x8": ("workload.rate=200/s", "workload.operations=null", "workload.duration=1s"),
    "nvme-32x8": ("workload.rate=2000/s", "workload.operations=null", "workload.duration=0.2s"),
}
SECONDS = ("workload.duration=10s",)
ONCE = ("--replications", "1", "--workers", "1")

LARGE = ("nvme-8x8", "nvme-32x8")
"""Clusters of the same kind, of two sizes: the smaller one proves the same."""
of_each_kind = pytest.mark.parametrize(
    "path",
    others_nightly(FILES, [path for path in FILES if path.stem != LARGE[1]], f"{LARGE[0]} is of the same kind"),
    ids=lambda path: path.stem,
)


def answer(capsys, *arguments: object):
    """What a command prints as JSON; it must succeed without a warning."""
    with pytest.raises(SystemExit) as stop:
        main([*map(str, arguments), "--json"])
    assert stop.value.code == 0
    printed = capsys.readouterr()
    assert "warning" not in printed.err
    return json.loads(printed.out)


def settings(assignments):
    return [word for each in assignments for word in ("--set", each)]


def most_ops(capsys, path, *assignments: str) -> float:
    short = SHORT.get(path.stem, SECONDS)
    return answer(capsys, "bounds", path, *settings([*short, *assignments]))["max_throughput_ops"]


@of_each_kind
def test_bounds_allow_the_load_and_more_with_more_or_faster_parts(capsys, path):
    found = answer(capsys, "bounds", path, *settings(SHORT.get(path.stem, SECONDS)))
    most = found["max_throughput_ops"]
    offered = found.get("offered_ops", 0.0)
    assert most > offered
    hosts = {"homelab": 5, "hdd-4x4": 5, "two-pools": 5, "nvme-8x8": 9, "nvme-32x8": 36}[path.stem]
    assert most_ops(capsys, path, f"hosts.count={hosts}", "hosts.racks=1") >= 0.95 * most
    assert most_ops(capsys, path, "hosts.nic=40GB/s") >= most


@of_each_kind
def test_a_what_if_of_the_comment_answers_for_each_value(capsys, path):
    words = next(words for words in commands(path) if words[1] == "whatif")
    vary = [word for each in values_of(words, "--vary") for word in ("--vary", each)]
    found = answer(capsys, "whatif", path, *vary, *settings(SHORT.get(path.stem, SECONDS)), *ONCE)
    assert len(found["points"]) >= 2
    for point in found["points"]:
        assert all(figures["errors"] == 0 for figures in point["ops"].values())


@of_each_kind
def test_a_failure_of_the_comment_has_a_time_before_during_and_after(capsys, path):
    words = next(words for words in commands(path) if words[1] == "failures")
    failure = next(word for word in words if word.startswith("drive:"))
    given = settings(OPEN_FOR_A_WHILE.get(path.stem, SECONDS))
    found = answer(capsys, "failures", path, failure, *given, *ONCE)
    [row] = found["failures"]
    assert row["failure"] == failure
    assert set(row["windows"]) == {"before", "during", "after"}
    for window in row["windows"].values():
        assert all(figures["count"] and not figures["errors"] for figures in window["ops"].values())


@pytest.mark.parametrize(
    "arguments",
    [("bounds",), ("whatif", "--vary", "hosts.nic=25,1Gbit/s", *ONCE), ("failures", "host:1", *ONCE)],
    ids=lambda arguments: arguments[0],
)
def test_a_link_without_a_unit_is_warned_of(capsys, arguments):
    verb, *rest = arguments
    slow = () if verb == "whatif" else ("--set", "hosts.nic=25")
    path = next(path for path in FILES if path.stem == "homelab")
    with pytest.raises(SystemExit):
        main([verb, str(path), *rest, *slow, "--set", "workload.duration=3s", "--json"])
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning:")]
    assert warnings == [
        "warning: hosts.nic is 25.0 B/s; real stores have 125 MB/s to 50.0 GB/s; did you mean 3.12 GB/s?"
    ]
