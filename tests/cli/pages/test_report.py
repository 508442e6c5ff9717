from __future__ import annotations

import csv
import html
import io
import json
import re
import sys
from importlib.util import find_spec

import numpy as np
import plotly.graph_objects as go
import pytest
from markupsafe import escape
from rich.console import Console

from cli import sentences
from cli import words as phrases
from cli.figures import runs as figures
from cli.main import main
from cli.pages.page import Header, Page, Section, write_page
from cli.pages.report import report_page
from cli.tables.forecast.runs import stations_grid, summary_grid
from cli.tables.grid import Grid, rich_table
from cli.tables.measured.comparison import comparison_grid
from models.store import load_spec
from sim.simulate import simulate
from tests.browser import CHROMIUM, WIDTHS, opened
from tests.paths import EXAMPLES
from tests.runs import run_of
from traces.errors import InputError
from traces.run import Run
from traces.statistics.critical_path import attribution
from validate.compare.compare import compare

NASTY = "a</script><b>&\"'"
MINIO = EXAMPLES / "minio.yaml"
HEADER = Header("requested", "found", "sure")


def sample_run(seed: int, n: int = 3000, factor: float = 1.0, stations: bool = False):
    rng = np.random.default_rng(seed)
    table = [
        {
            "name": f"drive <{i}>",
            "role": "drive",
            "servers": 1,
            "visits": n,
            "utilization": u,
            "mean_queue": u / (1 - u),
        }
        for i, u in enumerate((0.3, 0.6))
    ] + [{"name": "wire", "role": "network", "servers": None, "visits": n, "utilization": 2.0, "mean_queue": 0.0}]
    return run_of(
        rng.lognormal(-6, 0.7, n) * factor,
        op=rng.choice(["GET", "PUT"], n, p=[0.8, 0.2]).tolist(),
        error=["timeout" if u < 0.002 else None for u in rng.random(n)],
        info={"kind": "simulated", "seed": 7} if stations else None,
        stations=table if stations else None,
    )


def attributed_run(seed: int, n: int = 3000):
    """A simulated Run whose slow requests waited for a role named NASTY."""
    rng = np.random.default_rng(seed)
    waiting_s, service_s = rng.lognormal(-7, 1.5, n), rng.lognormal(-7, 0.3, n)
    path = [
        {"request": i, "role": role, "waiting_s": w, "service_s": s}
        for i in range(n)
        for role, w, s in ((NASTY, waiting_s[i], 0.0), ("drive", 0.0, service_s[i]))
    ]
    op = rng.choice(["GET", "PUT"], n, p=[0.8, 0.2]).tolist()
    simulated = {"kind": "simulated", "seed": seed}
    return run_of(waiting_s + service_s, op=op, info=simulated, critical_path=path)


def page_of(path, *runs):
    named = list(zip((NASTY, "real"), runs, strict=False))
    comparison = compare(*runs) if len(runs) == 2 else None
    write_page(report_page(named, f"Title {NASTY}", comparison=comparison, notes=[f"note {NASTY}"]), path)
    return path


