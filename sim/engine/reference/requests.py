"""What is in flight: requests, the attempts at them, and the jobs that attempts have at stations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.network.demand_sheet import Sheet
from models.network.route import Route


class Rows:
    """A Sheet as lists, which Python reads faster."""

    def __init__(self, sheet: Sheet):
        self.route, self.key_hash, self.first_visit = (
            column.tolist() for column in (sheet.route, sheet.key_hash, sheet.first_visit)
        )
        self.arrival_s, self.think_s, self.phase = (c.tolist() for c in (sheet.arrival_s, sheet.think_s, sheet.phase))
        self.station, self.demand_s = sheet.station.tolist(), sheet.demand_s.tolist()


class Request:
    """One request on its way, or a background operation, which has no client and no policy."""

    __slots__ = (
        "background", "client", "demands", "ended", "index", "key_hash", "open", "pending", "retries", "route",
        "route_index", "stations", "taken", "tied", "width",
    )  # fmt: skip

    def __init__(self, routes: Sequence[Route], rows: Rows, row: int, index: int, client: int, background: bool):
        self.index, self.client, self.background = index, client, background
        self.open: dict[int, Attempt] = {}  # attempts that have no outcome yet, by number
        self.taken: dict[int, list[int]] = {}  # group: members that attempts have been bound to
        self.ended = self.tied = False
        self.retries = self.pending = 0  # pending: retries that are due
        self.route_index, self.key_hash = rows.route[row], rows.key_hash[row]
        self.route = routes[self.route_index]
        # All attempts' visits, each attempt `width` of them, so that the Sheet can go before the request does.
        self.width, first = len(self.route.visits), rows.first_visit[row]
        visits = slice(first, first + self.width * self.route.policy.attempts)
        self.stations, self.demands = rows.station[visits], rows.demand_s[visits]


class Attempt:
    """One attempt at a request: the stage it has come to, and how many branches of that are done or have failed."""

    __slots__ = (
        "began_s", "bindings", "cancelled", "done", "failed", "first", "held", "live", "number", "over", "path_s",
        "places", "priority", "request", "spent", "stage", "waiting",
    )  # fmt: skip

    def __init__(self, request: Request, number: int, began_s: float):
        self.request, self.number, self.began_s, self.priority = request, number, began_s, request.route.priority
        # Where paths are wanted: waiting and service by role up to its present stage, and at each visit by branch.
        self.path_s: list[float] = []
        self.spent: dict[int, list[tuple[str, float, float]]] = {}
        self.places = request.route.places
        self.first = number * request.width  # its visits' place among those of all attempts
        self.stage = self.done = self.failed = self.live = 0
        self.cancelled = self.over = False
        self.waiting: dict[int, Job] = {}  # jobs in queues, by the visit
        self.bindings: dict[int, int] = {}  # group: member
        self.held: dict[int, Any] = {}  # the pools whose tokens it has, by the visit that took them


class Job:
    """One branch of an attempt, at the visit it has come to."""

    __slots__ = ("attempt", "began", "demand", "dropped", "life", "polls", "position", "server", "since")

    def __init__(self, attempt: Attempt, position: int):
        self.attempt, self.position, self.dropped = attempt, position, False
        self.server: Any
        self.since: float  # the visit began
        self.began: float  # its service did
        self.demand: float
        self.life: int  # how often its server had died when it began to serve it
        self.polls: int
