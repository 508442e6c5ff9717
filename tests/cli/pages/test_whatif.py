from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest

from cli.figures.parallel_coordinates import parallel
from cli.figures.whatif import cost_against_tail, curve, differences, value_map
from cli.pages.page import write_page
from cli.pages.whatif import whatif_page
from cli.parse.slo import parse_slo
from cli.parse.vary import parse_variation
from cli.tables.experiments.measures import measures_of
from cli.words import number
from sim.experiments.sweep import Settings
from sim.experiments.whatif import WhatIfExperiment, whatif
from tests.browser import CHROMIUM, WIDTHS, opened
from tests.cli.pages.test_report import downloads, header_of, without_scripts
from tests.paths import EXAMPLES
from traces.spec.spec_file import load_mapping, override

EXAMPLE = EXAMPLES / "minio.yaml"
PRICES = "prices={host: 1000, core: 150, drive: 90}"
NASTY = "a</script><b>&\"'"


def requested(vary, slos=(), sets=(), **more):
    data = override(load_mapping(EXAMPLE), ["workload.duration=3s", *sets])
    varied, objectives = map(parse_variation, vary), map(parse_slo, slos)
    experiment = WhatIfExperiment(
        data, NASTY, list(varied), list(objectives), settings=Settings(replications=2), **more
    )
    return whatif(experiment)


@pytest.fixture(scope="module")
def one():
    return requested(["workload.clients=1,4,16"], ["GET.p99<10ms", "host cpu.utilization<90%"])


@pytest.fixture(scope="module")
def two():
    return requested(
        ["hosts.cores.count=1..3", "workload.clients=2,8"], ["GET.p99<10ms", "PUT.throughput>100/s"], [PRICES]
    )


@pytest.fixture(scope="module")
def sampled():
    return requested(["hosts.cores.count=1..40", "workload.clients=1..9", "client.hedge.after=none,p90"], samples=5)


def page_of(result, tmp_path):
    write_page(whatif_page(result), tmp_path / "page.html")
    return tmp_path / "page.html"


def test_a_measure_has_its_unit_its_interval_and_its_objective(one):
    tail, load, put, *rates = measures_of(one)
    assert [m.label for m in (tail, load, put, *rates)] == [
        "GET p99 (ms)", "host cpu utilisation (%)", "PUT p99 (ms)", "GET throughput (op/s)", "PUT throughput (op/s)",
    ]  # fmt: skip
    assert (tail.limit, load.limit, put.limit) == (pytest.approx(10), pytest.approx(90), None)
    for measure, kind, figure in ((tail, "GET", "p99"), (put, "PUT", "p99")):
        for point in one.points:
            low, high = point.ops[kind].interval.latency_s[figure]
            estimate = point.ops[kind].latency_s[figure]
            assert measure.of(point) == pytest.approx((estimate * 1e3, low * 1e3, high * 1e3))
    busiest = one.points[2].roles["host cpu"].utilization
    assert load.of(one.points[2]).value == pytest.approx(100 * busiest)
    assert math.isnan(load.difference(one.points[2]).value)


def test_curves_have_intervals_and_limits(one):
    figure = curve(one, [m for m in measures_of(one) if m.unit == "ms"])
    get, put = figure.data
    assert get.x == put.x == (1, 4, 16)
    intervals = [p.ops["GET"].interval.latency_s["p99"] for p in one.points]
    assert np.array(get.y) + get.error_y.array == pytest.approx([high * 1e3 for _, high in intervals])
    assert np.array(get.y) - get.error_y.arrayminus == pytest.approx([low * 1e3 for low, _ in intervals])
    assert [shape.y0 for shape in figure.layout.shapes] == [pytest.approx(10)]
    assert figure.layout.xaxis.tickvals == (1, 4, 16)