def without_scripts(path) -> str:
    return re.sub(r"<script.*?</script>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("count", [1, 2])
def test_the_page_is_self_contained_and_escapes_names(tmp_path, count):
    path = page_of(tmp_path / "page.html", *[sample_run(i, stations=i == 1) for i in range(1, 1 + count)])
    markup = without_scripts(path)
    assert not re.search(r"""(src|href)\s*=(?!"(data:|#))""", markup)
    assert "@import" not in markup and "url(" not in markup
    assert "<b>" not in markup
    assert "note a&lt;/script&gt;&lt;b&gt;" in markup
    assert "Copyright (c) 2016-2024 Plotly Technologies Inc.\n\nPermission is hereby granted" in markup


def test_data_cannot_end_its_element(tmp_path):
    charts = [go.Figure(layout={"title": "</script><b>"})]
    write_page(Page("t", HEADER, [Section("", charts=charts)]), tmp_path / "page.html")
    assert "<b>" not in without_scripts(tmp_path / "page.html")


def test_a_page_about_many_requests_stays_small(tmp_path):
    path = page_of(tmp_path / "page.html", sample_run(1, n=300_000))
    assert path.stat().st_size < 1_500_000


def test_the_page_has_question_result_and_certainty(tmp_path):
    markup = without_scripts(page_of(tmp_path / "page.html", sample_run(1, stations=True)))
    assert "3,000 requests (GET" in markup and "a simulation with seed 7" in markup
    assert re.search(r"GET at .* op/s had a median of .* ms, a p99 of .* ms", markup)
    assert re.search(r"95% interval of GET p99 is .* ms", markup)
    assert "too few PUTs succeeded to estimate p99" in markup
    assert "requests failed" in markup


def test_the_page_has_a_tail_attribution(tmp_path):
    run = attributed_run(1)
    markup = without_scripts(page_of(tmp_path / "page.html", run))
    assert re.search("<h2[^>]*>Tail attribution</h2>", markup)
    bands = attribution(run)["GET"]
    median, tail = (bands[q]["roles"][NASTY]["waiting_s"] / bands[q]["latency_s"]["mean"] for q in ("p50", "p99"))
    assert f"p99 of GET: {tail:.0%} waiting for {escape(NASTY)}; at p50 it is {median:.0%}." in markup
    assert "p90 of PUT: " in markup
    assert "Tail attribution" not in without_scripts(page_of(tmp_path / "other.html", sample_run(1, stations=True)))


def test_each_simulated_run_of_two_is_attributed(tmp_path):
    markup = without_scripts(page_of(tmp_path / "page.html", attributed_run(1), sample_run(2)))
    assert re.findall(r"<h2[^>]*>Tail attribution: (.*?)</h2>", markup) == [escape(NASTY)]
    markup = without_scripts(page_of(tmp_path / "both.html", attributed_run(1), attributed_run(2)))
    assert len(re.findall("<h2[^>]*>Tail attribution: ", markup)) == 2


def test_bars_of_an_attribution_add_up_and_have_the_colours_of_roles():
    attributions = [attribution(attributed_run(seed)) for seed in (1, 2)]
    colours = figures.role_colours(attributions)
    for found in attributions:
        for op, bands in found.items():
            bars = figures.attribution(op, bands, colours).data
            assert sum(np.array(bar.x) for bar in bars) == pytest.approx(np.ones(len(bands)))
            by_name = {bar.legendgroup: bar for bar in bars}
            assert {name: bar.marker.color for name, bar in by_name.items()} == colours
            assert by_name[NASTY].marker.pattern.shape == "/"  # waiting
            assert by_name["drive"].marker.pattern.shape == ""  # service
    assert len(set(colours.values())) == 2


def header_of(path) -> list[str]:
    """The three sentences at the top of a page, before its warnings."""
    markup = without_scripts(path)
    assert markup.index('<dl class="summary">') < markup.index("<section>")
    header = re.search(r"<dl class=.summary.>(.*?)</dl>", markup)
    assert header is not None
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", header[1])
    assert [name for name, _ in found[:3]] == ["Requested", "Found", "Certainty"]
    assert {name for name, _ in found[3:]} <= {"Warning"}
    return [html.unescape(text) for _, text in found[:3]]


def test_warnings_follow_what_was_found(tmp_path):
    lines = ["healthy: 5 of 5 op/s served.", "warning: the run is short.", "GET p99 is 3 ms.", "Warning: two rates."]
    header = Header.of("How fast?", lines, "One run.")
    assert header.found == "healthy: 5 of 5 op/s served. GET p99 is 3 ms."
    write_page(Page("Short", header, []), tmp_path / "page.html")
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", without_scripts(tmp_path / "page.html"))
    assert [name for name, _ in found] == ["Requested", "Found", "Certainty", "Warning", "Warning"]
    assert [text for _, text in found][3:] == ["The run is short.", "Two rates."]


def test_the_header_has_question_result_and_certainty(tmp_path):
    run = sample_run(1, stations=True)
    assert header_of(page_of(tmp_path / "one.html", run)) == [
        sentences.requested(run),
        sentences.found(run),
        sentences.sure(run),
    ]
    comparison = compare(run, sample_run(2, factor=2))
    requested, found, sure = header_of(page_of(tmp_path / "two.html", run, sample_run(2, factor=2)))
    assert requested == f"Whether {NASTY} agrees with real within ±15%."
    assert (found, sure) == (sentences.verdict(comparison, (NASTY, "real")), sentences.doubt(comparison))
    assert "differs from real" in found


def test_a_comparison_with_doubts_does_not_claim_that_runs_agree():
    comparison = compare(sample_run(1, 300), sample_run(2, 300))
    unsure = sum(len(result.unsure_of) for result in comparison.ops.values())
    said = sentences.verdict(comparison, ("a", "b"))
    assert comparison.verdict == "agree" and unsure > 1
    assert said == f"a may agree with b within ±15%: no figure differs for sure, {unsure} are unsure."
    exact = sample_run(1)
    assert sentences.verdict(compare(exact, exact, tolerance=3), ("a", "b")) == "a agrees with b within ±300%."


def simulated_run(folder, *assignments):
    """A Run of the command, with its spec and trace."""
    sets = ["workload.duration=0.3s", "drives.count=4", "erasure.parity=2", *assignments]
    options = [part for text in sets for part in ("--set", text)]
    with pytest.raises(SystemExit) as end:
        main(["simulate", str(MINIO), *options, "--out", str(folder), "--json"])
    assert not end.value.code
    return Run.read(folder)


def test_the_page_of_a_simulated_run_opens_with_its_verdict(tmp_path):
    page = tmp_path / "page.html"
    write_page(report_page([("a", simulated_run(tmp_path / "light", "workload.rate=100/s"))], "t"), page)
    assert header_of(page)[1].startswith("healthy: ")
    assert "p99 needs 1,000" in without_scripts(page)
    write_page(report_page([("a", simulated_run(tmp_path / "heavy", "workload.rate=6000/s"))], "t"), page)
    _, found, sure = header_of(page)
    assert found.startswith("overloaded: ")
    assert "interval of" not in sure
    assert "requests in flight" in without_scripts(page)
    write_page(report_page([("a", sample_run(1))], "t"), page)
    assert header_of(page)[1].startswith("GET at "), "a measured Run has no such verdict"


def test_routes_of_a_simulated_run_are_drawn(tmp_path):
    run = simulated_run(tmp_path / "run")
    drawn = report_page([("a", run)], "t").figures
    titles = [figure.layout.title.text for figure in drawn]
    assert [re.sub(r" \(.*", "", title) for title in titles[-2:]] == [
        "The route of a GET inline", "The route of a PUT inline",
    ]  # fmt: skip
    put = drawn[-1].layout.meta["table"]
    rows = [dict(zip(put["columns"], row, strict=True)) for row in put["rows"]]
    (drive,) = (row for row in rows if row["role"] == "drive")
    assert (drive["branches"], drive["join"]) == (4, "needs all 4")
    cpu = next(row for row in rows if row["role"] == "host cpu")
    busy = {row["name"]: row["utilization"] for row in run.stations.to_pylist()}
    assert cpu["utilization"] == pytest.approx(busy["host cpu"])


def test_a_run_with_an_outdated_spec_has_a_note(tmp_path):
    run = simulated_run(tmp_path / "run")
    run.info["spec"]["hosts"]["gone"] = 1
    write_page(report_page([("a", run)], "t"), tmp_path / "page.html")
    assert "The routes cannot be drawn: its spec: hosts.gone: unknown field" in without_scripts(tmp_path / "page.html")


def test_figures_without_kaleido_are_refused_at_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "kaleido", None)
    sample_run(1).write(tmp_path / "a")
    out = tmp_path / "r.html"
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "a"), "-o", str(out), "--figures", str(tmp_path / "figures")])
    assert end.value.code == 2
    assert "--figures needs the package kaleido: pip install 'tailcast[figures]'" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None or not find_spec("kaleido"), reason="no Chromium or no kaleido on this machine")
