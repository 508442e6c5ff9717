"""Reshard gates of a bucket's index writes, and the scenario actions that shut and open them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from models.ceph.mechanisms.releases import Release
from models.ceph.mechanisms.resharding import Reshard, Resharding, one_by_one
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Choice, Group, Station
from models.shared.steps import Step, check


@dataclass(frozen=True)
class Gates:
    """The gates of one bucket: one that is always open, and reshard gates that are shut during a reshard.

    A group binds each index write to one of them. The open gate is its only member until writes are blocked; then it
    leaves and the reshard gates join. A new request takes the gate with the fewest waiting, the first among equals. So
    the k-th blocked request has gate k for itself, which opens k - 1 rounds after the first; later requests have the
    open gate again by then. If a release lets all requests proceed together, they have one reshard gate.

    Attributes:
        group: index of their group in the network.
        first: index of the open gate among the stations; the reshard gates follow.
        count: number of reshard gates.
        poll_s, poll_limit: as in `Station`.
        columns: placement table and column of the open gate, with the reshard gates in the columns after it, if keys
            belong to several buckets; None: all keys belong to one bucket.
    """

    group: int
    first: int
    count: int
    poll_s: float
    poll_limit: int
    columns: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        settings: Resharding,
        release: Release,
        *,
        group: int,
        first: int,
        writers: int,
        columns: tuple[int, int] | None = None,
    ) -> Gates:
        """Return the gates for at most `writers` writers that are blocked together."""
        return cls(group, first, writers if one_by_one(release) else 1, settings.poll, settings.poll_limit, columns)

    def stations(self, bucket: int) -> tuple[Station, ...]:
        """Return the open gate and the reshard gates of a bucket; their numbers in the network start at `first`."""
        name = f"bucket {bucket} index"
        open_gate = Station(f"{name} passage", "reshard", Discipline.GATE, indices=(bucket, 0))
        return open_gate, *(
            Station(
                f"{name} gate {k}", "reshard", Discipline.GATE, indices=(bucket, k), poll_s=self.poll_s,
                poll_limit=self.poll_limit,
            )
            for k in range(1, self.count + 1)
        )  # fmt: skip

    def choice(self) -> Group:
        """Return the group, which is the same for all buckets of a placement table."""
        table, first = self.columns or (None, self.first)
        members = np.arange(first, first + self.count + 1, dtype=np.int32)[:, None]
        return Group(Choice.LEAST_OUTSTANDING, members, table, "reshard gates")

    def passage(self) -> Step:
        """Return the gate before an index write, which then goes to its shard."""
        return check(Bound(self.group))

    def scenario(self, events: Iterable[Reshard], zero_s: float = 0.0) -> tuple[Action, ...]:
        """Return the actions on the gates.

        Args:
            events: reshards of this bucket, in order of their start; those that end before time 0 are left out.
            zero_s: the run's time 0 on the clock of the events.
        """
        gates = range(1, self.count + 1)
        actions = [self._member(ActionKind.LEAVE, k, 0.0) for k in gates]
        for event in events:
            shut_s, open_s = max(event.blocked_from_s - zero_s, 0.0), event.end_s - zero_s
            if open_s <= 0:
                continue
            actions += [Action(ActionKind.SHUT, self.first + k, shut_s) for k in gates]
            actions += [self._member(ActionKind.JOIN, k, shut_s) for k in gates]
            actions.append(self._member(ActionKind.LEAVE, 0, shut_s))
            actions.append(self._member(ActionKind.JOIN, 0, open_s))
            actions += [self._member(ActionKind.LEAVE, k, open_s) for k in gates]
            actions += [Action(ActionKind.OPEN, self.first + k, open_s + (k - 1) * self.poll_s) for k in gates]
        return tuple(actions)

    def _member(self, kind: ActionKind, k: int, at_s: float) -> Action:
        """Return the action of a member: a row of the group, or with `columns` a station."""
        return Action(kind, self.group, at_s, member=k if self.columns is None else self.first + k)
