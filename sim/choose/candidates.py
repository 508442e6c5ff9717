"""The candidates: for each store the first of its settings that keeps the promise, as a spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.basis.described import DescribedSpec
from models.capabilities import Evidence
from models.durability.durability import Durability
from models.durability.kept import Kept, kept
from models.durability.promise import Promise
from models.site.known import Known, given, plain, with_ranges
from models.site.options import Hardware, Option
from models.site.setup import Site
from models.store import Store, names, store_named
from sim.choose.hardware import HardwareFile
from sim.json_form import to_json
from traces.errors import InputError
from traces.spec.spec_file import override, replaced
from traces.spec.suggestions import instead

_FULL = 0.95  # of a drive, for a store whose model does not say when it is full (assumed)


@dataclass(frozen=True)
class Candidate:
    """A store with settings.

    Attributes:
        store: its name.
        option: the settings.
        described: its spec.
        kept: what it keeps.
        usable_bytes: bytes of objects that it holds when it is full.
        evidence: what its forecasts have been compared with; None: nothing.
    """

    store: str
    option: Option
    described: DescribedSpec
    kept: Kept
    usable_bytes: float
    evidence: Evidence | None

    def to_json(self) -> Mapping[str, Any]:
        """Return JSON values, with the spec as it would be in a file."""
        return {
            "store": self.store,
            "settings": self.option.text,
            "spec": to_json(self.described.whole),
            "kept": to_json(self.kept),
            "usable_bytes": self.usable_bytes,
            "evidence": to_json(self.evidence),
        }


@dataclass(frozen=True)
class Excluded:
    """A store without settings that will do.

    Attributes:
        store: its name.
        reason: why not.
    """

    store: str
    reason: str


@dataclass(frozen=True)
class Wanted:
    """What candidates are for.

    Attributes:
        file: hardware, workload, promise.
        promise: that all must keep.
        workload: of the file, as it is written.
        requests: of each simulation.
        pins: ``path=value`` by store, which hold in all of its specs.
    """

    file: HardwareFile
    promise: Promise
    workload: Mapping[str, Any]
    requests: int
    pins: Mapping[str, tuple[str, ...]]


def stores_to_compare(excluded: Sequence[str]) -> list[str]:
    """Return the stores that say which settings they have for some hardware, without some.

    Raises:
        InputError: there is no such store, or none is left.
    """
    known = [name for name in names() if (setup := store_named(name).setup) is not None and setup.options is not None]
    for name in excluded:
        if name not in known:
            raise InputError(f"exclude: {name!r} is no store that can be chosen; {instead(name, known)}")
    left = [name for name in known if name not in excluded]
    if not left:
        raise InputError("exclude: no store is left to choose from")
    return left


def candidate_of(name: str, wanted: Wanted, hosts: int | None = None) -> Candidate | Excluded:
    """Return a store with the first settings that keep the promise and hold all objects.

    Args:
        name: of the store, one of `stores_to_compare`.
        wanted: what it is for.
        hosts: number of hosts instead of that of the file.

    Raises:
        InputError: a pin is not possible with any settings.
    """
    store, hardware = store_named(name), wanted.file.hardware(hosts)
    assert store.setup is not None
    assert store.setup.options is not None
    assert store.durability is not None
    refused: list[str] = []
    reason = "there are no settings for this hardware"
    try:
        options = list(store.setup.options(hardware))
    except InputError as error:
        return Excluded(name, error.messages[0])
    for number, option in enumerate(options):
        try:
            described = _described(store, option, wanted, hardware)
            durability = store.durability(described.spec)
        except InputError as error:
            refused += error.messages
            continue
        found = kept(durability, wanted.promise)
        usable = _usable_bytes(store, durability, wanted.file, hardware)
        if not found.breaches and usable >= wanted.file.stored_bytes:
            return Candidate(name, option, described, found, usable, store.evidence)
        if not number or not found.breaches:
            reason = found.breaches[0].text if found.breaches else f"{option.text} does not hold the objects"
    if refused and reason.startswith("there are"):
        if wanted.pins.get(name):
            raise InputError(f"pin {name}: {refused[0]}")
        reason = refused[0]
    return Excluded(name, reason)


def _usable_bytes(store: Store[Any], durability: Durability, file: HardwareFile, hardware: Hardware) -> float:
    full = _FULL if store.growth is None else store.growth.full_fraction
    return full * durability.usable_fraction * file.drives.bytes_each * hardware.total_drives


def _described(store: Store[Any], option: Option, wanted: Wanted, hardware: Hardware) -> DescribedSpec:
    """Return the spec of an option.

    Raises:
        InputError: the store's model refuses it.
    """
    setup, file = store.setup, wanted.file
    assert setup is not None
    rate = file.workload.rate
    facts: Mapping[str, Any] = {
        "hosts": hardware.hosts,
        "drives": hardware.drives,
        "drive": file.drives.preset,
        "drive.capacity": f"{file.drives.bytes_each}B",
        "nic": file.hosts.nic,
        "cores": hardware.cores,
        "core-speed": file.hosts.core_speed,
        "latency": file.latency,
        "objects": file.stored.objects,
        "stored-size": f"{round(file.object_bytes)}B",
        "size": f"{round(file.object_bytes)}B",
        "rate": f"{rate}/s",
        "mix": dict(file.workload.mix),
        "keys": 1000,
        **option.facts,
    }
    known = {name: given(value) for name, value in facts.items()}
    if missing := setup.missing(known):
        raise InputError(f"{store.name}: is not told {', '.join(question.name for question in missing)}")
    tree = with_ranges({"store": Known(store.name, "given"), **setup.draft(Site(setup.questions, known))})
    data = dict(plain(tree))
    buckets = data["workload"].get("buckets")
    data["workload"] = {**({} if buckets is None else {"buckets": buckets}), **wanted.workload}
    data["workload"] |= {"operations": wanted.requests}
    data["workload"].pop("duration", None)
    data = override(replaced(data, option.sets), wanted.pins.get(store.name, ()))
    return DescribedSpec.of(data, f"{store.name} with {option.text}")