def test_figures_are_written_to_files(tmp_path, capsys):
    sample_run(1, stations=True).write(tmp_path / "a")
    folder = tmp_path / "figures"
    options = ["-o", str(tmp_path / "r.html"), "--figures", str(folder), "--figure-format", "svg", "--json"]
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "a"), *options])
    assert not end.value.code
    files = sorted(folder.iterdir())
    assert [str(file) for file in files] == json.loads(capsys.readouterr().out)["figures"]
    assert len(files) == 5
    assert files[0].name == "01-latency-cumulative-distribution.svg"
    drawn = files[0].read_text(encoding="utf-8")
    assert drawn.startswith("<svg") and "fraction of requests" in drawn and ">GET<" in drawn


def test_an_empty_run_gives_a_page(tmp_path):
    markup = without_scripts(page_of(tmp_path / "page.html", run_of([])))
    assert "No requests;" in markup


def test_a_run_of_failures_only_gives_a_page(tmp_path):
    markup = without_scripts(page_of(tmp_path / "page.html", run_of(np.ones(5), error=["timeout"] * 5)))
    assert "5 (100%)" in markup


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        page_of(tmp_path / "absent" / "page.html", run_of([0.1]))
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_page_and_prints_figures(tmp_path, capsys):
    sample_run(1).write(tmp_path / "a")
    sample_run(2).write(tmp_path / "b")
    with pytest.raises(SystemExit) as end:
        main(["report", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path / "r.html"), "--json"])
    assert not end.value.code
    printed = json.loads(capsys.readouterr().out)
    assert list(printed["runs"]) == ["a", "b"]
    assert printed["comparison"]["verdict"] == "agree"
    assert "<title>a compared with b</title>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_more_than_two_runs_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["report", "a", "b", "c", "-o", str(tmp_path / "r.html")])
    assert end.value.code == 2
    assert "one or two Runs, not 3" in capsys.readouterr().err


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("count", "charts"), [(1, 5), (2, 6)])
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_every_chart_is_drawn_without_an_error_or_a_request(tmp_path, count, charts, width):
    path = page_of(tmp_path / "page.html", *[sample_run(i, stations=i == 1) for i in range(1, 1 + count)])
    with opened(path, width, dark=width == 800) as page:
        assert page.errors == []
        assert page.fetched == [path.as_uri()]
        # Plotly draws a chart as three layers.
        assert page.evaluate("document.querySelectorAll('.main-svg').length") == 3 * charts
        drawn = "[...document.querySelectorAll('.chart')].every((c) => c.querySelector('.trace path, .points path'))"
        assert page.evaluate(drawn)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        overflow = "[...document.querySelectorAll('.chart')].some((c) => c.scrollWidth > c.clientWidth + 1)"
        assert not page.evaluate(overflow)
        assert page.evaluate("document.querySelector('h1').textContent") == f"Title {NASTY}"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_bars_of_an_attribution_are_drawn_with_exact_values(tmp_path, width):
    run = attributed_run(1)
    path = page_of(tmp_path / "page.html", run)
    with opened(path, width, dark=width == 800) as page:
        assert page.errors == []
        page.evaluate("void (chart = [...document.querySelectorAll('.chart')].find((c) => c.data[0].type == 'bar'))")
        parts = page.evaluate(
            "[...chart.querySelectorAll('.point path')].map((p) => [p.getBBox().width, getComputedStyle(p).fill])"
        )
        assert len(parts) == 2 * 3  # a part for each role at p50, p90 and p99
        assert min(wide for wide, _ in parts) > 5
        assert sum("url(" in fill for _, fill in parts) == 3  # the hatched half
        trace = page.evaluate(f"chart.data.findIndex((d) => d.legendgroup == {json.dumps(NASTY)})")
        page.evaluate(f"Plotly.Fx.hover(chart, [{{curveNumber: {trace}, pointNumber: 2}}])")
        band = attribution(run)["GET"]["p99"]
        waiting_ms = band["roles"][NASTY]["waiting_s"] * 1e3
        said = page.evaluate("chart.querySelector('.hoverlayer').textContent")
        assert f"waiting for {NASTY}: {waiting_ms:.6g} ms" in said
        assert f"mean of {band['requests']} requests" in said
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_data_of_a_figure_is_saved_as_csv(tmp_path):
    run = sample_run(1, stations=True)
    figure = go.Figure(layout={"title": f"Of {html.escape(NASTY, quote=False)}, 2", "meta": {
        "table": {"columns": ["a", 'b "c"'], "rows": [[1, NASTY], [None, "x,y"]]}
    }})  # fmt: skip
    bars = figures.ratios(compare(run, sample_run(2)), ("a", "b"))
    charts = [figures.cdf([("", run)]), figures.latency_over_time([("", run)]), bars, figure]
    path = tmp_path / "page.html"
    write_page(Page("t", HEADER, [Section("", charts=charts)]), path)
    with opened(path, 800) as page:
        names, texts = downloads(page)
        assert page.errors == []
    cdf, over_time, ratios, table = (list(csv.DictReader(io.StringIO(text))) for text in texts)
    assert names[0] == "latency-cumulative-distribution.csv" and names[3] == "of-a-script-b-2.csv"
    assert list(cdf[0]) == ["series", "latency (ms)", "fraction of requests"]
    for trace in charts[0].data:
        mine = [row for row in cdf if row["series"] == trace.name]
        assert [float(row["latency (ms)"]) for row in mine] == pytest.approx(trace.x.tolist())
        assert [float(row["fraction of requests"]) for row in mine] == pytest.approx(trace.y.tolist())
    assert {"GET p50", "GET p99", "PUT p50", "PUT p99", "GET requests", "PUT requests"} == {
        r["series"] for r in over_time
    }
    for row in ratios:
        assert float(row["low"]) < float(row["ratio"]) < float(row["high"]) and row["note"].endswith("%)")
    assert table == [{"a": "1", 'b "c"': NASTY}, {"a": "", 'b "c"': "x,y"}]


