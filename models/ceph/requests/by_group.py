"""What an OSD does, if its times follow from the group of hosts that it is on.

An OSD of a placement group is on a host of another group for other keys, so its step has the visits of each group in
turn. Steps that are the same in all groups, such as tokens, are made once: groups of equal hosts are, to the bit, a
cluster of equal hosts, and neither engine knows of groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from models.ceph.cluster.stations import Osd
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.index_osds import of_index
from models.network.route import Chance
from models.shared.steps import Step, joined

Work = Callable[[Osd, CostFunctions], Step]
"""Returns a step of an OSD, given its places and the cost functions of its group."""


class OsdGroups:
    """The cost functions of OSDs by the group of their hosts.

    The OSD of a placement group is on a host of another group for other keys. So a step has the visits of each group,
    one after the other: those at the places of the OSD's own group take their time, and the others pass open gates.
    Groups in which a step is the same, such as that of a token, have one visit in common.
    """

    def __init__(self, costs: CostFunctions):
        self._data = costs.of_groups

    @cached_property
    def _index(self) -> tuple[CostFunctions, ...]:
        return tuple(of_index(costs) for costs in self._data)

    def each(self, osd: Osd, work: Work) -> Step:
        """Return the step of an OSD, of whichever group it is."""
        of_groups = self._data if osd.is_of_data else self._index
        first, *others = (work(osd, costs) for costs in of_groups)
        if all(_same(other, first) for other in others):
            return first
        return joined(work(osd.of(costs.group), costs) for costs in of_groups)


def _same(one: Step, other: Step) -> bool:
    """Whether two steps are equal, with equally likely decisions."""
    return len(one) == len(other) and all(
        replace(a, chance=None) == replace(b, chance=None) and _likely(a.chance) == _likely(b.chance)
        for a, b in zip(one, other, strict=True)
    )


def _likely(chance: Chance | None) -> tuple[float, ...]:
    """Return the probabilities of a decision and of those that it is within."""
    return () if chance is None else (chance.probability, *_likely(chance.within))
