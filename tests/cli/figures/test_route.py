from __future__ import annotations

import itertools

import numpy as np
import pytest

from cli.figures.route import route_figures
from cli.figures.route_boxes import forks_of
from cli.pages.page import Header, Page, Section, write_page
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import NOWHERE, Station
from models.store import compile_spec, load_spec
from sim.demands.service_demands import mean_demands
from tests.browser import CHROMIUM, WIDTHS, opened
from tests.ceph_clusters import ceph
from tests.paths import EXAMPLES
from tests.small_traces import trace_of
from traces.workload.generate import generate

MINIO = EXAMPLES / "minio.yaml"
NASTY = "a</script><b>&\"'"


def seconds(s: float = 0.0, **law) -> ServiceDemand:
    return ServiceDemand(constant=s, **law)


def requests_of(size_bytes, route=None) -> Requests:
    n = len(size_bytes)
    zeros = np.zeros(n)
    kinds = np.zeros(n, np.int32) if route is None else np.array(route, np.int32)
    return Requests(kinds, np.array(size_bytes), np.arange(n, dtype=np.uint64), zeros, zeros, np.zeros(n, np.int32))


def forked_network() -> Network:
    """A token is held over a fork of three drives, of which two equal ones are needed, and a wire without delay."""
    stations = (
        Station("slots", "slot", Discipline.POOL, 8),
        Station("wire", "wire", Discipline.INFINITE_SERVER),
        *(Station(f"drive {d}", "drive", Discipline.FIFO, indices=(d,)) for d in range(3)),
        Station("log", "log", Discipline.GROUP_COMMIT),
    )
    branches = tuple((Visit(1, seconds(1e-3)), Visit(2 + d, seconds(2e-3, per_byte=1e-9))) for d in range(3))
    later = Stage(((Visit(1, seconds()),), (Visit(5, seconds(4e-3)),)), 1)
    stages = (single(Visit(0, seconds())), Stage(branches, 2), later, single(Visit(0, seconds(), releases=True)))
    return Network(stations, (Route("GET", stages),))


def test_equal_branches_are_merged():
    load = {"slots": 0.1, "drive 0": 0.2, "drive 1": 0.3, "drive 2": 0.7, "log": 0.05}
    take, fork, later, back = forks_of(forked_network(), 0, np.array([0, 2_000_000]), load)
    (branches,) = fork.branches
    assert (fork.joined, branches.count) == ("needs 2 of 3", 3)
    wire, drive = branches.boxes
    assert (wire.role, wire.mean_s, wire.utilization) == ("wire", 1e-3, None)
    assert drive.mean_s == pytest.approx(2e-3 + 1e-9 * 1_000_000)
    assert drive.utilization == pytest.approx((0.4, 0.7))
    assert drive.stations == (2, 3, 4)
    assert [stage.branches[0].boxes[0].action for stage in (take, back)] == ["takes one", "gives back"]
    # The branch that takes no time is done first, so nothing waits for the other.
    assert (later.joined, later.branches[0].boxes[0].role) == ("not waited for", "log")
    assert take.joined == back.joined == ""


def compiled(store: str) -> tuple[Network, Requests]:
    if store == "minio":
        sets = ["drives.count=4", "erasure.parity=2", "workload.mix={GET: 1, PUT: 1}", "workload.duration=0.2s"]
        spec = load_spec(MINIO, sets)
    else:
        spec = ceph("workload.operations=50", "workload.mix={PUT: 1, GET: 1}")
    return compile_spec(spec, generate(spec.workload, 1))


@pytest.mark.parametrize("store", ["minio", "ceph"])
def test_boxes_have_all_service_demands_of_a_request(store):
    network, requests = compiled(store)
    demands = mean_demands(network, requests)
    for k in np.unique(requests.route).tolist():
        boxes = [
            (branches.count, box)
            for fork in forks_of(network, k, requests.size_bytes[requests.route == k], {})
            for branches in fork.branches
            for box in branches.boxes
        ]
        drawn_s = sum(count * box.mean_s for count, box in boxes)
        assert drawn_s == pytest.approx(demands.mean_s[k].sum(), rel=1e-6)
        # What is left out takes no time at an infinite server.
        visits = network.routes[k].visits
        assert len(visits) >= sum(count for count, _ in boxes) > len(visits) - 12


def test_visits_that_are_nowhere_have_no_box():
    spec = load_spec(EXAMPLES / "seaweedfs/cluster.yaml", ["workload.duration=null", "workload.operations=200"])
    network, requests = compile_spec(spec, generate(spec.workload, 0))
    roles = {
        box.role
        for k in np.unique(requests.route).tolist()
        for fork in forks_of(network, k, requests.size_bytes[requests.route == k], {})
        for branches in fork.branches
        for box in branches.boxes
    }
    assert NOWHERE in network.stations and {"drive", "host cpu"} <= roles and NOWHERE.role not in roles


@pytest.mark.parametrize("store", ["minio", "ceph"])
def test_boxes_do_not_overlap_or_leave_the_figure(store):
    network, requests = compiled(store)
    for figure in route_figures(network, requests, []):
        boxes = [s for s in figure.layout.shapes if s.fillcolor]
        assert len(boxes) == len(figure.layout.meta["table"]["rows"]) == len(figure.data[0].text) > 5
        height = figure.layout.yaxis.range[0]
        for a, b in itertools.combinations(boxes, 2):
            assert a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
        assert all(b.x0 >= 0 and b.x1 <= 7 and b.y0 >= 0 and b.y1 <= height for b in boxes)


