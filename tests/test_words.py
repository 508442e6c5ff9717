"""Help texts, docs and docstrings use the terms of the field (`docs/glossary.md`), not those that they replaced."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from cli.main import app
from tests.paths import ROOT
from tests.test_imports import ORDER

REPLACED = {
    # word: (pattern, the term of the field)
    "law": (
        r"(?<!power )(?<!Zipf )(?<!\w's )(?<!operational )(?<!utilisation )\blaws?\b(?! of succession)",
        "distribution, cost function",
    ),
    "asked": (r"\basked\b|\basks for\b", "requested, offered load"),
    "answer": (r"(?<!tailcast )\banswers?\b", "response"),
    "unhindered": (r"\bunhindered\b", "no-contention"),
    "random order": (r"\bRANDOM_ORDER\b", "SIRO"),
    "delay station": (r"\bDELAY\b", "infinite server"),
    "fairness": (r"\bfairness\b", "age bias"),
    "husk": (r"\bhusks?\b", "cancelled job"),
    "agenda": (r"\bagendas?\b", "scenario"),
    "spell": (r"\bspells?\b", "degradation interval"),
    "gatehouse": (r"\bgatehouses?\b", "peering gate, reshard gate"),
    "disruption": (r"\bdisruptions?\b", "fault timeline"),
    "lane": (r"\blanes?\b", "parallel stream"),
    "warmth": (r"\bwarmth\b", "CPU cache warm-up"),
    "wake": (r"\bwakes?\b(?!-)", "setup time"),
    "slice": (r"(?<!time )\bslices?\b", "scheduling quantum"),
    "share": (r"\b(?:a|the|this|whose|'s|same) share\b|\bshares? of\b", "fraction"),
    "cell": (r"(?<!empty )\bcells?\b(?! of (?:the|a) table)", "configuration"),
    "judge": (r"\bjudge[sd]?\b|\bjudgements?\b", "check"),
    "misfit": (r"\bmisfits?\b", "model discrepancy"),
    "noise band": (r"\bnoise bands?\b", "repeatability"),
    "hold against": (r"\b(?:held|holds?)\b[^.;:]{0,100}\bagainst\b", "compare with"),
    "told": (r"\b(?:un)?told\b", "identifiable, given"),
    "checkup": (r"\bcheckups?\b", "health assessment"),
    "crew": (r"\bcrews?\b", "thread group"),
    "draft": (r"\bdrafts?\b", "parse buffer"),
    "tally": (r"\btall(?:y|ies|ied)\b", "import report, count"),
    "kept objective": (
        r"\b(?:keeps?|kept|breaks?|broken)\s+(?:(?:an?|the|its|their|every|all|which)\s+)?(?:objectives?|SLOs?)\b"
        r"|\bobjectives?\s+(?:is|are|was)\s+(?:kept|broken)\b|\bobjectives?\s+breaks?\b",
        "meet, violate",
    ),
    "texture": (r"\btextures?\b", "characteristics"),
    "likeness": (r"\blikeness(?:es)?\b", "similarity"),
    "alike": (r"\balike\b", "the same"),
    "nobody": (r"\bnobody\b", "no one"),
    "beside": (r"\bbeside\b", "next to"),
    "so many": (r"\bso many\b", "N"),
    "unless told": (r"\bunless told\b", "by default"),
    "under way": (r"\bunder way\b", "in progress"),
    "for ever": (r"\bfor ever\b", "forever"),
}


IN_DOCSTRINGS = (
    "law", "asked", "share", "hold against", "nobody", "beside", "so many", "unless told", "under way", "for ever",
)  # fmt: skip
"""Words that have no other meaning in code, so that docstrings do not need them either."""


def prose(markdown: str) -> str:
    """Return a page without its code, but with names in capitals."""
    without_blocks = re.sub(r"^ *```.*?^ *```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*[a-z][^`\n]*`", "", without_blocks)


def helps(name: str, command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield name and help text of a command, its parameters and its subcommands."""
    options = [getattr(parameter, "help", None) or "" for parameter in command.params]
    yield name, "\n".join([command.help or "", command.epilog or "", *options])
    for child in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from helps(f"{name} {child}", command.get_command(context, child), context)


def texts() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield path.relative_to(ROOT).as_posix(), prose(path.read_text())
    command = typer.main.get_command(app)
    yield from helps("tailcast", command, typer.Context(command))


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield place and text of the docstrings of modules, classes, functions and constants."""
    for package in ORDER:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                for statement in node.body if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else ():
                    value = statement.value if isinstance(statement, ast.Expr) else None
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        text = re.sub(r"``[^`]*``", "", value.value)
                        yield f"{path.relative_to(ROOT)}:{value.lineno}", prose(text)


def replaced_words(text: str) -> set[str]:
    one_line = " ".join(text.split())
    return {word for word, (pattern, _) in REPLACED.items() if re.search(pattern, one_line)}


def test_help_and_docs_use_the_terms_of_the_field() -> None:
    found = {(source, word) for source, text in texts() for word in replaced_words(text)}
    new = sorted(found)
    assert not new, "\n".join(f"{source}: {word!r}; write: {REPLACED[word][1]}" for source, word in new)


def test_docstrings_use_the_terms_of_the_field() -> None:
    found = [(where, word) for where, text in docstrings() for word in replaced_words(text) if word in IN_DOCSTRINGS]
    assert not found, "\n".join(f"{where}: {word!r}; write: {REPLACED[word][1]}" for where, word in found)


def test_docstrings_of_all_kinds_are_checked() -> None:
    texts = [text for where, text in docstrings() if where.startswith("models/network/station.py")]
    assert len(texts) > 10 and any("station" in text for text in texts)


def test_every_command_is_checked() -> None:
    names = {source for source, _ in texts()}
    assert {"README.md", "docs/glossary.md", "tailcast simulate", "tailcast trace import"} <= names


@pytest.mark.parametrize(
    "text",
    [
        "a power law, Little's law, Zipf's law, a Zipf law and the utilisation law",
        "processor sharing and weighted sharing; variants share their random numbers",
        "a time slice; CPU wake-ups; besides",
        "an empty cell",
        prose("`hosts.wake` and `a share of` in code\n```text\nnobody\n```\n"),
        "response times are shared; the objective is met",
    ],
)
def test_legitimate_uses_pass(text: str) -> None:
    assert not replaced_words(text)


@pytest.mark.parametrize(
    "text", ["the service-time law", "2 keep the objectives", "Runs are held up\nagainst it", "`DELAY`"]
)
def test_replaced_words_are_found(text: str) -> None:
    assert replaced_words(prose(text))
