"""Requests with each key of a workload as often as in the long run.

A finite number of requests has some keys more often than others by chance, and of many keys only some. How unevenly
keys load the stations of a store is that of all of them. So it depends on neither the length nor the seed of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.station import Member
from models.shared.recent import Recent
from models.store import Spec, compile_spec, warms
from sim.demands.key_odds import REPEATS
from traces.errors import InputError
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import Indices, SequentialKeys, UniformKeys, ZipfKeys
from traces.workload.workload import Workload

_LEAST, _MOST = 100_000, 200_000
"""Range of the number of requests of a census, in which keys that are equally popular have equally many, or of more
keys `REPEATS` sets one each."""
_RECENT: Recent[tuple[Spec, float], tuple[Network, Requests]] = Recent(2)
_TRACES: Recent[Workload, Trace] = Recent(2)
"""Of variants of a spec with the same workload; what follows from the trace alone is kept with it."""


@dataclass(frozen=True)
class _EvenKeys:
    """Keys without chance, at equal steps of their cumulated probability in each of the parts of a census."""

    keys: UniformKeys | SequentialKeys | ZipfKeys

    @property
    def count(self) -> int:
        return self.keys.count

    def choose(self, seed: int, count: int) -> Indices:
        """Return the keys of `count` requests, shape (count,), in random order within each part."""
        drawn, u = uniforms(seed, stream_id("key census"), 0, count), np.empty(count)
        for part, (begin, end) in enumerate(pairwise(-(-count * k // REPEATS) for k in range(REPEATS + 1))):
            steps = (np.arange(end - begin) + (part + 0.5) / REPEATS) / (end - begin)
            u[begin + np.argsort(drawn[begin:end], kind="stable")] = steps
        return self.keys.quantile(u)


def _length(keys: UniformKeys | SequentialKeys | ZipfKeys) -> int:
    once = REPEATS * keys.count
    return _MOST if isinstance(keys, ZipfKeys) or once > _MOST else once * -(-_LEAST // once)


def census_of(spec: Spec, network: Network, end_s: float) -> Requests | None:
    """Return requests of a workload with each key as often as in the long run; None: how often is not known.

    It is not known if it depends on the order of requests, as that does what caches hold, or if there are several
    groups of clients.

    Args:
        spec: of the store.
        network: as compiled from the spec for its workload; its routes are those of the requests.
        end_s: as of `compile_spec`.
    """
    workload, visits = spec.workload, (visit.station for route in network.routes for visit in route.visits)
    keys = workload.keys
    if workload.groups or not isinstance(keys, UniformKeys | SequentialKeys | ZipfKeys) or warms(spec):
        return None
    if not any(isinstance(place, Member) for place in visits):
        return None
    ends = {"keys": _EvenKeys(keys), "operations": _length(keys), "duration": None, "rate": 1.0}
    longer = workload.model_copy(update=ends)
    try:
        counted, requests = _RECENT.of(
            (spec, end_s),
            lambda: compile_spec(spec, _TRACES.of(longer, lambda: generate(longer, 0)), end_s, saturated=True),
        )
    except InputError:  # such as more operations than there are keys to delete
        return None
    names = [[route.name for route in each.routes] for each in (network, counted)]
    return requests if names[0] == names[1] else None
