"""Stages faults at their times during a replay, and ends them with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from traces.errors import InputError
from validate.lab import staging
from validate.lab.faults import LabFault
from validate.lab.registry import kind_of
from validate.lab.staging import Staged
from validate.lab.store import Progress, Store

_READY_WITHIN_S = 60.0
_POLL_S = 0.2


class FaultSchedule:
    """Faults of a replay; those that are in force when it ends are ended then.

    Attributes:
        problems: what could not be staged or ended, a sentence each.

    Raises:
        InputError: a fault cannot be staged on the store.
    """

    def __init__(self, store: Store, faults: Sequence[LabFault]):
        for fault in faults:
            staging.check(store, fault)
        self._store, self._faults = store, faults
        self.problems: list[str] = []
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def staged(self) -> bool:
        """Whether the schedule has faults."""
        return bool(self._faults)

    def begin(self, zero_s: float) -> None:
        """Begin with the loop, whose start is `zero_s` by `time.perf_counter`."""
        for action in _actions(self._store, self._faults):  # a thread each, as a server's return takes its time
            at_s = zero_s + action.at_s
            self._threads.append(threading.Thread(target=self._run, args=(at_s, action.act), daemon=True))
            self._threads[-1].start()

    def end(self) -> None:
        """End all faults of the schedule that are in force; wait until the store can be used again."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        if not self._threads:
            return
        self._threads = []
        self._attempt(partial(staging.end, self._store, self._is_own))
        kind, limit_s = kind_of(self._store.name), time.monotonic() + _READY_WITHIN_S
        while not staging.in_force(self._store) and time.monotonic() < limit_s:  # others may have staged faults, too
            if kind.unready(self._store) is None:
                return
            time.sleep(_POLL_S)

    def facts(self, zero_at: float, end_at: float) -> dict[str, object]:
        """Return the faults in force between two times (s since 1970), whoever staged them, from the first on.

        Returns:
            `lab_faults`: as they were staged; `faults`: as events of the section `faults` of a spec;
            `unmodelled_faults`: those that the store's model does not have, if any.
        """
        of_spec = kind_of(self._store.name).fault_event
        staged, events, unknown = [], [], []
        for one in staging.journal(self._store):
            if one.began_at < end_at and (one.ended_at is None or one.ended_at > zero_at):
                at_s, until_s = _within(one, zero_at, end_at)
                staged.append({"fault": one.fault.what, "at": at_s, "until": until_s})
                event = of_spec(self._store, one.fault, at_s, until_s) if of_spec is not None else None
                events += [event] if event is not None else []
                unknown += [one.fault.what] if event is None else []
        if not staged:
            return {}
        return {"lab_faults": staged, "faults": events} | ({"unmodelled_faults": unknown} if unknown else {})

    def _run(self, at_s: float, act: Callable[[], object]) -> None:
        if not self._stopped.wait(max(0.0, at_s - time.perf_counter())):
            self._attempt(act)

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except (InputError, OSError) as error:
            self.problems.append(str(error))

    def _is_own(self, fault: LabFault) -> bool:
        return fault in self._faults


class _Action(NamedTuple):
    """The beginning or the end of a fault, in s from the start."""

    at_s: float
    text: str
    act: Callable[[], object]


def _actions(store: Store, faults: Sequence[LabFault]) -> list[_Action]:
    """Return what is to be done, in order; faults without a duration are not ended."""
    actions = []
    for fault in faults:
        actions.append(_Action(fault.at_s, f"begun: {fault.what}", partial(staging.begin, store, fault)))
        if fault.for_s is not None:
            over = partial(staging.end, store, fault.__eq__)
            actions.append(_Action(fault.at_s + fault.for_s, f"ended: {fault.what}", over))
    return sorted(actions, key=lambda action: action.at_s)


def stage(store: Store, faults: Sequence[LabFault], progress: Progress) -> None:
    """Stage faults by their times from now on, and wait for their ends; those without a duration stay in force.

    An interrupt ends those with a duration at once.

    Args:
        progress: called with a line for each beginning and end.

    Raises:
        InputError: one cannot be staged, or its part does not respond.
    """
    for fault in faults:
        staging.check(store, fault)
    start_s = time.monotonic()
    try:
        for action in _actions(store, faults):
            time.sleep(max(0.0, start_s + action.at_s - time.monotonic()))
            action.act()
            progress(action.text)
    finally:
        staging.end(store, lambda other: other.for_s is not None and other in faults)


def _within(staged: Staged, zero_at: float, end_at: float) -> tuple[float, float | None]:
    """Return the times of a fault from the start of a Run; no end if it lasted longer."""
    over = staged.ended_at is not None and staged.ended_at < end_at
    return max(0.0, staged.began_at - zero_at), (staged.ended_at or 0.0) - zero_at if over else None
