"""Requests in flight, their attempts, and the jobs of attempts at stations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.network.demand_sheet import Sheet
from models.network.route import Route


class SheetRows:
    """A Sheet as lists, which are faster to read in Python."""

    def __init__(self, sheet: Sheet):
        self.route, self.key_hash, self.first_visit = (
            column.tolist() for column in (sheet.route, sheet.key_hash, sheet.first_visit)
        )
        self.arrival_s, self.think_s, self.phase = (c.tolist() for c in (sheet.arrival_s, sheet.think_s, sheet.phase))
        self.station, self.demand_s = sheet.station.tolist(), sheet.demand_s.tolist()


class Request:
    """A request in flight, or a background operation, which has no client and no policy."""

    __slots__ = (
        "background", "client", "demands", "ended", "index", "key_hash", "open", "pending", "retries", "route",
        "route_index", "stations", "taken", "tied", "width",
    )  # fmt: skip

    def __init__(self, routes: Sequence[Route], rows: SheetRows, row: int, index: int, client: int, background: bool):
        self.index, self.client, self.background = index, client, background
        self.open: dict[int, Attempt] = {}  # attempts without an outcome, by number
        self.taken: dict[int, list[int]] = {}  # group: members to which attempts have been bound
        self.ended = self.tied = False
        self.retries = self.pending = 0  # pending: scheduled retries
        self.route_index, self.key_hash = rows.route[row], rows.key_hash[row]
        self.route = routes[self.route_index]
        # The visits of all attempts, `width` per attempt, so that the Sheet can be freed before the request ends.
        self.width, first = len(self.route.visits), rows.first_visit[row]
        visits = slice(first, first + self.width * self.route.policy.attempts)
        self.stations, self.demands = rows.station[visits], rows.demand_s[visits]


class Attempt:
    """An attempt: its current stage, and how many branches of the stage are done, have failed or have claimed it."""

    __slots__ = (
        "began_s", "bindings", "cancelled", "claimed", "done", "failed", "first", "held", "live", "number", "over",
        "path_s", "places", "priority", "request", "returned", "spent", "stage", "visits", "waiting",
    )  # fmt: skip

    def __init__(self, request: Request, number: int, began_s: float):
        self.request, self.number, self.began_s, self.priority = request, number, began_s, request.route.priority
        # If paths are recorded: waiting and service time by role up to the current stage, and of each visit by branch.
        self.path_s: list[float] = []
        self.spent: dict[int, list[tuple[str, float, float]]] = {}
        self.places, self.visits = request.route.places, request.route.visits
        self.first = number * request.width  # index of its first visit among those of all attempts
        self.stage = self.done = self.failed = self.claimed = self.live = 0
        self.cancelled = self.over = False
        self.waiting: dict[int, Job] = {}  # jobs in queues, by visit
        self.bindings: dict[int, int] = {}  # group: member
        self.held: dict[int, Any] = {}  # pools whose tokens it holds, by the visit that took them
        self.returned: set[int] = set()  # visits whose tokens were returned early


class Job:
    """A branch of an attempt, at its current visit."""

    __slots__ = ("attempt", "began", "demand", "dropped", "life", "polls", "position", "server", "since", "timed")

    def __init__(self, attempt: Attempt, position: int):
        self.attempt, self.position, self.dropped = attempt, position, False
        self.timed = False  # whether the visit is a timer of an infinite server, during which it is not in progress
        self.server: Any
        self.since: float  # when the visit began
        self.began: float  # when its service began
        self.demand: float
        self.life: int  # number of deaths of its server when its service began
        self.polls: int
