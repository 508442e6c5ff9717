"""Counters, gauges and histograms of a window, and the files and servers that they are read from."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.errors import InputError
from traces.metrics.exposition import samples
from traces.metrics.files import joined, read_metrics, saved
from traces.metrics.series import Histogram, Metrics, Series
from traces.metrics.server import Server


def series(name: str, values: list[float], step_s: float = 10, start_s: float = 0, **labels: str) -> Series:
    """Return a series with samples at equal distances."""
    return Series(name, labels, start_s + step_s * np.arange(len(values)), np.array(values, float))


def test_a_counter_continues_after_a_restart():
    each = series("requests", [100, 150, 20, 50])
    assert each.growth.tolist() == [50, 20, 30]
    assert each.rate == pytest.approx(100 / 30)


def test_rates_are_added_up_and_single_samples_left_out():
    metrics = Metrics.of([series("a", [0, 10], host="x"), series("a", [0, 30], host="y"), series("a", [5], host="z")])
    assert metrics.rate("a") == pytest.approx(4)
    assert metrics.rate("a", host="y") == pytest.approx(3)
    assert metrics.rate("a", host="z") is None
    assert metrics.rate("b") is None


def test_a_window_has_the_samples_on_its_edges():
    metrics = Metrics.of([series("a", [0, 10, 50, 60])], 10, 20)
    assert metrics.rate("a") == pytest.approx(4)
    with pytest.raises(InputError, match="no samples in the window"):
        Metrics.of([series("a", [0, 10])], 100, 200)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=20), st.integers(1, 7))
def test_rates_over_time_add_up_to_the_growth(steps, count):
    each = series("a", np.cumsum(steps).tolist())
    edges_s = np.linspace(each.times_s[0], each.times_s[-1], count + 1)
    rates = Metrics.of([each]).rate_over_time([each], edges_s)
    assert float(rates @ np.diff(edges_s)) == pytest.approx(sum(steps[1:]))


def test_the_bin_of_a_quantile():
    buckets = [series("b", [0, count], le=edge) for edge, count in (("0.1", 50), ("0.5", 90), ("+Inf", 100))]
    histogram = Histogram.of(buckets)
    assert histogram is not None
    assert histogram.counts.tolist() == [50, 40, 10]
    assert histogram.quantile_bin(0.5) == (0.0, 0.1)
    assert histogram.quantile_bin(0.51) == (0.1, 0.5)
    assert histogram.quantile_bin(0.99) == (0.5, float("inf"))
    assert Histogram.of([series("b", [7, 7], le="+Inf")]) is None


def test_snapshots_are_joined_by_their_times(tmp_path):
    for number, value in enumerate((5, 9)):
        text = f'# TYPE a counter\na{{x="q\\"\\\\,",y="1"}} {value} {number}000\nb NaN {number}000\n'
        (tmp_path / f"{number}.prom").write_text(text)
    (only,) = read_metrics([tmp_path / "1.prom", tmp_path / "0.prom"])
    assert (only.name, dict(only.labels)) == ("a", {"x": 'q"\\,', "y": "1"})
    assert only.times_s.tolist() == [0, 1]
    assert only.values.tolist() == [5, 9]


@pytest.mark.parametrize("line", ["a{x=1} 2", "a b", 'a{x="1" 2'])
def test_lines_that_are_no_samples_are_named(line):
    with pytest.raises(ValueError, match="line 2"):
        list(samples(f"ok 1\n{line}\n"))


def test_what_is_saved_is_read(tmp_path):
    kept = [series("a", [0, 0.1, 1e15], host="x"), series("b", [1])]
    (tmp_path / "m.json").write_text(saved(kept))
    found = read_metrics([tmp_path / "m.json"])
    assert [each.name for each in found] == ["a", "b"]
    for one, other in zip(kept, found, strict=True):
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.times_s, other.times_s)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"status": "error", "errorType": "bad_data", "error": "parse"}', "bad_data: parse"),
        ('{"status": "success", "data": {"resultType": "scalar", "result": [1, "1"]}}', "neither a matrix"),
        ('{"data": {"resultType": "matrix", "result": [{"metric": {"x": "1"}, "values": []}]}}', "has no name"),
        ('{"data": ', "no response of Prometheus"),
        ("<html>", "kind is not recognised"),
        ("", "kind is not recognised"),
    ],
)
def test_other_files_are_refused(tmp_path, text, why):
    path = tmp_path / "m"
    path.write_text(text)
    with pytest.raises(InputError, match=why):
        read_metrics([path])


class _Prometheus(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, dict[str, list[str]], str | None]]] = []
    status = 200

    def do_POST(self) -> None:
        query = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append((self.path, query, self.headers["Authorization"]))
        each = {"metric": {"__name__": "a", "job": "x"}, "values": [[1, "2"], [2, "3"]]}
        answer = {"status": "success", "data": {"resultType": "matrix", "result": [each]}}
        refusal = {"status": "error", "errorType": "bad_data", "error": "unexpected end"}
        body = json.dumps(answer if self.status == 200 else refusal).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Keep silent."""


@pytest.fixture
def prometheus() -> Iterator[str]:
    """URL of a server that answers each query with one series, without user and scheme."""
    server = HTTPServer(("127.0.0.1", 0), _Prometheus)
    _Prometheus.asked.clear()
    _Prometheus.status = 200
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_is_asked_for_raw_samples(prometheus):
    found = Server(f"http://user:pass%20word@{prometheus}/prom/").read(["a", "b.c"], 100, 160, 'job="x"')
    assert [each.values.tolist() for each in found] == [[2, 3]]
    ((path, query, authorization),) = _Prometheus.asked
    assert path == "/prom/api/v1/query"
    assert query == {"query": ['{__name__=~"a|b\\.c",job="x"}[60s]'], "time": ["160.000"]}
    assert authorization == "Basic dXNlcjpwYXNzIHdvcmQ="
    Server(f"http://{prometheus}", "secret").read(["a"], 0, 1)
    assert _Prometheus.asked[-1][2] == "Bearer secret"


def test_refusals_name_the_server_without_its_user(prometheus):
    _Prometheus.status = 400
    with pytest.raises(InputError) as refused:
        Server(f"http://user:secret@{prometheus}").read(["a"], 0, 1, "x")
    assert str(refused.value) == f"http://{prometheus}: refuses the query: 400 unexpected end"


@pytest.mark.parametrize("url", ["ftp://user:secret@host", "host:9090", "http://user:secret@host:port", "http://"])
def test_other_urls_are_refused(url):
    with pytest.raises(InputError) as refused:
        Server(url)
    assert "secret" not in str(refused.value)


def test_a_server_that_is_not_there():
    with pytest.raises(InputError, match=r"http://127.0.0.1:1: cannot be reached"):
        Server("http://127.0.0.1:1").read(["a"], 0, 1)


def test_equal_series_of_several_files_are_one():
    (only,) = joined([series("a", [1, 2]), series("a", [2, 3], start_s=10)])
    assert only.times_s.tolist() == [0, 10, 20]
    assert only.values.tolist() == [1, 2, 3]


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match="absent"):
        read_metrics([Path("absent.json")])
