"""Notebooks of `examples/`: their cells run in order, and what is stored has no outputs and no paths of a machine."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT

NOTEBOOKS = sorted((ROOT / "examples").rglob("*.ipynb"))


def cells_of(notebook: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return the value of its last line if that is an expression: a notebook shows it."""
    tree = ast.parse(source)
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if shown is None else eval(compile(ast.Expression(shown.value), "cell", "eval"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_and_show_what_a_notebook_draws(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [run_cell("".join(cell["source"]), names) for cell in cells_of(notebook, "code")]
    drawn = [each for each in shown if each is not None]
    assert len(drawn) >= len(shown) - 1 and all(hasattr(each, "_repr_html_") for each in drawn)
    assert all(each._repr_html_() for each in drawn)
    assert not list(tmp_path.iterdir()), "it writes only what its reader adds"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_a_machine_is_stored(notebook: Path) -> None:
    stored = json.loads(notebook.read_text(encoding="utf-8"))
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in stored["cells"]}) == len(stored["cells"])
    for cell in cells_of(notebook, "code"):
        assert cell["outputs"] == [] and cell["execution_count"] is None
    text = "".join("".join(cell["source"]) for cell in stored["cells"])
    assert not re.search(r"(?<![\w./])/(?:home|root|tmp|work|usr|mnt)/", text)
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (notebook.parent / link).is_file(), link


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS] == ["forecast.ipynb"]
