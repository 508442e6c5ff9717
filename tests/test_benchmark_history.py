"""The history of benchmark ratios: rows survive their file, and changes are told from noise."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import history
import pytest

from traces.provenance import CodeVersion

ROW = history.Row("2026-01-02", "0123456789ab", "startup.py", "a / b", 1.9, 2.0, 2.1, 5, 1.0, "CPU-X")
DIRTY = CodeVersion("0.1.0", "0123456789abcdef", True, "ff")


def test_rows_are_appended_and_read_again(tmp_path: Path) -> None:
    path, second = tmp_path / "history.csv", replace(ROW, ratio="c, d / e", rounds=3)
    assert history.read(path) == []
    history.append(path, [ROW])
    history.append(path, [second])
    assert history.read(path) == [ROW, second]
    assert path.read_text().splitlines()[0] == ",".join(history.COLUMNS)


@pytest.mark.parametrize(
    ("low", "value", "high", "said"),
    [(2.05, 2.2, 2.3, "+10% since 0123456789ab, noise"), (2.2, 2.4, 2.5, "+20% since 0123456789ab"),
     (1.0, 1.5, 1.8, "-25% since 0123456789ab")],
)  # fmt: skip
def test_a_change_is_noise_if_the_ranges_overlap(low: float, value: float, high: float, said: str) -> None:
    row = replace(ROW, low=low, value=value, high=high)
    older = replace(ROW, commit="ffff", low=9.0, value=9.0, high=9.0)
    assert history.change(row, [older, ROW]).endswith(said)


@pytest.mark.parametrize("other", [{"machine": "CPU-Y"}, {"size": 0.5}, {"ratio": "a / c"}, {"benchmark": "scale.py"}])
def test_rows_of_another_machine_or_size_are_not_compared(other: dict[str, object]) -> None:
    assert history.change(ROW, [replace(ROW, **other)]).endswith("first on this machine")


def test_sources_that_differ_from_the_commit_are_refused_or_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.csv"
    monkeypatch.setattr(history, "code_version", lambda: DIRTY)
    monkeypatch.setitem(history.MEASURED, "startup", ("startup.py", lambda size: {"a / b": 2.0}))
    monkeypatch.setattr(sys, "argv", ["history.py", "startup", "--rounds", "2", "--history", str(path)])
    with pytest.raises(SystemExit, match="2"):
        history.main()
    assert "differ from the commit" in capsys.readouterr().err and not path.exists()
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--dirty"])
    history.main()
    (row,) = history.read(path)
    assert (row.commit, row.value, row.rounds) == ("0123456789ab-dirty", 2.0, 2)


def test_the_machine_is_one_word() -> None:
    assert history.machine() and " " not in history.machine() and "," not in history.machine()


def test_the_recorded_history_is_of_programs_that_exist() -> None:
    rows = history.read(history.HISTORY)
    assert rows and all((history.BENCHMARKS / row.benchmark).is_file() for row in rows)
    assert all(row.low <= row.value <= row.high for row in rows)
