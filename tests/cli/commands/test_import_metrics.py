"""`tailcast import-metrics`: its files, its page, and what it refuses."""

from __future__ import annotations

import json

import pytest

from cli.main import main
from models.store import load_spec
from tests.paths import EXAMPLES

SPEC = EXAMPLES / "minio-erasure-set.yaml"
METRICS = EXAMPLES / "metrics" / "minio.json"


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["import-metrics", *map(str, arguments)])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_all_outputs(capsys, tmp_path):
    workload, table, kept, page = (tmp_path / name for name in ("w.yaml", "t.csv", "m.json", "p.html"))
    code, out, err = tailcast(
        capsys, SPEC, METRICS, "--workload", workload, "--table", table, "--save", kept, "--report", page, "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert {row["what"] for row in found["compared"]} >= {"GET", "PUT", "cores", "drives"}
    assert found["workload"]["mix"]["GET"] == pytest.approx(0.69, abs=0.05)
    assert page.read_text().count("plotly") > 0
    assert table.read_text().startswith("table,workload,op,")
    again, out, err = tailcast(capsys, SPEC, kept, "--json")
    assert again == 0, err
    assert json.loads(out)["workload"] == found["workload"]
    text = SPEC.read_text()
    begin, end = text.index("workload:"), text.index("client:")
    (tmp_path / "spec.yaml").write_text(text[:begin] + workload.read_text() + "\n" + text[end:])
    assert load_spec(tmp_path / "spec.yaml").workload.total_rate == pytest.approx(found["workload"]["rate"], rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([SPEC], "give either files with metrics or --url"),
        ([SPEC, METRICS, "--url", "http://x"], "give either files with metrics or --url"),
        ([SPEC, METRICS, "--start", "yesterday"], "--start: 'yesterday' is no point in time"),
        ([SPEC, METRICS, "--start", "10", "--last", "1h"], "--start and --last"),
        ([SPEC, METRICS, "--start", "10", "--end", "5"], "--end must be after --start"),
        ([SPEC, METRICS, "--start", "10", "--end", "20"], "no samples in the window"),
        ([SPEC, METRICS, "--drive", "("], "--drive: '(' is no regular expression"),
        ([SPEC, SPEC], "minio-erasure-set.yaml: is no response of Prometheus and no snapshot of metrics: line 5"),
        ([SPEC, "absent.json"], "absent.json"),
        ([EXAMPLES / "bob" / "one-host.yaml", METRICS], "its model has no meaning of metrics"),
        ([SPEC, "--url", "http://127.0.0.1:1"], "http://127.0.0.1:1: cannot be reached"),
    ],
)
def test_wrong_inputs(capsys, arguments, why):
    code, _, err = tailcast(capsys, *arguments)
    assert code == 2
    assert why in err
