"""What a store's model may be able to say besides the Network: growth, changes to try, CPU, the server's part.

Each is a few functions of the store's own spec `S`. A store that lacks one has None there (`models.store.Store`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store_spec import StoreSpec
from traces.trace import Trace

_STEPS = 1.25, 1.5, 2.0, 3.0

S = TypeVar("S", bound=StoreSpec)

Side = Literal["client", "server"]

SpecChange = Mapping[str, Any]
"""Values that are set together, by the paths of their fields."""

CpuModel = Callable[[S, Network, Requests], dict[Side, float]]
"""Mean CPU seconds per request of each side; of a request that is not repeated or hedged."""


@dataclass(frozen=True)
class Effect:
    """The number of objects at which an effect begins."""

    name: str
    objects: int
    text: str


@dataclass(frozen=True)
class Growth(Generic[S]):
    """How a store's state follows from the number of objects in it.

    Attributes:
        objects: how many the store holds.
        object_bytes: mean size of the objects held, which may follow from the requests of a trace.
        has_object_size, with_object_size: whether the spec says that size itself, and the spec that does.
        holding: the spec with another number of objects, and all else as it is.
        grown: the spec of the same store once it holds so many, with what it has changed of itself on the way.
        state: the figures of the state, by name; `objects` and `fill_fraction`, the fraction of the space taken, are
            among them.
        effects: what begins between two numbers of objects, in order; what holds at the lower is left out.
        is_limit: whether a plan counts an effect as a limit.
        on_the_way: figures of growing from one number of objects to another at a rate of writes (1/s): what the state
            does not show.
        full_share: the fraction of the space from which on a store takes no writes.
        full_text: what is said of such a store, with a place for the fraction.
        columns: the figures of the state, and of `on_the_way`, that go into a timeline's table.
        evidence: the figures of the state that show that a limit is reached.
    """

    objects: Callable[[S], float]
    object_bytes: Callable[[S, Trace], float]
    has_object_size: Callable[[S], bool]
    with_object_size: Callable[[S, int], S]
    holding: Callable[[S, float], S]
    grown: Callable[[S, float], S]
    state: Callable[[S, Trace], dict[str, Any]]
    effects: Callable[[S, Trace, float, float], tuple[Effect, ...]]
    is_limit: Callable[[Effect], bool]
    on_the_way: Callable[[S, float, float, float], dict[str, float]]
    full_fraction: float
    full_text: str
    columns: tuple[str, ...]
    evidence: tuple[str, ...]

    def full(self, fill_fraction: float) -> str | None:
        """Why a store that is so full takes no writes; None: it does."""
        return self.full_text.format(fill_fraction) if fill_fraction >= self.full_fraction else None


@dataclass(frozen=True)
class Remedies(Generic[S]):
    """Changes of a store that may help it.

    Attributes:
        changes: single changes of a spec, given the spec at the end of the period; the store may refuse some.
        moving_cost: what it costs to get from one spec to another, besides the parts that are added.
    """

    changes: Callable[[S, S], Iterator[SpecChange]]
    moving_cost: Callable[[S, S], float] = lambda before, after: 0.0


def more(count: int) -> list[int]:
    """Larger counts to try."""
    return sorted({math.ceil(count * step) for step in _STEPS if math.ceil(count * step) > count})


@dataclass(frozen=True)
class ServerPart(Generic[S]):
    """The part of a request's latency that the server sees: from its arrival there until its handler is done.

    Attributes:
        stamped: the network whose requests have the time of their first byte at their arrival at the server.
        way_back_s: the seconds that a response takes after the handler is done.
    """

    stamped: Callable[[S, Network], Network]
    way_back_s: Callable[[S], float]
