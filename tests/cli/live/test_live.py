"""What is seen of a replay while it runs: sentences, table, the view of a terminal, and the page in a browser."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import socket
import time
from collections import Counter
from multiprocessing.context import SpawnProcess
from typing import Any
from urllib.request import Request, urlopen

import psutil
import pytest
from rich.console import Console

from cli.explore.local_server import guard
from cli.live.history import History, Subject, line_of, seen_of
from cli.live.page import Shown, latencies, page_of, rates
from cli.live.page_process import PageProcess
from cli.live.status import elapsed, errors_of, status_of, table_of
from cli.live.terminal import bars_of, drawn
from cli.main import main
from tests.browser import CHROMIUM, opened
from traces.errors import InputError
from traces.interrupts import handled_stops, raised_stops
from validate.replay.seconds import Second, Seen, bin_of

SUBJECT = Subject("trace.parquet", "http://store", True, 60.0, 6000)


def second(served: int = 100, latency_s: float = 0.004, lag_s: float = 1e-4, failed: int = 0, due: int = 100) -> Second:
    errors = Counter({"status 503": failed}) if failed else Counter[str]()
    failures = Counter({"GET": failed}) if failed else Counter[str]()
    lag = Counter({bin_of(lag_s): served + failed})
    return Second(due, {"GET": Counter({bin_of(latency_s): served})}, failures, lag, errors)


def history_of(*seconds: Second, subject: Subject = SUBJECT) -> History:
    history = History(subject)
    history.add(Seen(len(seconds) + 0.6, dict(enumerate(seconds))))
    return history


def test_states_are_named_with_what_follows() -> None:
    good = status_of(history_of(*[second()] * 12))
    assert good.mark == "good" and not good.meaning
    assert good.sentence == (
        "Keeping up: 100 of 100 op/s are served; starts are 100 µs late at p99; no request failed (last 10 s)."
    )
    late = status_of(history_of(*[second(lag_s=0.02)] * 3))
    assert late.mark == "unsure" and late.sentence.startswith("Late: ") and "limit is 5.00 ms" in late.meaning
    behind = status_of(history_of(*[second(served=60)] * 10))
    assert behind.mark == "bad" and behind.sentence.startswith("Behind: 60.0 of 100 op/s")
    assert behind.meaning == "400 requests were due and have not ended."
    failing = status_of(history_of(*[second(served=90, failed=10)] * 10))
    assert failing.mark == "bad" and "100 of 1,000 requests failed" in failing.sentence
    assert failing.meaning == "Most frequent reason: status 503."
    assert status_of(History(SUBJECT)).sentence.startswith("Starting: ")
    closed = Subject("t", "s", False, None, 500)
    running = status_of(history_of(second(due=0), second(due=0), subject=closed))
    assert running.sentence.startswith("Running: 100 op/s are served")


def test_progress_is_that_of_time_or_of_requests() -> None:
    assert elapsed(history_of(*[second()] * 30)) == (pytest.approx(0.51), "31 s of 60 s")
    assert elapsed(history_of(*[second()] * 70))[1] == "71 s of 60 s: the last requests take their time"
    closed = Subject("t", "s", False, None, 500)
    assert elapsed(history_of(second(due=0), second(due=0), subject=closed)) == (0.4, "200 of 500 requests")


def test_the_table_has_now_and_so_far() -> None:
    history = history_of(*[second(latency_s=0.1)] * 20, *[second(latency_s=0.004, served=50)] * 10)
    (row,) = table_of(history).rows
    assert row == ["GET", "50.0", "3.97 ms", "3.97 ms", "99.3 ms", "99.3 ms", "2,500", "0"]
    few = table_of(history_of(second(served=9))).rows[0]
    assert few[2] == "3.97 ms" and few[3] == few[5] == "–", "a p99 needs a hundred requests"
    assert errors_of(history_of(second(failed=3))).rows == [["status 503", "3"]]


def test_windows_are_as_long_as_a_p99_and_a_figure_need() -> None:
    assert {w.span_s for w in history_of(*[second()] * 100).windows()} == {1}
    assert {w.span_s for w in history_of(*[second(served=20)] * 100).windows()} == {5}
    assert {w.span_s for w in history_of(*[second()] * 1000).windows()} == {10}
    few = history_of(*[second(served=1)] * 20).windows()
    assert len(few) >= 4, "a replay of few requests has some points nevertheless"
    assert sum(w.counts.served for w in few) == 20


def test_a_second_without_responses_is_a_gap() -> None:
    stalled = Second(due=100)
    windows = history_of(second(), second(), stalled, second()).windows()
    assert list(rates(windows, open_loop=True).data[1].y) == [100, 100, 0, 100]
    p50 = list(latencies(windows, ["GET"]).data[0].y)
    assert p50[2] is None and p50[3] == pytest.approx(4, rel=0.01)


def test_lines_have_all_that_was_seen() -> None:
    seen = Seen(3.5, {2: second(failed=2), 3: Second(due=7)})
    line = line_of(seen)
    assert "\n" not in line and seen_of(json.loads(line)) == seen


def test_the_view_of_a_terminal_fits_80_characters() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(drawn(history_of(*[second()] * 5, *[second(latency_s=0.04)] * 5)))
    text = console.export_text()
    assert "Keeping up: " in text and "11 s of 60 s" in text and "p99 of the last 10 s" in text
    assert max(map(len, text.splitlines())) <= 80
    assert bars_of([1.0, float("nan"), 8.0]) == "▁ █"


def page_process(port: int = 0, lost: Any = lambda: None) -> PageProcess:
    return PageProcess(SUBJECT, port, (), lost)


def fetched(url: str, **headers: str) -> int:
    with urlopen(Request(url, headers=headers), timeout=30) as response:
        return int(response.status)


def test_the_page_process_serves_this_machine_and_ends() -> None:
    with page_process() as page:
        (child,) = multiprocessing.active_children()
        assert page.url.startswith("http://127.0.0.1:") and fetched(page.url) == 200
        (listening,) = [
            each for each in psutil.Process(child.pid).net_connections() if each.status == psutil.CONN_LISTEN
        ]
        assert listening.laddr.ip == "127.0.0.1"
        page.see(Seen(1.0, {0: second()}))
        page.end(["Ended."])
    assert multiprocessing.active_children() == []


def test_other_hosts_are_refused() -> None:
    server = page_of(Shown(SUBJECT)).server
    guard(server, 8050)
    client = server.test_client()
    assert client.get("/", headers={"Host": "127.0.0.1:8050"}).status_code == 200
    assert client.get("/", headers={"Host": "store.example:8050"}).status_code == 403


def test_a_port_in_use_is_refused_before_anything_is_issued() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"--port {port}: Address already in use"), page_process(port):
            pass
    assert multiprocessing.active_children() == []


def test_a_stop_while_the_page_process_starts_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = SpawnProcess.start

    def stopped(process: SpawnProcess) -> None:
        begin(process)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(SpawnProcess, "start", stopped)
    with handled_stops(), raised_stops(), pytest.raises(KeyboardInterrupt), page_process():
        pass
    assert multiprocessing.active_children() == []


def test_a_page_that_dies_or_hangs_does_not_stop_the_replay() -> None:
    lost: list[str] = []
    with page_process(lost=lambda: lost.append("once")) as page:
        (child,) = multiprocessing.active_children()
        os.kill(child.pid or 0, signal.SIGSTOP)
        began_s = time.perf_counter()
        for number in range(3000):  # more than the link holds
            page.see(Seen(number + 1.0, {number: second()}))
        assert time.perf_counter() - began_s < 5 and lost == ["once"]
        os.kill(child.pid or 0, signal.SIGCONT)
    assert multiprocessing.active_children() == []
    with page_process(lost=lambda: lost.append("again")) as page:
        (child,) = multiprocessing.active_children()
        child.kill()
        child.join()
        page.see(Seen(1.0, {0: second()}))
        page.see(Seen(2.0, {1: second()}))
        page.end(["Ended."])
    assert lost == ["once", "again"]


def wait(page: Any, condition: str, within_s: float = 60.0) -> None:
    until_s = time.monotonic() + within_s
    while not page.evaluate(condition):
        assert time.monotonic() < until_s, (condition, page.errors)
        time.sleep(0.05)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_page_follows_and_says_how_it_ended() -> None:
    with page_process() as process, opened(process.url, 800) as page:
        process.stage("writing objects to read, 40 %")
        wait(page, "document.querySelector('#opening')?.innerText.includes('writing objects to read, 40 %')")
        for number in range(8):
            process.see(Seen(number + 1.6, {number: second(failed=5 * (number == 7))}))
            if number == 4:
                wait(page, "document.querySelector('#opening').innerText.startsWith('Keeping up')")
                wait(page, "document.querySelectorAll('.js-plotly-plot .scatterlayer .trace').length >= 6")
        wait(page, "document.querySelector('#opening').innerText.startsWith('Failing')")
        wait(page, "document.querySelector('#failed').innerText.includes('status 503')")
        assert page.evaluate("document.querySelector('#known').innerText").count("GET") == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 800
        process.end(["Ended: 800 requests in 8 s."])
        wait(page, "document.querySelector('#opening').innerText.includes('Ended: 800 requests')")
        time.sleep(2.5)
        assert page.errors == []
        assert [url for url in page.fetched if not url.startswith((process.url, "data:", "blob:"))] == []


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_page_whose_replay_was_killed_says_so() -> None:
    with page_process() as process:
        (child,) = multiprocessing.active_children()
        with opened(process.url, 800) as page:
            process.see(Seen(1.6, {0: second()}))
            wait(page, "document.querySelector('#opening')?.innerText.startsWith('Keeping up')")
            child.kill()
            wait(page, "document.querySelector('#lost').innerText.includes('does not respond any more')")


def test_a_port_without_a_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", "trace.parquet", "--port", "8050"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == ["tailcast: error: --port 8050 is one of the page; add --live"]
