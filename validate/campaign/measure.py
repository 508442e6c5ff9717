"""Measures the loads of a campaign on stores of the lab; measurements that are there are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from traces.errors import InputError
from traces.run import Run
from validate.campaign.campaign import Campaign, Limits, Values
from validate.campaign.cells import Cell
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.registry import kind_of
from validate.lab.store import Progress, StagedFaults, Store
from validate.replay.plan import Options
from validate.replay.replay import replay

_TRIES = 3
_TIMEOUT_S = 120.0
_IN_FLIGHT = 1024


@dataclass(frozen=True)
class Window:
    """A measurement of a load.

    Attributes:
        repeat: number of the repetition, from 1.
        folder: that of its Run.
    """

    cell: Cell
    repeat: int
    folder: Path


def windows_of(cells: Sequence[Cell], repeats: int, out: Path) -> list[Window]:
    """Return all measurements: each load once, then each once more."""
    return [Window(cell, repeat, out / cell.name / str(repeat)) for repeat in range(1, repeats + 1) for cell in cells]


def measured(out: Path, name: str) -> list[Run]:
    """Return the Runs of a load, in the order of their repetitions."""
    folders = sorted((out / name).glob("[0-9]*"), key=lambda path: int(path.name))
    return [Run.read(folder) for folder in folders if (folder / "run.json").is_file()]


def measure(campaign: Campaign, windows: Sequence[Window], out: Path, size: float, progress: Progress) -> int:
    """Measure what is missing, and return how many measurements were left out because the machine was disturbed.

    Loads of one form and with the same options share a store, in which nothing was staged before.

    Args:
        size: fraction of the durations, and of the times of faults.
        progress: called with a line for each measurement.

    Raises:
        InputError: a store of the lab runs, which would be stopped; the store cannot be started; a fault cannot be
            staged; or a Run that is there was measured with another size or another load.
        KeyboardInterrupt: interrupted; the measurement that ran is not written.
    """
    missing = [window for window in windows if not _is_measured(campaign, window, size)]
    if missing and (other := lab.running()) is not None:
        raise InputError(
            f"{other.name} is up, and a campaign starts and stops stores: 'tailcast lab down' stops it first"
        )
    left_out = 0
    running: tuple[Any, Store] | None = None
    try:
        for number, window in enumerate(missing, start=1):
            key = None if window.cell.is_disturbed else (window.cell.form, window.cell.options)
            if running is not None and (key is None or running[0] != key):
                lab.down(campaign.file.store)
                running = None
            if running is None:
                running = key, _up(campaign, window, progress)
            text = _measured(campaign, window, lab.refreshed(running[1]), out, size)
            left_out += not (window.folder / "run.json").is_file()
            progress(f"[{number}/{len(missing)}] {window.cell.name}/{window.repeat}: {text}")
            if key is None:
                lab.down(campaign.file.store)
                running = None
    finally:
        if running is not None:
            lab.down(campaign.file.store)
    return left_out


def _is_measured(campaign: Campaign, window: Window, size: float) -> bool:
    """Return whether a Run is there.

    Raises:
        InputError: it was measured with another size, or its load has changed.
    """
    path = window.folder / "run.json"
    if not path.is_file():
        return False
    found, facts = json.loads(path.read_text()).get("campaign", {}), _facts(campaign, window, size)
    for name in (name for name in facts if name in found and found[name] != facts[name]):
        raise InputError(f"{path}: {name} is {found[name]!r}, not {facts[name]!r}; another folder keeps both")
    return True


def _facts(campaign: Campaign, window: Window, size: float) -> Values:
    """Return what a Run was measured by, as its info has it under ``campaign``."""
    cell = window.cell
    shape = None if campaign.shape is None else campaign.shape.model_dump(mode="json", exclude_unset=True)
    of = {"fraction": cell.load.fraction, "of": cell.load.of} if cell.load.of else {}
    reshard = None if cell.load.reshard is None else cell.load.reshard.model_dump(mode="json")
    told = {
        "load": cell.name, "repeat": window.repeat, "size": size, "workload": {**cell.workload, **of},
        "faults": list(cell.load.faults), "reshard": reshard, "client": cell.load.client, "form": cell.form._asdict(),
        "options": dict(cell.options), "shape": shape,
    }  # fmt: skip
    return dict(json.loads(json.dumps(told)))


def _up(campaign: Campaign, window: Window, progress: Progress) -> Store:
    cell = window.cell
    return lab.up(
        campaign.file.store, cell.form, progress, campaign.shape,
        seed=window.repeat if cell.is_disturbed else 0,
        options=dict(cell.options),
    )  # fmt: skip


def _measured(campaign: Campaign, window: Window, store: Store, out: Path, size: float) -> str:
    """Measure a load until it is undisturbed, write its Run, and return what to say of it."""
    cell, kind, tries = window.cell, kind_of(store.name), []
    rate_ops = _rate_ops(cell, out)
    if cell.load.of and rate_ops is None:
        return f"left out: the throughput of {cell.load.of} is not known"
    trace = cell.trace(window.repeat, rate_ops, size)
    options = Options(policies=cell.policies, max_in_flight=_IN_FLIGHT, timeout_s=_TIMEOUT_S, keep=campaign.file.keep)
    for _ in range(1 if cell.is_disturbed else _TRIES):
        if kind.discard is not None:
            kind.discard(store)
        schedule = _schedule(cell, store, size)
        settle = partial(kind.settle, store) if kind.settle is not None else lambda: None
        run = replay(trace, store.target, options, faults=schedule, settle=settle)
        if run.info["aborted"]:
            raise KeyboardInterrupt
        cpu = run.info["cpu"]
        if broken := _broken(campaign.file.limits, cpu):
            tries.append(broken)
            continue
        if store.box is not None:
            run = with_accesses(store.box, run)
        facts = _facts(campaign, window, size) | {"discarded": tries}
        if kind.placement is not None and campaign.file.keep and not cell.is_disturbed:
            facts["placement"] = kind.placement.recorded(store, trace)
        window.folder.parent.mkdir(parents=True, exist_ok=True)
        replace(run, info=run.info | {"campaign": facts}).write(window.folder)
        problems = "".join(f"; {problem}" for problem in schedule.problems)
        return (
            f"{len(run)} requests, {int(run.failed.sum())} errors, CPU busy {cpu['busy_share']:.0%}, "
            f"others {cpu['other_share']:.0%}{problems}"
        )
    return f"left out: discarded {len(tries)} times ({'; '.join(tries)})"


def _schedule(cell: Cell, store: Store, size: float) -> StagedFaults:
    reshard, kind = cell.load.reshard, kind_of(store.name)
    if reshard is None:
        return FaultSchedule(store, cell.faults_of(size))
    if kind.reshard is None:
        raise InputError(f"loads: {cell.name}: reshard: {kind.title} has no index shards")
    return kind.reshard(store, size * reshard.at, reshard.shards)


def _rate_ops(cell: Cell, out: Path) -> float | None:
    """Return the rate of a load that is a fraction of another one's throughput; None if it is not known."""
    if cell.load.fraction is None or not (runs := measured(out, cell.load.of)):
        return None
    return cell.load.fraction * float((~runs[0].failed).sum()) / runs[0].duration_s


def _broken(limits: Limits, cpu: Mapping[str, Any]) -> str:
    """Return which limits the CPU time of a Run exceeds; empty if none."""
    used_by = {"others": (cpu["other_share"], limits.other), "hypervisor": (cpu["steal_share"], limits.steal)}
    return ", ".join(f"{name} {used:.0%}" for name, (used, most) in used_by.items() if used is not None and used > most)
