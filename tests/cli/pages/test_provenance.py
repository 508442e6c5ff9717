"""What pages say of where they come from."""

from __future__ import annotations

import hashlib
import html
import re
import urllib.parse
from pathlib import Path

import pytest
import yaml

from cli.made import Made
from cli.main import main
from cli.pages.page import Header, Page, Section, write_page
from cli.pages.provenance import Provenance, command_line
from cli.tables.grid import Grid
from models.basis.described import DescribedSpec
from tests.browser import CHROMIUM, opened
from tests.models.test_store import EXAMPLE
from tests.paths import ROOT
from tests.profiles import others_nightly
from traces.provenance import code_version
from traces.spec.spec_file import load_mapping

PLOTLY = ROOT / "cli/pages/plotly-basic.min.js"
SHA256 = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
WIDE = Grid("Wide", [f"column {i}" for i in range(9)], [["a", *map(str, range(8))], ["b", *map(str, range(8))]])


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["whatif", "a b.yaml", "--vary", "x=1,2"], "tailcast whatif 'a b.yaml' --vary x=1,2"),
        (["trace", "import", "--salt", "0123456789abcdef", "-o", "y"], "tailcast trace import --salt '…' -o y"),
        (["trace", "import", "--salt=0123456789abcdef"], "tailcast trace import '--salt=…'"),
        (["replay", "--endpoint-url", "https://me:x@host/a?token=1"], "tailcast replay --endpoint-url 'https://…@host/a?…'"),
    ],
)  # fmt: skip
def test_commands_without_secrets(arguments: list[str], shown: str) -> None:
    assert command_line(["/usr/bin/tailcast", *arguments]) == shown
    assert command_line(["/usr/lib/tailcast/__main__.py", *arguments]) == shown
    assert command_line(["/usr/lib/pytest/__main__.py", *arguments]) == ""


def test_options_do_not_break_between_their_dashes(tmp_path: Path) -> None:
    said = ["tailcast find a<b.yaml --set x=1 -o out", "Simulate longer (--requests): it is -1.5 to 3."]
    write_page(Page("t", Header("q", "f", "c"), [Section("s", said)]), tmp_path / "page.html")
    markup = (tmp_path / "page.html").read_text()
    option = '<span class="option">{}</span>'.format
    command = f"tailcast find a&lt;b.yaml {option('--set')} x=1 {option('-o')} out"
    assert f'<p class="command">{command}</p>' in markup
    assert f"<p>Simulate longer ({option('--requests')}): it is -1.5 to 3.</p>" in markup


def test_page_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    arguments = ["whatif", str(EXAMPLE), "--vary", "workload.clients=1,2", "--set", "workload.operations=200"]
    arguments += ["--workers", "1", "--replications", "2", "--seed", "5", "--report", str(page)]
    monkeypatch.setattr("sys.argv", ["tailcast", *arguments])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code
    markup = page.read_text()
    (footer,) = re.findall("<footer>(.*)</footer>", markup)
    assert f"Made by tailcast {code_version()}; spec " in footer and "seed 5." in footer
    assert "Written 2023-11-14 22:13 UTC by: tailcast whatif" in footer and str(page) in footer
    assert "plotly.js, © Plotly, Inc., under the MIT license" in footer
    name, text = re.findall(r'download="([^"]*)" href="data:text/yaml;charset=utf-8,([^"]*)"', footer)[0]
    spec = yaml.safe_load(urllib.parse.unquote(html.unescape(text)))
    assert name == EXAMPLE.name and spec["workload"]["operations"] == 200
    assert "<details><summary>What this rests on</summary>" in markup and "Costs nothing: network.bandwidth" in markup


def test_assumed_values_have_their_sources() -> None:
    path = ROOT / "examples/ceph/redhat-112-hdd.yaml"
    basis = Provenance.of(Made(read=DescribedSpec.of(load_mapping(path), path.name)), ()).basis
    (grid,) = basis.grids
    assert grid.columns == ["field", "value", "source"] and len(grid.rows) > 3 and all(row[2] for row in grid.rows)
    assert basis.sentences[0].startswith(f"Rests on {len(grid.rows)} assumed values")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", others_nightly([800, 1400], [800], "the narrow page is the harder one"))
def test_spec_can_be_downloaded_and_wide_tables_reflow(tmp_path: Path, width: int) -> None:
    path, read = tmp_path / "page.html", DescribedSpec.of(load_mapping(EXAMPLE), "my spec.yaml")
    sections = [Section(name, (), [WIDE]) for name in ("One", "Two", "Three", "Four")]
    write_page(Page("t", Header("a", "f", "s"), sections), path, Made(read=read))
    with opened(path, width) as page:
        text = page.evaluate("fetch(document.querySelector('footer a').href).then((r) => r.text())")
        assert yaml.safe_load(text) == yaml.safe_load(yaml.safe_dump(dict(read.whole)))
        assert page.evaluate("document.querySelector('footer a').download") == "my spec.yaml"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inner = "[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= each.clientWidth)"
        assert page.evaluate(inner)
        target = "document.querySelector(a.hash).textContent"
        links = page.evaluate(f"[...document.querySelectorAll('nav a')].map((a) => {target})")
        assert links == ["One", "Two", "Three", "Four"]
        headers = page.evaluate("[...document.querySelectorAll('th')].map((th) => th.scope)")
        assert set(headers) == {"col", "row"} and headers.count("row") == 2 * len(sections)
        assert page.evaluate("getComputedStyle(document.querySelector('.wide tr td')).textAlign") == (
            "left" if width == 800 else "right"
        )
        assert page.errors == []


def test_the_library_of_figures_is_that_of_npm() -> None:
    """Its hash is that of plotly.js-basic-dist-min 4.1.1, as published."""
    assert (
        hashlib.sha256(PLOTLY.read_bytes()).hexdigest()
        == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
    )
    assert "MIT license" in PLOTLY.read_text(encoding="utf-8")[:300]
    assert "Plotly Technologies Inc." in PLOTLY.with_name("plotly-basic.LICENSE").read_text()
