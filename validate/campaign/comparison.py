"""A comparison of stores: campaigns with the same loads, of which each store or promise is an entry."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from traces.errors import InputError
from traces.spec.spec_file import load_mapping, validated
from traces.workload.distributions import Strict
from validate.campaign.campaign import Campaign, Values, campaign_of
from validate.campaign.cells import Cell, cells_of, chosen

Promise = Literal["synced", "unsynced"]


class EntryFields(Strict):
    """A store of a comparison: the fields of a campaign, besides those that all have in common."""

    promise: Promise = Field(
        "synced", description="Whether acknowledged writes are on drives, or only in the memory of servers."
    )
    about: str = Field("", description="What keeps this promise, in a few words.")
    like: str = Field("", description="Entry before it, whose campaign it takes.")
    fitted_to: str = Field(
        "", description="Entry to whose loads values are fitted; default: that of `like`, or itself."
    )
    loads: tuple[str, ...] = Field((), description="Loads by patterns of their names; default: all.")
    campaign: Values = Field({}, description="Fields of its campaign; `set` is added to that of `like`.")


class Cause(Strict):
    """Why predictions of some loads are off."""

    entries: tuple[str, ...] = Field(min_length=1, description="Entries, by patterns of their names.")
    loads: tuple[str, ...] = Field(min_length=1, description="Loads, by patterns of their names.")
    suspected: bool = Field(True, description="Whether the cause is only suspected.")
    text: str = Field(min_length=1, description="The cause, in a few words.")

    def is_of(self, entry: str, load: str) -> bool:
        """Return whether it is one of a load of an entry."""
        return all(
            any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            for name, patterns in ((entry, self.entries), (load, self.loads))
        )


class ComparisonFile(Strict):
    """A comparison as it is written."""

    common: Values = Field(description="Fields of the campaigns of all stores: drives, links, workload, loads.")
    sample: tuple[str, ...] = Field(min_length=1, description="Loads of a short comparison, by patterns of names.")
    entries: dict[str, EntryFields] = Field(min_length=1, description="Stores by name.")
    causes: tuple[Cause, ...] = Field((), description="Why predictions of some loads are off.")


@dataclass(frozen=True)
class Entry:
    """A store of a comparison.

    Attributes:
        name: its name, which is that of the folder of its Runs.
        promise: whether acknowledged writes are on drives.
        about: what keeps the promise.
        of: store of the lab.
        cells: its loads by name, those of `names` being measured.
        fitted_to: entry to whose loads values of the spec are fitted.
    """

    name: str
    promise: Promise
    about: str
    of: str
    campaign: Campaign
    cells: Mapping[str, Cell]
    names: tuple[str, ...]
    fitted_to: str


@dataclass(frozen=True)
class Comparison:
    """A comparison, its entries by name, and the patterns of the loads of a short one.

    Attributes:
        causes: why predictions of some loads are off.
    """

    entries: Mapping[str, Entry]
    sample: tuple[str, ...]
    causes: tuple[Cause, ...] = ()


def read_comparison(path: Path) -> Comparison:
    """Read a comparison; files that it names are found from its folder.

    Raises:
        InputError: a value is missing or wrong, an entry is like another one that is not before it, or a pattern
            matches no load, or a cause is of none.
    """
    file = validated(ComparisonFile, load_mapping(path), str(path))
    fields: dict[str, Values] = {}
    entries: dict[str, Entry] = {}
    for name, entry in file.entries.items():
        if entry.like and entry.like not in entries:
            raise InputError(f"{path}: entries: {name}: like: no entry before it is {entry.like!r}")
        base = fields[entry.like] if entry.like else file.common
        fields[name] = {**base, **entry.campaign, "set": _both(base, entry.campaign, "set")}
        campaign = campaign_of(fields[name], path, f"entries: {name}")
        cells = cells_of(campaign)
        names = tuple(chosen(list(cells), entry.loads))
        fitted_to = entry.fitted_to or (entries[entry.like].fitted_to if entry.like else name)
        about = entry.about or (entries[entry.like].about if entry.like else "")
        entries[name] = Entry(name, entry.promise, about, campaign.file.store, campaign, cells, names, fitted_to)
    for name, one in entries.items():
        if one.fitted_to not in entries:
            raise InputError(f"{path}: entries: {name}: fitted_to: there is no entry {one.fitted_to!r}")
    for pattern in file.sample:
        chosen([name for entry in entries.values() for name in entry.names], [pattern])
    for number, cause in enumerate(file.causes):
        if not any(cause.is_of(name, load) for name, entry in entries.items() for load in entry.names):
            raise InputError(f"{path}: causes.{number}: no load of an entry has such names")
    return Comparison(entries, file.sample, file.causes)


def sampled(entry: Entry, patterns: Sequence[str]) -> list[str]:
    """Return the loads of an entry whose names match one of the patterns; all without patterns."""
    return [name for name in entry.names if not patterns or any(fnmatch.fnmatchcase(name, each) for each in patterns)]


def _both(first: Values, second: Values, name: str) -> object:
    """Return the values of a section in both; if one is no mapping, the check of the campaign says so."""
    found = [fields[name] for fields in (first, second) if name in fields]
    if len(found) == 2 and isinstance(found[0], dict) and isinstance(found[1], dict):
        return found[0] | found[1]
    return found[-1] if found else {}
