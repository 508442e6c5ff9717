"""Every mistake on the list is refused with a line that helps, or what looks like one is accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.mistakes import MISTAKES, Mistake, prepared


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("mistakes"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_gets_an_answer_that_helps(mistake: Mistake, folder: Path) -> None:
    answer = mistake.answer(folder)
    assert answer.code == mistake.code, answer.text
    said = " ".join(answer.text.split())
    for words in mistake.says:
        assert words.lower() in said.lower()
    for words in mistake.hides:
        assert words not in said
    if mistake.code == 2:
        assert not answer.out
        notes, error, _ = answer.err.partition("tailcast: error: ")
        assert error and "Traceback" not in notes, answer.err
    mistake.after(folder)
