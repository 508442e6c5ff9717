"""Every kind of page: light enough, without findings of axe-core, readable in both colour schemes, and linked."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from cli.main import main
from cli.pages.calibration import calibration_page
from cli.pages.page import write_page
from tests.browser import CHROMIUM, opened
from tests.paths import EXAMPLES
from tests.profiles import NIGHTLY
from tests.validate.calibration.test_profile import profile_of

MOST_BYTES = 1_500_000
_MINIO = str(EXAMPLES / "minio.yaml")
_SHORT = ["--set", "workload.operations=400", "--set", "workload.duration=null"]
_TWICE = ["--replications", "2", "--workers", "1"]
_SLO = ["--slo", "GET.p99<20ms"]
_ASSUMED = "\nassumed: {network.latency: {low: 0.05ms, high: 1ms, source: s}}\n"
COMMANDS = {
    "report": ["report", "RUN", *_SLO],
    "maps": [
        *["whatif", _MINIO, *_SHORT, *_TWICE, *_SLO],
        *["--vary", "workload.clients=2,4", "--vary", "hosts.cores.count=2,4"],
    ],
    "limit": ["find", _MINIO, "max workload.clients in 1..4", *_SLO, *_SHORT, *_TWICE],
    "sensitivity": [
        *["sensitivity", _MINIO, "--target", "GET.p50", "--trajectories", "2", *_SHORT, *_TWICE],
        *["--vary", "network.latency=0.1ms..1ms", "--vary", "hosts.cpu.GET.constant=0.2ms..0.8ms"],
    ],
    "assumed": ["sensitivity", "ASSUMED", "--assumed", *_SHORT, *_TWICE],
    "failures": ["failures", str(EXAMPLES / "minio-12-hdd.yaml"), "drive", "--slo", "GET.p99<100ms", *_TWICE],
    "trace": ["trace", "info", "TRACE"],
    "anatomy": ["lab", "anatomy", str(EXAMPLES / "recorded-box/light-get")],
    "metrics": ["import-metrics", str(EXAMPLES / "minio-erasure-set.yaml"), str(EXAMPLES / "metrics/minio.json")],
}
_OTHERS = pytest.mark.nightly("it takes longer, and its parts are those of other pages")
LONG = {
    "reports": ["report", "RUN", "RUN"],
    "curves": ["whatif", _MINIO, *_SHORT, *_TWICE, *_SLO, "--vary", "workload.clients=2,4"],
    "best": ["find", _MINIO, "best client.hedge.after in 2ms..8ms", "--target", "GET.p99", *_SHORT, *_TWICE],
    "validate": [
        *["validate", _MINIO, "--profile", str(EXAMPLES / "recorded/profile.yaml"), str(EXAMPLES / "recorded")],
        "--anyway",
    ],
    "answer": ["answer", str(EXAMPLES / "minio-12-hdd.yaml"), "--slo", "GET.p99<100ms"],
    "choose": ["choose", str(EXAMPLES / "choose/home.yaml"), "--draws", "0"],
    "timeline": [
        *["timeline", str(EXAMPLES / "ceph/billion-objects.yaml"), "--objects", "1e6..1e9", "--states", "3"],
    ],
    "plan": [
        *["plan", str(EXAMPLES / "ceph/billion-objects.yaml"), "--growth", str(EXAMPLES / "ceph/growth.yaml")],
        *["--slo", "PUT.throughput>3000/s", "--replications", "2"],
    ],
}
_AXE = "axe.run().then((found) => found.violations.map((each) => [each.impact, each.id, each.nodes[0].html]))"
_CONTRAST = """(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map((part) => (part / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = light(getComputedStyle(document.querySelector(".card")).backgroundColor);
  const contrast = (text) => {
    const own = light(getComputedStyle(text).fill);
    return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
  };
  const texts = document.querySelectorAll(".chart .textpoint text[style*='rgb(68, 68, 68)'], .chart .xtick text");
  return Math.min(21, ...[...texts].map(contrast));
})()"""
"""The least contrast of texts on a card with its background (WCAG 2.2)."""


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, which `make axe` installs."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("no axe-core on this machine: make axe")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Run, a trace, and a spec that assumes values."""
    made = tmp_path_factory.mktemp("made")
    run("simulate", _MINIO, *_SHORT, "--out", str(made / "run"))
    (made / "assumed.yaml").write_text(Path(_MINIO).read_text() + _ASSUMED)
    return made


def run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code


def written(name: str, folder: Path) -> Path:
    """A page of a kind."""
    path = folder / f"{name}.html"
    if name == "calibration":
        write_page(calibration_page(profile_of({"hosts.cpu.GET.constant": 4e-4, "network.latency": 1e-4})), path)
        return path
    places = {"RUN": folder / "run", "TRACE": folder / "run/trace.parquet", "ASSUMED": folder / "assumed.yaml"}
    arguments = [str(places.get(each, each)) for each in {**COMMANDS, **LONG}[name]]
    run(*arguments, *(["--out", str(path)] if arguments[0] == "report" else ["--report", str(path)]))
    return path


@pytest.mark.parametrize("name", [*COMMANDS, "calibration", *(pytest.param(name, marks=_OTHERS) for name in LONG)])
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_page_is_light_readable_and_has_no_findings(name: str, folder: Path, axe: str) -> None:
    path = written(name, folder)
    assert path.stat().st_size < MOST_BYTES
    for width in (1400, 800) if NIGHTLY else (800,):
        with opened(path, width, dark=width == 800) as page:
            page.evaluate(f"{axe};1")
            assert page.errors == [] and page.evaluate(_AXE) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(_CONTRAST) > 4.5


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_rows_lead_to_figures_and_back(folder: Path) -> None:
    with opened(written("report", folder), 1400) as page:
        of_link = "(a) => [a.textContent, document.querySelector(a.hash)?.ariaLabel]"
        found = page.evaluate(f"[...document.querySelectorAll('tbody th a')].map({of_link})")
        assert ["GET", "Latency: cumulative distribution"] in found and ["host cpu", "Utilisation and queues"] in found
        assert all(name for _, name in found)
        backs = page.evaluate(
            "[...document.querySelectorAll('.buttons a')].map((a) => !!document.querySelector(a.hash))"
        )
        assert backs and all(backs)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_figures_of_a_section_zoom_together_and_have_lines_of_objectives(folder: Path) -> None:
    with opened(written("report", folder), 1400) as page:
        page.evaluate("Plotly.relayout(charts[0], {'xaxis.range[0]': 0.5, 'xaxis.range[1]': 1}).then(() => 1)")
        ranges = page.evaluate("charts.slice(0, 3).map((chart) => chart._fullLayout.xaxis.range)")
        assert ranges[0] == ranges[1] == [0.5, 1] != ranges[2]
        page.evaluate("charts[0].parentElement.querySelector('[data-does=reset]').click()")
        page.evaluate("new Promise((done) => setTimeout(done, 200))")
        assert page.evaluate("charts.slice(0, 2).every((chart) => chart._fullLayout.xaxis.autorange)")
        texts = page.evaluate("charts.map((chart) => chart._fullLayout.annotations.map((note) => note.text).join())")
        assert [_SLO[1] in text.replace("&lt;", "<") for text in texts[:4]] == [True] * 3 + [False]