def downloads(page) -> tuple[list[str], list[str]]:
    """Names and contents of the files saved by the buttons of a page."""
    page.evaluate("""void (saved = [], URL.createObjectURL = (blob) => (saved.push([blob]), "blob:x"),
      HTMLAnchorElement.prototype.click = function () { saved.at(-1).push(this.download); },
      document.querySelectorAll(".card button[data-does=CSV]").forEach((button) => button.click()))""")
    names = page.evaluate("saved.map(([, name]) => name)")
    return names, page.evaluate("Promise.all(saved.map(([blob]) => blob.text()))")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_printed_page_is_light_and_has_no_buttons(tmp_path):
    path = page_of(tmp_path / "page.html", attributed_run(1))
    with opened(path, 1400, dark=True) as page:
        shown = "getComputedStyle(document.querySelector('.card .buttons')).display != 'none'"
        ink = "getComputedStyle(document.body).color"
        assert page.evaluate(shown) and page.evaluate(ink) == "rgb(228, 232, 238)"
        page.send("Emulation.setEmulatedMedia", media="print")
        assert not page.evaluate(shown) and page.evaluate(ink) == "rgb(29, 37, 48)"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_browser_helper_sees_errors_and_requests(tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<img src='http://127.0.0.1:9/x.png'><script>console.error('told')</script><script>nope()</script>")
    with opened(path, 800) as page:
        assert any("told" in error for error in page.errors)
        assert any("nope is not defined" in error for error in page.errors)
        assert "http://127.0.0.1:9/x.png" in page.fetched


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (1.2e-16, "0 s"),
        (-1.2e-16, "0 s"),
        (2e-9, "0.002 µs"),
        (1.234, "1.23 s"),
        (0.9999, "1.00 s"),
        (0.0123, "12.3 ms"),
        (4e-7, "0.4 µs"),
        (123456, "123,456 s"),
        (None, "–"),
    ],
)
def test_durations_have_three_digits_and_a_unit(value, text):
    assert phrases.seconds(value) == text


