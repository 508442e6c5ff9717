"""`tailcast choose` as it is typed: table, ranking and page; and mistakes, which are one line."""

from __future__ import annotations

import json

import pytest

from cli.main import main
from tests.paths import EXAMPLES

HOME = str(EXAMPLES / "choose" / "home.yaml")
LEFT_OUT = [each for store in ("swift", "silo", "rustfs") for each in ("--exclude", store)]
QUICK = ["--requests", "1000", "--workers", "1"]


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.mark.usefixtures("few_requests")
def test_it_prints_the_table_and_the_ranking_and_writes_a_page(capsys, tmp_path):
    page, result = tmp_path / "page.html", tmp_path / "choice.json"
    code, out, _ = tailcast(
        capsys,
        "choose",
        HOME,
        *QUICK,
        *LEFT_OUT,
        "--draws",
        "2",
        "--report",
        str(page),
        "--out",
        str(result),
    )
    assert code == 0
    for text in ("Promise: objects survive the loss of a drive", "EC 2+2", "measured in", "with probability"):
        assert text in " ".join(out.split())
    assert "not in the table: bob" in " ".join(out.split())
    found = json.loads(result.read_text())
    assert {row["candidate"]["store"] for row in found["rows"]} == {"minio", "ceph"}
    assert "Which store: home.yaml" in page.read_text()


def test_without_the_same_promise_stores_that_do_not_sync_are_in_the_table(capsys):
    excluded = [*LEFT_OUT, "--exclude", "ceph", "--exclude", "minio"]
    code, out, _ = tailcast(capsys, "choose", HOME, *QUICK, *excluded, "--unsynced", "--draws", "0", "--json")
    assert code == 0
    assert [row["candidate"]["store"] for row in json.loads(out)["rows"]] == ["bob", "versitygw"]
    assert json.loads(out)["promise"]["acknowledged"] == "written"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exclude", "minoi"], "did you mean minio"),
        (["--pin", "ceph"], "write it like STORE.hosts.nic"),
        (["--pin", "cehp.pools.data=ec 4+2"], "did you mean ceph"),
        (["--draws", "1"], "one draw has no band"),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, said):
    code, out, err = tailcast(capsys, "choose", HOME, *arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert said in err


def test_objectives_of_the_file_are_named_with_it(capsys, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text((EXAMPLES / "choose" / "home.yaml").read_text().replace("GET.p99<500ms", "GET.p98<500ms"))
    code, _, err = tailcast(capsys, "choose", str(path))
    assert code == 2
    assert f"{path}: objectives: GET.p98<500ms" in err
    assert len(err.strip().splitlines()) == 1
