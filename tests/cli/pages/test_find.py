from __future__ import annotations

import csv
import io
from importlib.util import find_spec

import pytest
import yaml

from cli.figures.find import best_figures, effects, limit_figures, strengths
from cli.main import main
from cli.pages.find import best_page, limit_page, sensitivity_page
from cli.pages.page import write_page
from cli.parse.goal import parse_goal
from cli.parse.slo import parse_slo
from sim.experiments.find.find_best import find_best
from sim.experiments.find.find_limit import find_limit
from sim.experiments.find.goal import OpLatency
from sim.experiments.sensitivity import Effect, Screening
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants
from sim.replication.summaries import Interval
from tests.browser import CHROMIUM, opened
from tests.cli.pages.test_report import downloads, header_of, without_scripts
from tests.cli.pages.test_whatif import CUT_OFF
from tests.specs import minio

P99 = OpLatency("GET", "p99")

NASTY = "a</script><b>&\"'.yaml"
SLOS = ["GET.p99<3ms", "GET.errors<1%"]


def variants(*assignments: str) -> Variants:
    data = minio("workload.rate=200/s", "workload.operations=600", *assignments)
    return Variants(data, "small", Settings(seed=3, replications=2))


@pytest.fixture(scope="module")
def limit():
    return find_limit(variants(), parse_goal("max rate"), [parse_slo(text) for text in SLOS])


@pytest.fixture(scope="module")
def best():
    return find_best(variants(), parse_goal("best hedge.after in 0.5ms..4ms"), P99, most_extra_load=0.5)


def screened(*rows) -> Screening:
    """Result of a sensitivity analysis with these paths, strengths (by a factor of 2) and elasticities (± 0.1)."""
    parameters = [
        Effect(
            path,
            "s",
            1e-3,
            4e-3,
            Interval(elasticity, elasticity - 0.1, elasticity + 0.1),
            Interval(strength, strength / 2, strength * 2),
            0.2,
            4**strength,
        )
        for path, strength, elasticity in rows
    ]
    return Screening(P99, 4, 12, 0, 2, 0.95, None, parameters)


SCREENED = screened(("network.latency", 0.8, 0.8), ("drives.read", 0.5, -0.5), ("client.think_time", 0.05, 0.0))


def test_every_simulated_value_is_a_point_with_its_interval_and_the_result_is_marked(limit):
    tail, errors = limit_figures(limit)
    tried = limit.simulated
    line, *groups, mark = tail.data
    assert list(line.x) == [trial.value for trial in tried]
    drawn = {x: (y, y + up, y - down) for g in groups for x, y, up, down in zip(
        g.x, g.y, g.error_y.array, g.error_y.arrayminus, strict=True
    )}  # fmt: skip
    for trial in tried:
        judged = trial.slo[SLOS[0]]
        expected = (judged.value * 1e3, judged.high * 1e3, judged.low * 1e3)
        assert drawn[trial.value] == pytest.approx(expected)
    sure = {"meets all objectives": (True, True), "violates an objective": (False, True)}
    for group in groups:
        for x in group.x:
            trial = next(trial for trial in tried if trial.value == x)
            assert group.name not in sure or (trial.meets, trial.sure) == sure[group.name]
            assert trial.sure == (group.name in sure)
    assert list(mark.x) == [limit.value]
    assert [figure.layout.shapes[0].y0 for figure in (tail, errors)] == [pytest.approx(3), pytest.approx(1)]
    assert [row[0] for row in tail.layout.meta["table"]["rows"]] == [trial.value for trial in tried]


def test_whole_numbers_are_whole_on_the_axis():
    result = find_limit(
        variants("workload.rate=1200/s"), parse_goal("min hosts.cores.count in 1..4"), [parse_slo(SLOS[0])]
    )
    figure = limit_figures(result)[0]
    assert figure.layout.xaxis.dtick == 1
    assert figure.layout.xaxis.title.text == "hosts.cores.count"


