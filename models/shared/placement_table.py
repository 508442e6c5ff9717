"""A placement table with named columns, and a block of them for each epoch of a cluster.

An *epoch* is the time between two changes of a cluster's state. If there is one, the row of a request's key gives the
stations of its visits before the run. If there are several, their blocks are side by side, and an attempt is bound to
the present one when it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import NOWHERE, Bound, Choice, Group, Indices, Member, Station
from models.shared.epochs import State, all_well


def numbered(name: str, count: int, parts: Iterable[str]) -> list[Indices]:
    """Return the names of the columns of alike things, such as drives: `(name, number, part)`, thing after thing."""
    parts = tuple(parts)
    return [(name, number, part) for number in range(count) for part in parts]


class PlacementTable:
    """A placement table of a network, and the group that binds attempts to its present block.

    Attributes:
        stations: the table, shape (rows, columns of all blocks).
        groups: the group, if there are several epochs.
    """

    def __init__(
        self,
        table: int,
        columns: Sequence[Indices],
        blocks: Sequence[NDArray[np.int32]],
        epochs: Sequence[int] = (),
        group: int | None = None,
        role: str = "epochs",
        indices: Indices = (),
    ):
        """Join the blocks.

        Args:
            table: index of the table in the network.
            columns: their names, the same in each block.
            blocks: the stations of each epoch, shape (rows, columns).
            epochs: the stations by which the scenario names the epochs (`epoch_names`); none if there is one epoch.
            group: index of the group in the network; None: that of the table.
            role, indices: those of the group.

        Raises:
            ValueError: a name occurs twice, or a block has not as many columns as there are names.
        """
        self._table, self._group = table, table if group is None else group
        self._bound = bool(len(epochs))
        self._position = {name: position for position, name in enumerate(columns, int(self._bound))}
        if len(self._position) < len(columns):
            raise ValueError("two columns of a placement table have the same name")
        if any(block.shape[1] != len(columns) for block in blocks) or len(blocks) != max(len(epochs), 1):
            raise ValueError("a placement table has a block for each epoch, and a name for each column of a block")
        self.groups: tuple[Group, ...] = ()
        if not self._bound:
            self.stations = np.asarray(blocks[0], np.int32)
            return
        named = [(np.full((len(block), 1), name), block) for name, block in zip(epochs, blocks, strict=True)]
        self.stations = np.hstack([part for of_epoch in named for part in of_epoch]).astype(np.int32)
        members = np.arange(self.stations.shape[1], dtype=np.int32).reshape(len(blocks), -1)
        self.groups = (Group(Choice.HASH, members, table, role, indices),)

    def at(self, *name: int | str) -> Member | Bound:
        """Return the place of a column, which is the part that selects the random numbers of visits there, too."""
        position = self._position[name]
        return Bound(self._group, position, name) if self._bound else Member(self._table, position, name)


def epoch_names(add: Callable[[Station], int], count: int, role: str = NOWHERE.role, name: str = "epoch") -> list[int]:
    """Add a station without visits for each of several epochs, by which the scenario names it; return their indices.

    Args:
        add: adds a station to the network and returns its index.
        count: number of epochs.
        role: of the stations.
        name: what they are called before their numbers.
    """
    return [add(Station(f"{name} {k}", role, Discipline.GATE, indices=(k,))) for k in range(count)]


def epoch_changes(group: int, names: Sequence[int], times_s: Sequence[float]) -> Iterator[Action]:
    """Yield the actions by which a group binds attempts to the epoch that has begun last.

    Args:
        group: index of the group.
        names: the stations that name the epochs, in order.
        times_s: when each epoch begins.
    """
    for (before, name), at_s in zip(pairwise(names), times_s[1:], strict=True):
        yield Action(ActionKind.LEAVE, group, at_s, member=before)
        yield Action(ActionKind.LEAVE, group, member=name)
        yield Action(ActionKind.JOIN, group, at_s, member=name)


def placed_by_epoch(
    add: Callable[[Station], int],
    epochs: Sequence[State],
    columns: Sequence[Indices],
    block: Callable[[State], NDArray[np.int32]],
) -> tuple[PlacementTable, list[Action]]:
    """Return the placement table of a network that has one, and the actions by which its group, the first, is bound.

    Args:
        add: adds a station to the network and returns its index.
        epochs: those of a run; if there is one in which nothing is amiss, there is no group.
        columns: names of the columns of a block.
        block: returns the stations of an epoch, shape (rows, columns).
    """
    names = [] if all_well(epochs) else epoch_names(add, len(epochs))
    table = PlacementTable(0, columns, [block(epoch) for epoch in epochs], names)
    return table, list(epoch_changes(0, names, [epoch.at_s for epoch in epochs]))