def test_the_most_frequent_routes_are_drawn_first():
    stations = (Station("s", "server", Discipline.FIFO),)
    network = Network(stations, tuple(Route(name, (single(Visit(0, seconds(1e-3))),)) for name in ("A", "B", "C")))
    figures = route_figures(network, requests_of([1] * 10, [0] * 2 + [1] * 5 + [2] * 3), [], most=2)
    assert [figure.layout.title.text for figure in figures] == [
        "The route of a B (50.0% of requests)", "The route of a C (30.0% of requests)",
    ]  # fmt: skip


def test_sub_requests_are_drawn_after_their_request():
    """A PUT in stripes, of which there is a box for the head and one for the others, with the times of their sizes."""
    spec = ceph("gateways.nic=1GB/s")
    trace = trace_of(["PUT", "PUT"], ["a", "b"], size_bytes=[8 << 20, 6 << 20])
    request, stripe = route_figures(*compile_spec(spec, trace), [])
    assert request.layout.title.text == "The route of a PUT in stripes"
    assert stripe.layout.title.text == "The route of a PUT stripe, a sub-request"
    boxes = [text.replace("<br>", " ") for text in request.data[0].text]
    assert boxes.count("PUT stripe one") == boxes.count("PUT stripe 4 at a time") == 1
    rows = {row[4]: row[6] for row in stripe.layout.meta["table"]["rows"] if "rgw" in row[5]}
    assert rows["network"] == pytest.approx(3.5 * 2**20 / 1e9 / spec.network.payload, rel=1e-6)


def test_colour_is_utilisation_and_grey_for_infinite_servers():
    load = [{"name": "drive 0", "utilization": 0.99}, {"name": "log", "utilization": 0.0}]
    (figure,) = route_figures(forked_network(), requests_of([1]), load)
    roles = [row[4] for row in figure.layout.meta["table"]["rows"]]
    colours = dict(zip(roles, [s.fillcolor for s in figure.layout.shapes if s.fillcolor], strict=True))
    assert colours["wire"] == "#ccd2da"
    red, green, _ = map(int, colours["drive"].removeprefix("rgb(").rstrip(")").split(", "))
    assert red > green + 80
    assert colours["log"] == "rgb(207, 227, 247)"


def test_a_fork_longer_than_a_line_is_wrapped():
    chain = tuple(Visit(i % 2, seconds(i * 1e-3)) for i in range(1, 17))
    network = Network(
        tuple(Station(name, NASTY, Discipline.FIFO, indices=(name,)) for name in "st"),
        (Route(NASTY, (Stage((chain,), 1),)),),
    )
    (figure,) = route_figures(network, requests_of([1]), [])
    tops = [s.y0 for s in figure.layout.shapes if s.fillcolor]
    assert [len(list(group)) for _, group in itertools.groupby(tops)] == [7, 7, 2]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_text_of_a_box_fits_into_it(tmp_path, width):
    load = [{"name": "host cpu", "utilization": 0.5}]
    drawn = [*route_figures(*compiled("ceph"), load), *route_figures(*compiled("minio"), load)]
    path = tmp_path / "page.html"
    write_page(Page("routes", Header("a", "f", "s"), [Section("", charts=drawn)]), path)
    with opened(path, width, dark=width == 800) as page:
        assert page.errors == []
        texts, boxes = (
            page.evaluate(
                "[...document.querySelectorAll('.chart')].map((c) => [...c.querySelectorAll('"
                + where
                + "')].map((e) => "
                "{ const r = e.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; }))"
            )
            for where in (".textpoint text", '.shapelayer path[style*="fill-opacity: 1"]')
        )
        assert len(texts) == len(drawn)
        for of_chart, around in zip(texts, boxes, strict=True):
            assert len(of_chart) == len(around) > 5
            for (x0, x1, y0, y1), (left, right, top, bottom) in zip(of_chart, around, strict=True):
                assert left <= x0 and x1 <= right and top <= y0 and y1 <= bottom
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_rare_route_is_not_drawn():
    stations = (Station("s", "server", Discipline.FIFO),)
    network = Network(stations, tuple(Route(name, (single(Visit(0, seconds(1e-3))),)) for name in ("often", "seldom")))
    drawn = route_figures(network, requests_of([0] * 200, [0] * 199 + [1]), [])
    assert [figure.layout.title.text.split(" (")[0] for figure in drawn] == ["The route of a often"]
    assert len(route_figures(network, requests_of([0] * 200, [0] * 198 + [1] * 2), [])) == 2
    assert len(route_figures(network, requests_of([0], [1]), [])) == 1


def test_quanta_of_a_job_are_one_box():
    stations = (Station("cpu", "cpu", Discipline.FIFO), Station("tokens", "token", Discipline.POOL))
    visits = [Visit(1, seconds()), *[Visit(0, seconds(1e-3))] * 3, Visit(1, seconds(), releases=True)]
    (fork,) = forks_of(Network(stations, (Route("GET", (single(*visits),)),)), 0, np.zeros(1, np.int64), {})
    (branches,) = fork.branches
    assert [(box.role, box.action) for box in branches.boxes] == [
        ("token", "takes one"),
        ("cpu", ""),
        ("token", "gives back"),
    ]
    assert branches.boxes[1].mean_s == pytest.approx(3e-3)
