"""`tailcast explore`: main values of a spec, what follows from them, and the page in a browser."""

from __future__ import annotations

import queue
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from cli.explore.explorer import Explorer
from cli.explore.knobs import knobs_of
from cli.explore.local_server import guard, serve
from cli.explore.page import page_of
from cli.figures.store_diagram import MOST_DRAWN, store_diagram
from cli.main import main
from cli.parse.slo import parse_slos
from cli.tables.forecast.verdict import verdict_line
from models.store import spec_of
from tests.browser import CHROMIUM, WIDTHS, Page, opened
from tests.paths import EXAMPLES
from traces.spec.spec_file import load_mapping, override

SPEC = EXAMPLES / "minio-12-hdd.yaml"
DATA = override(load_mapping(SPEC), ["workload.duration=10s"])
OBJECTIVE = "GET.p99<500ms"


def explorer_of(**more: Any) -> Explorer:
    options = ["--set", "workload.duration=10s", "--slo", OBJECTIVE]
    return Explorer(DATA, str(SPEC), options, parse_slos([OBJECTIVE]), **more)


def moved(explorer: Explorer, path: str, by: int) -> list[int]:
    """Indices of all values, of which one is moved from the present one."""
    return [knob.present + (by if knob.path == path else 0) for knob in explorer.knobs]


def test_main_values_have_their_present_one_and_only_valid_others() -> None:
    knobs = {knob.path: knob for knob in knobs_of(DATA, "spec")}
    assert {"workload.rate", "workload.mix", "drives.count", "hosts.cores.count", "client.hedge.after"} <= set(knobs)
    assert "workload.clients" not in knobs  # an open loop
    assert "proxy.cores.count" not in knobs  # there is none
    for knob in knobs.values():
        assert knob.assignment(knob.present) is None
        assert len(set(knob.texts)) == len(knob.texts) == len(knob.values) > 1
        for index in range(len(knob.values)):
            assignment = knob.assignment(index)
            spec_of(override(DATA, [assignment] if assignment else []), "spec")
    assert knobs["drives.count"].texts[knobs["drives.count"].present] == "12"


def test_values_of_other_stores_are_found_without_their_names() -> None:
    paths = {knob.path for knob in knobs_of(load_mapping(EXAMPLES / "ceph/hdd-quincy.yaml"), "spec")}
    assert {"gateways.count", "hosts.drives", "device.preset", "db.device"} <= paths
    paths = {knob.path for knob in knobs_of(load_mapping(EXAMPLES / "juicefs/mount.yaml"), "spec")}
    assert {"below.hosts.count", "mounts.count", "metadata.preset"} <= paths


def test_the_command_of_a_setting_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    explorer = explorer_of(most_requests=200)
    setting = explorer.setting(moved(explorer, "workload.rate", 2))
    shown = explorer.shown(setting)
    assert shown.is_cut and shown.requests == 200
    program, *words = shlex.split(explorer.command(setting))
    # An objective makes `simulate` lengthen the run until it has settled.
    words = [word for word in words if word not in ("--slo", OBJECTIVE)]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert program == "tailcast" and not ended.value.code
    verdict = explorer.verdict(setting)
    assert verdict is not None and capsys.readouterr().out.splitlines()[0] == verdict_line(verdict)


def test_the_saved_spec_is_that_of_the_setting() -> None:
    explorer = explorer_of()
    setting = explorer.setting(moved(explorer, "drives.count", 1))
    saved = spec_of(yaml.safe_load(explorer.text(setting)), "saved")
    assert saved == spec_of(override(DATA, setting), "spec") and saved != spec_of(DATA, "spec")


def test_paired_differences_are_certain_of_what_differs() -> None:
    explorer = explorer_of()
    after = explorer.setting(moved(explorer, "workload.rate", 2))
    same = explorer.paired((), ())
    assert {row[-1] for row in same.rows} == {""} and {row[4] for row in same.rows} <= {"0 s", "0/s"}
    rows = {(row[0], row[1]): row for row in explorer.paired((), after).rows}
    assert rows["GET", "mean"][-1] == "differs" and rows["GET", "mean"][4].startswith("+")