def test_ratios_far_apart_have_few_ticks():
    assert figures.ratio_axis([0.8, 1.3])["nticks"] == 8
    assert figures.ratio_axis([0.04, 1.0])["dtick"] == "D2"
    assert figures.ratio_axis([])["type"] == "log"


def test_ratios_of_nearly_one_look_like_one():
    low, high = figures.ratio_axis([0.999, 1.0002])["range"]
    assert (10**low, 10**high) == pytest.approx((1 / 1.1, 1.1))
    assert "range" not in figures.ratio_axis([0.8, 1.01])


def test_ratios_are_percentages_or_multiples():
    assert phrases.percent(np.log(1.1)) == "+10.0%"
    assert phrases.percent(np.log(0.5)) == "-50.0%"
    assert phrases.percent(np.log(4)) == "×4.00"
    assert phrases.size(999.6e6) == "1.00 GB"


def test_a_wide_table_is_transposed_for_the_terminal(capsys):
    Console(width=80).print(rich_table(summary_grid(sample_run(1))))
    lines = capsys.readouterr().out.splitlines()
    assert any("GET" in line and "PUT" in line for line in lines[:2])
    assert sum("p99.9" in line and "ms" in line for line in lines) == 1


def test_tables_have_a_cell_for_each_column():
    a, b = sample_run(1, stations=True), sample_run(2, factor=2)
    assert a.stations is not None
    grids: list[Grid] = [
        summary_grid(a),
        stations_grid(a.stations.to_pylist()),
        comparison_grid(compare(a, b), ("a", "b")),
        comparison_grid(compare(a, run_of([0.1])), ("a", "b")),
    ]
    for grid in grids:
        assert all(len(row) == len(grid.columns) for row in grid.rows)
    assert "differs" in {row[-1] for row in grids[2].rows}