def test_values_that_are_not_numbers_are_categories():
    figure = curve(result := requested(["workload.object_size=4KiB,1MiB"]), measures_of(result)[:2])
    assert figure.layout.xaxis.type == "category"
    assert figure.data[0].x == ("4KiB", "1MiB")


def test_a_map_of_values_has_a_cell_for_each_point_and_colours_only_certain_differences(two):
    tail, rate, *_ = measures_of(two)
    figure = value_map(two, tail)
    (cells,) = figure.data
    marks = {"pass": "✓", "fail": "✗", "unsure": "?"}
    certain: dict[tuple[float, float], str] = {}
    for i, point in enumerate(two.points):
        column, row = divmod(i, 2)  # the last value varies fastest
        text = next(t for x, y, t in zip(cells.x, cells.y, cells.text, strict=True) if (x, y) == (column, row))
        assert text.startswith(f"{number(point.ops['GET'].latency_s['p99'] * 1e3)}")
        assert text.endswith(marks[point.slo["GET.p99<10ms"]])
        found = tail.difference(point)
        if not tail.is_few(point) and (found.low > 0 or found.high < 0):
            certain[column, row] = "better" if found.value < 0 else "worse"
    centres = {((s.x0 + s.x1) / 2, (s.y0 + s.y1) / 2): s for s in figure.layout.shapes}
    coloured = {place for place, shape in centres.items() if shape.line.width == 0}
    assert coloured == set(certain) and certain
    for place, is_better in ((place, kind == "better") for place, kind in certain.items()):
        assert (centres[place].fillcolor == "rgba(16,158,120,0.3)") == is_better
    assert value_map(two, rate).data[0].text
    table = figure.layout.meta["table"]
    assert table["columns"] == ["hosts.cores.count", "workload.clients", "GET p99 (ms)", "low", "high", "verdict"]
    assert len(table["rows"]) == len(two.points)


def test_an_impossible_point_leaves_its_cell_empty(tmp_path):
    result = requested(["workload.clients=0,2", "hosts.cores.count=1,2"])
    cells = value_map(result, measures_of(result)[0]).data[0]
    assert [text == "" for text in cells.text] == [True, False, True, False]
    markup = without_scripts(page_of(result, tmp_path))
    assert markup.count("is not possible: a&lt;/script&gt;") == 2


def test_parallel_coordinates_have_every_point_in_the_colour_of_its_verdict(two):
    figure = parallel(two, measures_of(two))
    axes = 2 + 4 + 1  # varied, measures, cost
    assert len(figure.layout.xaxis.ticktext) == axes
    drawn = sum(len(trace.x) for trace in figure.data)
    assert drawn == len(two.points) * (axes + 1)
    names = {"pass": "meets all objectives", "unsure": "uncertain", "fail": "violates an objective"}
    for trace in figure.data:
        lines = np.array(trace.y, float).reshape(-1, axes + 1)
        mine = [p for p in two.points if names[p.verdict] == trace.name]
        assert lines[:, 0] == pytest.approx([(p.set["hosts.cores.count"] - 1) / 2 for p in mine])
        assert np.nanmin(lines) >= 0 and np.nanmax(lines) <= 1
        costs = [p.cost for p in two.points]
        expected = [(p.cost - min(costs)) / (max(costs) - min(costs)) for p in mine]
        assert lines[:, axes - 1] == pytest.approx(expected)


def test_many_values_get_a_scale_and_few_get_names(sampled):
    ticks = [(a.x, a.text) for a in parallel(sampled, measures_of(sampled)).layout.annotations]
    assert {text for x, text in ticks if x == 2} == {"none", "p90"}
    cores = [point.set["hosts.cores.count"] for point in sampled.points]
    of_cores = [float(text) for x, text in ticks if x == 0]
    assert (min(of_cores), max(of_cores)) == (min(cores), max(cores))


