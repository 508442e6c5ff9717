"""Requests in flight, their attempts, and the jobs of attempts at stations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from models.network.demand_sheet import Sheet
from models.network.descendants import Descendants
from models.network.route import Route


class DescendantRows:
    """The descendants of a Sheet's requests as lists; see `Descendants`."""

    def __init__(self, found: Descendants):
        self.route, self.key_hash, self.identity = (
            column.tolist() for column in (found.route, found.key_hash, found.identity)
        )
        self.first_visit, self.station, self.demand_s = (
            column.tolist() for column in (found.visits.first, found.visits.station, found.visits.demand_s)
        )
        self.first_family, self.first_child = found.first_family.tolist(), found.first_child.tolist()
        self.requests = len(found.first) - 1


class SheetRows:
    """A Sheet as lists, which are faster to read in Python."""

    def __init__(self, sheet: Sheet):
        self.route, self.key_hash, self.first_visit = (
            column.tolist() for column in (sheet.route, sheet.key_hash, sheet.first_visit)
        )
        self.arrival_s, self.think_s, self.phase = (c.tolist() for c in (sheet.arrival_s, sheet.think_s, sheet.phase))
        self.station, self.demand_s = sheet.station.tolist(), sheet.demand_s.tolist()
        self.descendants = None if sheet.descendants is None else DescendantRows(sheet.descendants)


class Request:
    """A request in flight, a background operation, which has no client and no policy, or a sub-request.

    Attributes:
        index: of the request, of the background operation, or of the one that a sub-request descends from.
        number: selects its random pauses before retries: the index, or the identity of a sub-request.
        descendants, node: those of its Sheet, and its row among them.
        family: that of a sub-request.
        inherited_s: of a sub-request: the critical path of its family up to its beginning.
        is_recorded: whether it has a row in the results.
    """

    __slots__ = (
        "attempts", "background", "client", "demands", "descendants", "ended", "family", "index", "inherited_s",
        "is_recorded", "key_hash", "node", "number", "open", "pending", "retries", "route", "route_index", "start_s",
        "stations", "taken", "tied", "width",
    )  # fmt: skip

    def __init__(self, routes: Sequence[Route], rows: SheetRows, row: int, index: int, client: int, background: bool):
        self.family: Any = None
        self.index = self.number = index
        self.client, self.background, self.is_recorded = client, background, not background
        self.descendants, self.node = rows.descendants, row
        self._fill(routes, rows, row)

    @classmethod
    def child_of(cls, parent: Request, routes: Sequence[Route], row: int, family: Any) -> Request:
        """Return the sub-request in a row of its parent's descendants."""
        rows, child = parent.descendants, cls.__new__(cls)
        assert rows is not None
        child.index, child.number, child.client = parent.index, rows.identity[row], parent.client
        child.background = child.is_recorded = False
        child.descendants, child.node, child.family = rows, rows.requests + row, family
        child._fill(routes, rows, row)
        return child

    def _fill(self, routes: Sequence[Route], rows: SheetRows | DescendantRows, row: int) -> None:
        self.open: dict[int, Attempt] = {}  # attempts without an outcome, by number
        self.taken: dict[int, list[int]] = {}  # group: members to which attempts have been bound
        self.ended = self.tied = False
        self.attempts = self.retries = self.pending = 0  # attempts begun; pending: scheduled retries
        self.start_s: float
        self.inherited_s: list[float]
        self.route_index, self.key_hash = rows.route[row], rows.key_hash[row]
        self.route = routes[self.route_index]
        # The visits of all attempts, `width` per attempt, so that the Sheet can be freed before the request ends.
        self.width, first = len(self.route.visits), rows.first_visit[row]
        visits = slice(first, first + self.width * self.route.policy.attempts)
        self.stations, self.demands = rows.station[visits], rows.demand_s[visits]


class Attempt:
    """An attempt: its current stage, and how many branches of the stage are done, have failed or have claimed it."""

    __slots__ = (
        "began_s", "bindings", "cancelled", "claimed", "done", "failed", "families", "first", "held", "live", "number",
        "over", "path_s", "places", "priority", "request", "returned", "spent", "stage", "visits", "waiting",
    )  # fmt: skip

    def __init__(self, request: Request, number: int, began_s: float):
        self.request, self.number, self.began_s, self.priority = request, number, began_s, request.route.priority
        # If paths are recorded: the time before the winning attempts of sub-requests, then waiting and service time by
        # role, up to the current stage; and those of each visit or family by branch.
        self.path_s: list[float] = []
        self.spent: dict[int, list[tuple[str, float, float] | list[float]]] = {}
        self.places, self.visits = request.route.places, request.route.visits
        self.first = number * request.width  # index of its first visit among those of all attempts
        self.stage = self.done = self.failed = self.claimed = self.live = 0
        self.cancelled = self.over = False
        self.waiting: dict[int, Job] = {}  # jobs in queues, by visit
        self.families: dict[int, Job] = {}  # jobs that wait for sub-requests, by visit
        self.bindings: dict[int, int] = {}  # group: member
        self.held: dict[int, Any] = {}  # pools whose tokens it holds, by the visit that took them
        self.returned: set[int] = set()  # visits whose tokens were returned early


class Transaction:
    """A transaction of a branch that is not committed, or a visit within it that notes the commits again.

    Attributes:
        server: the counter of commits.
        position, since: of the visit that began it, and its first beginning.
        spent: number of visits of the branch before it in the critical path.
        count: the commits that it has noted.
        repetitions: of it so far.
    """

    __slots__ = ("count", "position", "repetitions", "server", "since", "spent")

    def __init__(self, server: Any, position: int, since: float, spent: int, count: int):
        self.server, self.position, self.since, self.spent, self.count = server, position, since, spent, count
        self.repetitions = 0


class Job:
    """A branch of an attempt, at its current visit."""

    __slots__ = (
        "attempt",
        "began",
        "demand",
        "dropped",
        "family",
        "life",
        "polls",
        "position",
        "server",
        "since",
        "timed",
        "transactions",
    )

    def __init__(self, attempt: Attempt, position: int):
        self.attempt, self.position, self.dropped = attempt, position, False
        self.timed = False  # whether the visit is a timer of an infinite server, during which it is not in progress
        self.family: Any = None  # sub-requests that it waits for
        self.transactions: list[Transaction] = []
        self.server: Any
        self.since: float  # when the visit began
        self.began: float  # when its service began
        self.demand: float
        self.life: int  # number of deaths of its server when its service began
        self.polls: int