def test_many_stations_are_summarised_by_role():
    drives = [
        {"name": f"drive {d}", "role": "drive", "servers": 1, "visits": 10, "utilization": d / 100, "mean_queue": 0.5}
        for d in range(40)
    ]
    wire = {"name": "wire", "role": "wire", "servers": None, "visits": 7, "utilization": 3.0, "mean_queue": 0.0}
    grid = stations_grid([*drives, wire])
    assert grid.rows == [
        ["drive", "40", "1", "400", "19.5%", "drive 39", "39.0%", "0.5"],
        ["wire", "1", "∞", "7", "3.00 busy", "wire", "3.00 busy", "0.00"],
    ]
    assert len(stations_grid(drives[:20]).rows) == 20


def test_the_page_of_one_run_says_what_hedges_cost(tmp_path):
    fields = ["workload.operations=300", "client.hedge={after: p90}"]
    for assignments, said in ((fields, True), (fields[:1], False)):
        simulate(load_spec(EXAMPLES / "minio.yaml", assignments)).write(tmp_path / f"run{said}")
        page = tmp_path / f"page{said}.html"
        with pytest.raises(SystemExit):
            main(["report", str(tmp_path / f"run{said}"), "-o", str(page)])
        assert ("Of this load, hedges add " in header_of(page)[1]) == said