def test_the_diagram_has_the_busiest_of_many_stations() -> None:
    def station(n: int, role: str) -> Any:
        return {"name": f"{role} {n}", "role": role, "servers": 1, "utilization": n / 1000, "mean_queue": 0.0}

    rows = [station(n, "drive") for n in range(1, 501)] + [station(1, "host cpu"), station(0, "idle")]
    figure = store_diagram(rows, ["host cpu", "drive", "idle"])
    assert [trace.name for trace in figure.data] == ["host cpu", "drive"]
    assert len(figure.data[1].x) == MOST_DRAWN and min(figure.data[1].marker.color) == (501 - MOST_DRAWN) / 1000
    assert any(f"{MOST_DRAWN} of 500" in note.text for note in figure.layout.annotations)


def test_other_hosts_and_origins_are_refused() -> None:
    server = page_of(explorer_of()).server
    guard(server, 8050)
    client = server.test_client()
    own = {"Host": "127.0.0.1:8050"}
    assert client.get("/", headers=own).status_code == 200
    assert client.get("/", headers=own | {"Origin": "http://localhost:8050"}).status_code == 200
    for refused in (
        {"Host": "store.example:8050"},
        {"Host": "127.0.0.1:8051"},
        own | {"Origin": "https://other.example"},
        own | {"Origin": "null"},
    ):
        assert client.get("/", headers=refused).status_code == 403
        assert client.post("/_dash-update-component", headers=refused, json={}).status_code == 403


def test_without_dash_a_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dash", None)
    with pytest.raises(SystemExit) as ended:
        main(["explore", str(SPEC)])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "tailcast: error: this page needs the package dash: pip install 'tailcast[explore]'"
    ]


def test_a_port_in_use_is_named(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    port = address.strip("/").rpartition(":")[2]
    with pytest.raises(SystemExit) as ended:
        main(["explore", str(SPEC), "--set", "workload.duration=1s", "--port", port])
    assert ended.value.code == 2 and f"--port {port}: Address already in use" in capsys.readouterr().err


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a page that is served."""
    ready: queue.Queue[str] = queue.Queue()
    server = page_of(explorer_of()).server
    threading.Thread(target=serve, args=(server, 0, ready.put), daemon=True).start()
    yield ready.get(timeout=30)


def wait(page: Page, condition: str, within_s: float = 60.0) -> None:
    until_s = time.monotonic() + within_s
    while not page.evaluate(condition):
        assert time.monotonic() < until_s, (condition, page.errors)
        time.sleep(0.05)


def press(page: Page, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_moved_value_changes_verdict_figures_and_command(address: str, width: int) -> None:
    with opened(address, width) as page:
        wait(page, "document.querySelectorAll('.js-plotly-plot .main-svg').length >= 18")
        wait(page, "document.querySelector('#verdict .first').innerText.includes('saturates first')")
        first = page.evaluate("document.querySelector('#verdict .first').innerText")
        assert "op/s served" in first and OBJECTIVE in page.evaluate("document.querySelector('#verdict').innerText")
        page.evaluate("document.querySelector('#keep').click()")
        wait(page, "!!document.querySelector('#pair table')")
        page.evaluate("document.querySelector('.knob [role=slider]').focus()")
        press(page, "ArrowRight", 39)
        wait(page, "document.querySelector('#command').innerText.includes('--set workload.rate=50.0')")
        wait(page, "[...document.querySelectorAll('#pair td')].some((cell) => cell.innerText == 'differs')")
        assert page.evaluate("document.querySelector('#verdict .first').innerText") != first
        wait(page, "document.querySelector('#cdf').innerText.includes('kept GET')")
        assert page.evaluate("document.querySelector('.knob output').innerText") == "50.0/s"
        names = page.evaluate("[...document.querySelectorAll('[role=slider]')].map((thumb) => thumb.ariaLabel)")
        assert names and names[0] == "workload.rate" and all(names)
        assert page.evaluate("[...document.querySelectorAll('.wide')].every((each) => each.tabIndex === 0)")
        page.evaluate("document.querySelector('#reset').click()")
        wait(page, "!document.querySelector('#command').innerText.includes('workload.rate')")
        assert page.errors == []
        assert [url for url in page.fetched if not url.startswith((address, "data:", "blob:"))] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
