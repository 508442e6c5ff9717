"""The reference engine, written to be read. `docs/engine.md` specifies the order of events.

`attempts.py` is its core: requests, attempts and stages. `disciplines.py` has the stations, `sources.py` the sources of
requests. The compiled engine implements the same specification.
"""

from __future__ import annotations

from collections.abc import Callable

import simpy

from models.network.scenario import ActionKind
from sim.engine.outcome import Outcome, Program, Taking
from sim.engine.reference.attempts import Attempts
from sim.engine.reference.results import Results
from sim.engine.reference.sources import BackgroundLoad, ClosedLoop, OpenLoop, Sheets
from sim.engine.reference.stations import Clock


class Engine:
    """One execution of a program."""

    def __init__(self, program: Program, progress: Callable[[int], None] | None = None):
        self.scenario, self.clock, self.results = program.network.scenario, Clock(), Results(program)
        self.attempts = Attempts(program, self.clock, self.results)
        before = 0
        self.sources: list[BackgroundLoad | OpenLoop | ClosedLoop] = []
        for sheet in program.background:
            self.sources.append(BackgroundLoad(program, sheet, before, self.attempts, self.clock))
            before += len(sheet)
        self.loop_of_client: list[ClosedLoop] = []
        self.attempts.client_is_free = self._is_free
        for draw, pacing in program.loops:
            sheets = Sheets(program, draw, self.attempts, progress)
            if pacing.loop == "open":
                self.sources.append(OpenLoop(sheets, self.clock))
            else:
                loop = ClosedLoop(sheets, self.clock, pacing, len(self.loop_of_client))
                self.loop_of_client += [loop] * pacing.clients
                self.sources.append(loop)

    def _is_free(self, client: int) -> None:
        if client >= 0:
            self.loop_of_client[client].is_free(client - self.loop_of_client[client].first)

    def run(self) -> Outcome:
        """Execute all requests."""
        for action in self.scenario:
            self.clock.at(action.at_s, self._apply_action, action)
        for source in self.sources:
            source.start()
        self.clock.run()
        self.attempts.count_idle()
        for server in self.attempts.servers:
            server.integrate(self.attempts.clock_s)
        return self.results.outcome(self.attempts.servers, self.attempts.clock_s)

    def _apply_action(self, event: simpy.Event) -> None:
        """Execute an action of the scenario."""
        action = event._value
        match action.kind:
            case ActionKind.SPEED:
                self.attempts.servers[action.target].set_speed(action.value)
            case ActionKind.DOWN | ActionKind.SHUT:
                if not self.attempts.servers[action.target].down:
                    self.attempts.servers[action.target].take_down()
            case ActionKind.UP | ActionKind.OPEN:
                if self.attempts.servers[action.target].down:
                    self.attempts.servers[action.target].bring_up()
            case ActionKind.JOIN | ActionKind.LEAVE:
                self.attempts.balancers[action.target].present[action.member] = action.kind is ActionKind.JOIN


def run(program: Program, progress: Callable[[int], None] | None = None, taking: Taking | None = None) -> Outcome:
    """Execute a program.

    Args:
        program: the network and its requests.
        progress: called with the number of requests begun.
        taking: called once with the results of all requests; None: they are in the outcome.

    Raises:
        InvariantError: the engine violated one of its invariants.
    """
    outcome = Engine(program, progress).run()
    outcome.check(program.network)
    return outcome if taking is None else outcome.taken_by(taking)
