"""The single loads of a campaign, and their requests."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from models.shared.client_policy import ClientPolicies
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.spec_file import replaced, validated
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.campaign.campaign import Campaign, Load, Values
from validate.lab.fault_text import parse_lab_fault
from validate.lab.faults import LabFault
from validate.lab.store import Form


@dataclass(frozen=True)
class Cell:
    """A single load.

    Attributes:
        name: its name, which is that of its folder.
        load: its values.
        form: hosts and drives of its store.
        options: of its store.
        policies: of its clients.
        faults: with their times.
        workload: fields of its workload; without a rate if that is a fraction of another load's throughput.
    """

    name: str
    load: Load
    form: Form
    options: tuple[tuple[str, str], ...]
    policies: ClientPolicies
    faults: tuple[LabFault, ...]
    workload: Values

    @property
    def is_disturbed(self) -> bool:
        """Whether something happens to its store, which has a box of its own therefore."""
        return bool(self.faults or self.load.reshard)

    def faults_of(self, size: float) -> list[LabFault]:
        """Return the faults with a fraction of their times."""
        return [
            replace(one, at_s=size * one.at_s, for_s=None if one.for_s is None else size * one.for_s)
            for one in self.faults
        ]

    def check(self, rate_ops: float | None = None) -> None:
        """Check that there are requests; those of a closed loop, of which a duration has many, are not all made.

        Raises:
            InputError: a value of the workload is wrong.
        """
        workload = self._checked(rate_ops)
        few = {"duration": 1e-3, "operations": None} if workload.rate else {"duration": None, "operations": 1}
        generate(workload if workload.groups else workload.model_copy(update=few), 0)

    def _checked(self, rate_ops: float | None) -> Workload:
        fields = self.workload if rate_ops is None else {**self.workload, "rate": rate_ops}
        return validated(Workload, fields, self.name, "workload")

    def trace(self, seed: int, rate_ops: float | None = None, size: float = 1.0) -> Trace:
        """Return the requests; each PUT writes an object of its own, so that no GET waits for one.

        Args:
            seed: of the workload's random numbers.
            rate_ops: rate of an open loop that is a fraction of another load's throughput.
            size: fraction of the duration, or of the number of requests.
        """
        workload = self._checked(rate_ops)
        if workload.duration is not None:
            workload = workload.model_copy(update={"duration": size * workload.duration})
        elif workload.operations is not None:
            workload = workload.model_copy(update={"operations": max(1, round(size * workload.operations))})
        trace = generate(workload, seed)
        puts = trace.op == OPS.index("PUT")
        written = pa.array([f"written-{number:06d}" for number in range(np.count_nonzero(puts))], pa.string())
        names = trace.table.column("key").combine_chunks().cast(pa.string())
        return trace.with_keys(pc.replace_with_mask(names, puts, written).dictionary_encode())


def cells_of(campaign: Campaign) -> dict[str, Cell]:
    """Return the loads of a campaign by name, in their order.

    Raises:
        InputError: two have the same name, one needs another that does not exist, or a value is wrong.
    """
    found: dict[str, Cell] = {}
    for load in campaign.file.loads:
        for cell in _cells(campaign, load):
            if cell.name in found:
                raise InputError(f"{campaign.path}: loads: {cell.name} is given twice")
            found[cell.name] = cell
    for pattern in campaign.file.set_for:
        if not fnmatch.filter(list(found), pattern):
            raise InputError(f"{campaign.path}: set_for: no load has a name like {pattern!r}")
    named = [(cell.load.of, f"loads: {cell.name}: of") for cell in found.values() if cell.load.of]
    named += [(fit.load, f"fit: {path}: load") for path, fit in campaign.file.fit.items()]
    for name, where in named:
        if name not in found:
            raise InputError(f"{campaign.path}: {where}: there is no load {name!r}")
    return found


def _cells(campaign: Campaign, load: Load) -> Iterator[Cell]:
    """Yield the loads of all combinations of the varied values."""
    source = f"{campaign.path}: loads: {load.name}"
    data = load.model_dump(exclude_unset=True)
    data.pop("vary", None)
    for values in itertools.product(*load.vary.values()):
        chosen = dict(zip(load.vary, values, strict=True))
        words = {path.rpartition(".")[2]: value for path, value in chosen.items()}
        texts = {}
        for field in ("name", "of"):
            try:
                texts[field] = getattr(load, field).format(**words)
            except (KeyError, IndexError, ValueError) as error:
                raise InputError(f"{source}: {field} has a place for {error}, which vary does not have") from error
        one = validated(Load, replaced(data, chosen) | texts, source)
        yield _cell(campaign, one, source)


def _cell(campaign: Campaign, load: Load, source: str) -> Cell:
    if (load.fraction is None) != (not load.of):
        raise InputError(f"{source}: of and fraction are needed together")
    if {"/", "\0"} & set(load.name) or load.name in (".", ".."):
        raise InputError(f"{source}: name {load.name!r} is no name of a folder")
    for pattern, values in campaign.file.set_for.items():
        if fnmatch.fnmatchcase(load.name, pattern):
            load = load.model_copy(update={"set": {**values, **load.set}})
    form = load.form.of(campaign.form)
    options = campaign.file.options | load.options
    policies = validated(ClientPolicies, load.client, source, "client")
    faults = tuple(parse_lab_fault(text) for text in load.faults)
    workload = _merged(campaign.file.workload, load.workload)
    if load.fraction is not None and (given := sorted({"clients", "rate"} & workload.keys())):
        raise InputError(f"{source}: fraction gives the rate of an open loop; workload.{given[0]} is not allowed")
    cell = Cell(load.name, load, form, tuple(options.items()), policies, faults, workload)
    cell.check(1.0 if load.fraction is not None else None)
    return cell


def _merged(first: Values, second: Values) -> Values:
    """Return the fields of both; clients and a rate exclude each other, and the second one's count."""
    other = {"clients": "rate", "rate": "clients"}
    dropped = {other[name] for name in second if name in other}
    return {name: value for name, value in first.items() if name not in dropped} | second


def chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match one of the patterns; all if there are none.

    Raises:
        InputError: a pattern matches none.
    """
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise InputError(f"load {pattern!r}: matches none of {', '.join(names[:4])}{', …' * (len(names) > 4)}")
    return [name for name in names if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)]