def test_the_best_value_is_compared_with_the_spec_and_the_allowed_load(best):
    latency, load = best_figures(best)
    stands = next(trace for trace in latency.data if trace.name == "as in the spec")
    assert set(stands.y) == {best.base_in_search.target.value * 1e3}
    marked, fresh = latency.data[-2:]
    assert (marked.x[0], marked.y[0]) == pytest.approx((best.value * 1e3, best.in_search.target.value * 1e3))
    assert (fresh.x[0], fresh.y[0]) == pytest.approx((best.value * 1e3, best.best.target.value * 1e3))
    assert load.layout.shapes[0].y0 == pytest.approx(50)
    allowed = [x for trace in load.data if trace.name == "extra load allowed" for x in trace.x]
    assert sorted(allowed) == pytest.approx([t.value * 1e3 for t in best.trials if t.extra_load <= 0.5])


def test_strengths_have_intervals_ranges_and_directions():
    figure = strengths(SCREENED)
    found = {trace.name: (list(trace.y), list(trace.x)) for trace in figure.data}
    label = "network.latency\xa0<br>1.00 ms … 4.00 ms\xa0"
    assert found["increase makes it slower"] == ([label], [0.8])
    assert found["increase makes it faster"][1] == [0.5]
    assert found["unclear"][1] == [0.05]
    assert figure.data[-1].error_x.arrayminus == pytest.approx([0.025])
    assert list(figure.layout.yaxis.categoryarray)[-1] == label, "the strongest on top"
    plane = effects(SCREENED)
    points = {trace.name: (trace.x[0], trace.y[0]) for trace in plane.data[1:]}
    assert points["increase makes it faster"] == (0.5, 0.2)
    assert [note.text for note in plane.layout.annotations] == ["network.latency", "drives.read"], "weak ones overlap"


def test_pages_begin_with_question_result_and_certainty(limit, best, tmp_path):
    page = tmp_path / "page.html"
    write_page(limit_page(limit, NASTY), page)
    requested, found, sure = header_of(page)
    assert requested == f"The greatest workload.rate with which {NASTY} meets GET.p99<3ms and GET.errors<1%."
    assert found.startswith("The limit is ") and " does not. At " in found  # then the verdict on the load
    simulated = len(limit.simulated)
    assert sure.endswith(f"{simulated} points have 2 replications each, with common random numbers.")
    write_page(best_page(best, NASTY), page)
    requested, found, _ = header_of(page)
    assert requested.endswith(", with at most 50.00% extra load.")
    assert found.startswith("With client.hedge.after at ") and " in the spec" in found and ". At " in found
    write_page(sensitivity_page(SCREENED, NASTY), page)
    requested, found, sure = header_of(page)
    assert requested == f"Which of 3 numbers of {NASTY} affects GET.p99 most."
    assert found.startswith("network.latency matters most: 1 % more of it makes GET.p99 0.80 % longer on average")
    assert sure.startswith("The 95% interval of its strength is 0.40 to 1.60, from 4 trajectories")
    assert "<b>" not in without_scripts(page)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_every_figure_fits_its_card_and_has_data(limit, best, tmp_path):
    for of_result, result, width in (
        (limit_page, limit, 800), (best_page, best, 1400), (sensitivity_page, SCREENED, 800),
    ):  # fmt: skip
        path = tmp_path / "page.html"
        shown = of_result(result, NASTY)
        write_page(shown, path)
        assert len(shown.figures) == 2
        assert path.stat().st_size < 1_500_000
        with opened(path, width, dark=width == 800) as page:
            assert page.errors == []
            assert [url for url in page.fetched if not url.startswith("data:")] == [path.as_uri()]
            assert page.evaluate("document.querySelectorAll('.main-svg').length") == 3 * 2
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []
            _, texts = downloads(page)
            rows = [list(csv.DictReader(io.StringIO(text))) for text in texts]
            assert len(rows) == 2 and all(rows)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None or not find_spec("kaleido"), reason="no Chromium or no kaleido on this machine")
def test_the_command_writes_page_and_figures(tmp_path, capsys):
    spec, folder = tmp_path / "small.yaml", tmp_path / "figures"
    spec.write_text(yaml.safe_dump(dict(variants().data)))
    with pytest.raises(SystemExit) as ended:
        main([
            "find", str(spec), "min hosts.cores.count in 1..3", "--slo", "GET.p99<3ms", "--workers", "1",
            "--replications", "2", "--report", str(tmp_path / "page.html"), "--figures", str(folder),
            "--figure-format", "svg",
        ])  # fmt: skip
    assert ended.value.code == 0, capsys.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["01-get-p99-3ms.svg"]
    assert "The least hosts.cores.count" in (tmp_path / "page.html").read_text(encoding="utf-8")
