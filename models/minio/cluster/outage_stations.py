"""Stations for parts that fail: where requests wait for timeouts or for parts to be back, or are refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

from models.minio.cluster.epochs import Epoch, Hang
from models.minio.cluster.stations import Stations
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Station

WAITS = ("lock", "read", "call", "back", "call end")
"""What a request meets that waits for a part that hangs: three timeouts, and two gates that end them."""

_AT_ONCE = 1e12
"""Speed of a timeout that is not in force."""


class OutageStations:
    """Adds the stations.

    Attributes:
        waits: those of each hang, in the order of `WAITS`.
        refuses: where requests are refused, if any part fails.
        responses: of each host: where its responses are sent, which fails with the host.
        connect_s: connect timeout of clients, 0 if no host refuses connections by silence.
        scenario: the actions on them.
    """

    def __init__(self, stations: Stations, epochs: Sequence[Epoch], hangs: Sequence[Hang], fails: bool):
        """`fails`: whether any part fails."""
        self._stations, self._hangs = stations, hangs
        self.scenario: list[Action] = []
        self.waits = [self._waits_of(number, hang) for number, hang in enumerate(hangs)]
        self.refuses = self._refusal() if fails else stations.nowhere
        self.connect_s = max((hang.connect_s or 0.0 for hang in hangs), default=0.0)
        self._connecting = self._infinite("connect timeout") if self.connect_s else stations.nowhere
        self.responses = self._responding(epochs)

    def entry(self, host: int, epoch: Epoch) -> int:
        """Return what a request meets on its way to a host: nothing, a refusal, or silence until the host is back."""
        if host not in epoch.hosts:
            return self._stations.nowhere
        for hang, waits in zip(self._hangs, self.waits, strict=True):
            if host in epoch.silent and hang.host == host and hang.connect_s is None and hang.back_s < math.inf:
                return waits[WAITS.index("back")]
        return self.refuses

    def connect(self, host: int, epoch: Epoch) -> int:
        """Return where a client waits that connects to a host: for a timeout if the host is silent."""
        waits = host in epoch.silent and any(hang.host == host and hang.connect_s for hang in self._hangs)
        return self._connecting if waits else self._stations.nowhere

    def _waits_of(self, number: int, hang: Hang) -> list[int]:
        lock = self._timeout(number, "lock", hang.at_s, hang.gone_s) if hang.lock_s else self._stations.nowhere
        read = self._timeout(number, "read", hang.at_s, hang.reads_until_s)
        call = self._timeout(number, "call", hang.at_s, hang.gone_s)
        back = self._gate(number, "is back", hang.at_s, hang.back_s)
        same = hang.calls_end_s == hang.back_s
        return [lock, read, call, back, back if same else self._gate(number, "is found", hang.at_s, hang.calls_end_s)]

    def _timeout(self, outage: int, of: str, from_s: float, until_s: float) -> int:
        """Add a station at which visits last as long as they ask for only within a period."""
        station = self._add(f"outage {outage} {of}", "timeout", Discipline.INFINITE_SERVER, outage, of)
        self.scenario.append(Action(ActionKind.SPEED, station, value=_AT_ONCE))
        self.scenario.append(Action(ActionKind.SPEED, station, from_s, value=1.0))
        if until_s < math.inf:
            self.scenario.append(Action(ActionKind.SPEED, station, until_s, value=_AT_ONCE))
        return station

    def _gate(self, outage: int, opens: str, shut_s: float, open_s: float) -> int:
        gate = self._add(f"outage {outage} {opens}", "part that hangs", Discipline.GATE, outage, opens)
        self.scenario.append(Action(ActionKind.SHUT, gate, shut_s))
        if open_s < math.inf:
            self.scenario.append(Action(ActionKind.OPEN, gate, open_s))
        return gate

    def _refusal(self) -> int:
        station = self._infinite("refused")
        self.scenario.append(Action(ActionKind.DOWN, station))
        return station

    def _responding(self, epochs: Sequence[Epoch]) -> list[int]:
        """Return where the responses of each host are sent: it fails with the host, and with it what is in progress."""
        responses = [self._stations.nowhere] * len(self._stations.cpu)
        for before, epoch in zip((Epoch(), *epochs), epochs, strict=False):
            for host in epoch.hosts - epoch.silent - before.hosts:
                if responses[host] == self._stations.nowhere:
                    name = f"host {host} response"
                    responses[host] = self._add(name, "response", Discipline.INFINITE_SERVER, host)
                self.scenario.append(Action(ActionKind.DOWN, responses[host], epoch.at_s))
            for host in before.hosts - before.silent - epoch.hosts:
                self.scenario.append(Action(ActionKind.UP, responses[host], epoch.at_s))
        return responses

    def _infinite(self, name: str) -> int:
        return self._add(name, name, Discipline.INFINITE_SERVER)

    def _add(self, name: str, role: str, discipline: Discipline, *indices: int | str) -> int:
        return self._stations.add(Station(name, role, discipline, indices=indices))