def test_differences_are_of_pairs_and_the_base_has_none(two):
    tail = measures_of(two)[0]
    figure = differences(two, tail)
    shown = {y: x for trace in figure.data for y, x in zip(trace.y, trace.x, strict=True)}
    assert len(shown) == len(two.points) - 1
    point = two.points[3]
    difference = point.difference.ops["GET"].latency_s["p99"]
    assert shown["2, 8"] == pytest.approx(difference.value * 1e3)
    for trace in figure.data:
        for x, above, below in zip(trace.x, trace.error_x.array, trace.error_x.arrayminus, strict=True):
            assert (x - below > 0 or x + above < 0) == (trace.name == "differs")


def test_the_pareto_front_has_undominated_points(two):
    front, *groups = cost_against_tail(two, "GET").data
    every = [xy for group in groups for xy in zip(group.x, group.y, strict=True)]
    assert len(every) == len(two.points)
    best = {(x, y) for x, y in every if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in every)}
    assert set(zip(front.x, front.y, strict=True)) == best


def test_the_page_says_what_was_asked_what_was_found_and_how_sure(one, sampled, tmp_path):
    question, found, sure = header_of(page_of(one, tmp_path))
    assert question == (
        f"Which of 3 points of workload.clients (1, 4, 16) in {Path(NASTY).name} meet GET.p99<10ms and "
        "host cpu.utilization<90%."
    )
    kept = sum(point.verdict == "pass" for point in one.points)
    assert found.startswith("workload.clients=1 is ")  # the verdict on the load of the base
    assert f"{kept} of 3 points meet every objective" in found
    assert sure.startswith("Each point has 2 replications, with common random numbers; the widest 95% interval")
    question, found, _ = header_of(page_of(sampled, tmp_path))
    assert question.startswith("Latency and throughput at 5 points of hosts.cores.count (")
    least = min(point.ops["GET"].latency_s["p99"] for point in sampled.points)
    assert found.startswith("hosts.cores.count=")
    assert f"GET p99 is between {least * 1e3:.2f} ms (" in found


def test_figures_of_a_page_depend_on_the_varied_fields(one, two, sampled, tmp_path):
    headings = {
        name: re.findall("<h2[^>]*>(.*?)</h2>", without_scripts(page_of(result, tmp_path)))
        for name, result in (("one", one), ("two", two), ("sampled", sampled))
    }
    last = ["Differences from the base", "All values"]
    assert headings["one"] == ["Measures against workload.clients", *last]
    assert headings["two"] == ["Measures against both fields", "All points", "Cost", *last]
    assert headings["sampled"] == ["All points", *last]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_every_figure_fits_its_card_and_has_data(one, two, sampled, tmp_path, width):
    for result, charts in ((one, 3 + 4), (two, 4 + 1 + 2 + 4), (sampled, 1 + 4)):
        path = page_of(result, tmp_path)
        assert path.stat().st_size < 1_500_000
        with opened(path, width, dark=width == 800) as page:
            assert page.errors == []
            assert [url for url in page.fetched if not url.startswith("data:")] == [path.as_uri()]
            assert page.evaluate("document.querySelectorAll('.main-svg').length") == 3 * charts
            drawn = "c.querySelector('.trace path, .points path, .textpoint')"
            assert page.evaluate(f"[...document.querySelectorAll('.chart')].every((c) => {drawn})")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []
            _, texts = downloads(page)
            rows = [list(csv.DictReader(io.StringIO(text))) for text in texts]
            assert len(rows) == charts and all(rows)


CUT_OFF = """[...document.querySelectorAll('.chart')].flatMap((chart) => {
  const card = chart.getBoundingClientRect();
  return [...chart.querySelectorAll('.main-svg text')].filter((text) => {
    const box = text.getBoundingClientRect();
    const above = box.top < card.top, below = box.bottom > card.bottom;
    return box.width && (box.left < card.left || box.right > card.right || above || below);
  }).map((text) => text.textContent);
})"""
"""Texts that extend beyond their chart."""
