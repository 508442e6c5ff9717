"""The documentation site: what it generates is complete, its build is strict, and the commands of its pages run."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.main import SUMMARIES
from docs.generators import accuracy, commands, fields, markdown, measured, modelled, reference
from models.spec.field_paths import paths_of
from models.store import MODULES, spec_class, store_named
from tests.paths import ROOT
from tests.test_readme import blocks_of, run_all
from validate.reference.figures import is_figure

DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "howto").glob("*.md"))
RUN = [page for page in (DOCS / "start.md", *GUIDES) if blocks_of(page.read_text())]
"""Pages whose commands end by themselves."""
PAGES = [*GUIDES, *sorted(DOCS.glob("*.md"))]
OUTLINE = ["What is modelled", "Not in the model", "What it needs from a site", "How sure", "Example commands"]
"""Sections of the page of a store."""
MOST_WORDS = 25
_TITLED = re.compile(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def test_every_field_of_every_store_has_a_row() -> None:
    pages = fields.field_pages()
    assert set(pages) == {f"reference/fields/{name}.md" for name in ("index", "common", *MODULES)}
    for store in MODULES:
        rows = f"{pages['reference/fields/common.md']}\n{pages[f'reference/fields/{store}.md']}"
        shown = set(re.findall(r"^\| `([^`]+)`", rows, re.MULTILINE))
        assert shown == {fields.general_path(path) for path in paths_of(spec_class(store))}


def test_a_row_has_type_unit_default_range_meaning_and_source() -> None:
    page = fields.field_pages()["reference/fields/minio.md"]
    (row,) = re.findall(r"^\| `hosts.internode.latency`.*$", page, re.MULTILINE)
    _, of_type, default, limits, meaning = (text.strip() for text in row.strip("|").split("|"))
    assert of_type.endswith("bare: s") and default.endswith("s") and " to " in limits
    assert "Source of the default" in meaning


def test_every_command_and_option_is_on_its_page() -> None:
    pages = commands.command_pages()
    assert set(pages) == {f"reference/commands/{name}.md" for name in ("index", *SUMMARIES)}
    assert all(f"[{name}]({name}.md)" in pages["reference/commands/index.md"] for name in SUMMARIES)
    assert "| `--slo OBJECTIVE` | Objective: " in pages["reference/commands/simulate.md"]
    assert "## tailcast trace import" in pages["reference/commands/trace.md"]
    assert "`--columns FIELD=COLUMN,...`" in pages["reference/commands/trace.md"]


def test_every_store_says_what_is_not_modelled(tmp_path: Path) -> None:
    page = modelled.modelled_page(DOCS)
    assert all(f"## {name}: not in the model" in page for name in MODULES)
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("generators"))
    bob = tmp_path / "docs/bob.md"
    bob.write_text(bob.read_text().replace("## Not in the model", "## Else"))
    with pytest.raises(ValueError, match="bob"):
        modelled.modelled_page(tmp_path / "docs")


def test_every_table_of_a_benchmark_is_a_page_and_conclusions_come_first() -> None:
    pages = measured.measured_pages(ROOT / "benchmarks", DOCS)
    assert not measured.unnamed(ROOT / "benchmarks") and len(pages) == 1 + len(measured.TITLES)
    loads = pages["measured/minio-box.md"]
    assert "| 1x4-hdd | GET-4KiB-c1 | yes | GET |" in loads and "| predicted ops per s |" in loads
    index = pages["measured/index.md"]
    assert all(f"({Path(path).name})" in index for path in pages if not path.endswith("index.md"))
    assert index.index("Typical errors are those of a second measurement") < index.index("## All figures")


def test_pages_of_cases_begin_with_what_is_still_wrong() -> None:
    remarks = DOCS / "remarks.csv"
    pages = accuracy.accuracy_pages(DOCS / "scoreboard.csv", remarks)
    with remarks.open(newline="") as file:
        cases = {row["case"] for row in csv.DictReader(file)}
    assert cases and all("## What is still wrong\n\n- " in pages[f"accuracy/{case}.md"] for case in cases)
    assert "## What is still wrong" not in pages["accuracy/minio-nvme8.md"]


def test_the_table_of_failures_has_all_failures_of_its_stores() -> None:
    with (DOCS / "failures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for store in {row["store"] for row in rows}:
        shown = {re.split("[:=]", row["failure"])[0]: row["in specs"] for row in rows if row["store"] == store}
        assert shown == {name: kind.event for name, kind in store_named(store).faults.items()}
    page = reference.reference_pages(DOCS)[reference.FAILURES]
    assert page.count("\n| `") == len(rows) and "## swift" in page


def test_columns_of_published_tables_are_figures_that_are_read() -> None:
    page = reference.reference_pages(DOCS)[reference.COLUMNS]
    columns = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    named = [name for cell in columns for name in re.findall(r"`(\w+_(?:ms|ops|s|cores|percent))`", cell)]
    assert len(named) > 12 and all(map(is_figure, named))


def test_each_store_says_what_is_safe_when_it_acknowledges() -> None:
    page = reference.reference_pages(DOCS)[reference.ACKNOWLEDGED].lower()
    own = {name for name in MODULES if not store_named(name).issues}
    assert {name for name in MODULES if f"| {name} |" in page} == own


@pytest.mark.parametrize("store", MODULES)
def test_pages_of_stores_have_one_outline(store: str) -> None:
    page = (DOCS / f"{store}.md").read_text()
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == OUTLINE
    commands = re.findall(r"^    tailcast (.*)$", page.partition("## Example commands")[2], re.MULTILINE)
    words = [word for command in commands for word in shlex.split(command, comments=True)]
    named = [word for word in words if word.startswith("examples/")]
    assert named and all((ROOT / path).exists() for path in named)


def test_lists_and_tables_get_the_blank_lines_that_they_need() -> None:
    text = "words\n- one\n- two\n  more\n\n| a |\n|---|\nwords\n| a |\n```\nwords\n- one\n```\n"
    expected = "words\n\n- one\n- two\n  more\n\n| a |\n|---|\nwords\n| a |\n```\nwords\n- one\n```\n"
    assert markdown.with_blank_lines(text) == expected
    assert markdown.table(["a"], [["x|y `p|q` <b>"]]).splitlines()[-1] == r"| x\|y `p|q` &lt;b> |"


def test_every_guide_is_two_clicks_from_the_start() -> None:
    index = (DOCS / "index.md").read_text()
    assert len(GUIDES) > 9 and all(f"(howto/{page.name})" in index for page in GUIDES)


def test_sentences_are_short() -> None:
    long = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```$|^ {4}.*?$|^\|.*?$|^#.*?$", "\n", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for paragraph in re.split(r"\n\s*\n|^(?:-|\d+\.) ", text, flags=re.MULTILINE):
            sentences = re.split(r"(?<=[.:;?!])\s|(?<=[.:;?!]\*\*)\s", re.sub(r"`[^`]*`", "x", paragraph))
            long += [f"{page.name}: {sentence}" for sentence in sentences if len(sentence.split()) > MOST_WORDS]
    assert not long, "\n".join(long)


@pytest.mark.readme
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    config = yaml.load((ROOT / "mkdocs.yml").read_text(), yaml.BaseLoader)
    assert config["strict"] == "true" and set(config["validation"].values()) == {"warn"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not built.returncode, built.stderr
    outside = re.compile(r"(?:src|href)=\"?https?://(?!tailcast)[^\">]*\.(?:js|css|woff2?)")
    assert not [page for page in (tmp_path / "site").rglob("*.html") if outside.search(page.read_text())]


@pytest.mark.readme
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_of_a_guide_run_in_their_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "out").mkdir()
    for name, text in _TITLED.findall(page.read_text()):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks_of(page.read_text()) for line in block.splitlines()]
    assert all(line.startswith("tailcast ") for line in lines)
    assert run_all([[shlex.split(line, comments=True)[1:] for line in lines]], tmp_path, capsys)
