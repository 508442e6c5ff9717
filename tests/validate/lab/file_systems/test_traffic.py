"""What recorders wrote down, as requests of S3 and rounds to Redis."""

from __future__ import annotations

import pytest

from validate.lab.file_systems.framing import HttpExchange
from validate.lab.file_systems.traffic import Round, Traffic, kind_of, most_at_once, without_heartbeats


def request(
    method: str, path: str = "/b/k", begin_s: float = 0.0, end_s: float = 1.0, **fields: object
) -> HttpExchange:
    given = {"query": {}, "range": "", "copies": False} | fields
    return HttpExchange(0, method, path, begin_s=begin_s, end_s=end_s, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("exchange", "kind"),
    [
        (request("GET"), "GET"),
        (request("GET", range="0-9"), "GET range"),
        (request("GET", "/b/", query={"prefix": "x/", "max-keys": "2"}), "LIST"),
        (request("GET", "/b", query={"location": ""}), "GET bucket"),
        (request("PUT", copies=True), "PUT copy"),
        (request("POST", query={"uploads": ""}), "POST upload"),
        (request("PUT", query={"uploadId": "u", "partNumber": "1"}), "PUT part"),
        (request("PUT", query={"uploadId": "u", "partNumber": "1"}, copies=True), "PUT part copy"),
        (request("POST", query={"uploadId": "u"}), "POST completion"),
        (request("DELETE", query={"uploadId": "u"}), "DELETE upload"),
        (request("POST", "/b", query={"delete": ""}), "POST deletes"),
        (request("HEAD"), "HEAD"),
    ],
)
def test_kinds_of_requests(exchange: HttpExchange, kind: str) -> None:
    assert kind_of(exchange) == kind


def test_what_overlaps_and_what_came_later() -> None:
    assert most_at_once([(0, 2), (1, 3), (2, 4)]) == 2 and most_at_once([]) == 0
    put = request("PUT", begin_s=0.0, end_s=0.5, request_bytes=7)
    get = request("GET", begin_s=0.4, end_s=2.0, response_bytes=9)
    traffic = Traffic((put, get), (Round(0, ("GET i#",), 0.0, 0.1), Round(0, ("LLEN c#_#",), 0.9, 1.1)))
    during, later = traffic.ended_by(1.0), traffic.ended_after(1.0)
    assert (during.kinds, during.sent_bytes, during.commands) == ({"PUT": 1}, 7, 1)
    assert (later.kinds, later.received_bytes, len(later.rounds)) == ({"GET": 1}, 9, 1)


def test_heartbeats_are_left_out() -> None:
    commands = [
        (1, "GET i#"),
        (1, "MULTI", "HSETNX sessionInfos", "ZADD allSessions", "EXEC"),
        (1, "GET setting"),
        (2, "HELLO #"),
        (1, "WATCH lastCleanupSessions"),
        (1, "GET lastCleanupSessions"),
        (1, "MULTI", "SET lastCleanupSessions", "EXEC"),
        (2, "WATCH i#"),
        (1, "UNWATCH"),
        (2, "UNWATCH"),
        (1, "ZRANGEBYSCORE sessions"),
        (1, "GET usedSpace"),
    ]
    rounds = [Round(int(each[0]), tuple(map(str, each[1:])), i, i + 0.5) for i, each in enumerate(commands)]
    left = without_heartbeats(rounds)
    assert not any(r.background for r in left)
    assert [(r.connection, *r.commands) for r in left] == [(1, "GET i#"), (2, "WATCH i#"), (2, "UNWATCH")]


def test_background_work_is_marked_with_its_transactions() -> None:
    commands = [
        "WATCH i#",
        "LLEN c#_#",
        "MGET i#",
        "UNWATCH",
        "WATCH c#_#",
        "LRANGE c#_#",
        "MULTI",
        "UNWATCH",
        "GET i#",
    ]
    left = without_heartbeats([Round(0, (command,), i, i + 0.5) for i, command in enumerate(commands)])
    assert [r.background for r in left] == [False, True, False, False, True, True, True, True, False]
    during = Traffic((), tuple(left)).ended_by(100.0)
    assert len(during.rounds) == 4 and len(Traffic((), tuple(left)).ended_after(100.0).rounds) == 5
