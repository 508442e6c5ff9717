"""Tables of a spec's values with their origins, and of what a forecast rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from cli.quantities import quantity
from cli.tables.grid import Grid
from cli.words import number
from models.basis.assumptions import Assumption, assumptions, free_demands, presets_used
from models.basis.described import DescribedSpec
from models.capabilities import Doubt
from models.sdk.defaults import OF_SDK
from models.spec.origins import Origin
from models.spec.plausibility import Implausible
from sim.analysis.check import Check
from sim.analysis.overload import TooSlow


def origin_grids(origins: Sequence[Origin], shown: Iterable[str], everything: bool) -> list[Grid]:
    """Tables of values with origins, one for each section of the spec.

    Args:
        origins: of all values.
        shown: paths of defaults that are shown.
        everything: whether all defaults are shown.
    """
    listed = set(shown)
    rows = [
        each
        for each in origins
        if everything or each.kind != "default" or each.part_of in listed or each.source.startswith(OF_SDK)
    ]
    if not everything:
        rows = [each for each in rows if not _is_empty_part(each)]
    sections = [
        (name, [row for _, parts in groupby(members, lambda o: o.part_of) for row in _rows([*parts], everything)])
        for name, members in groupby(rows, lambda origin: origin.path.partition(".")[0])
    ]
    plain = [row for _, members in sections for row in members if "." not in row[0]]
    grids = [Grid(name, _COLUMNS, members, labels=3) for name, members in sections if "." in members[0][0]]
    return [Grid("", _COLUMNS, plain, labels=3), *grids] if plain else grids


_COLUMNS = ["field", "value", "origin"]


def _is_empty_part(origin: Origin) -> bool:
    """Whether a part of a demand or device is of no interest: it takes no time, or shapes a time that is none."""
    if origin.kind == "default":
        return origin.part_of != origin.path and not origin.value
    return origin.kind in ("preset", "derived") and origin.value in (None, 0, 0.0)


def _rows(parts: Sequence[Origin], everything: bool) -> list[list[str]]:
    """Rows of a demand or device, in one if it is as a whole from a preset."""
    first = parts[0]
    whole = {(each.kind, each.source) for each in parts}
    if not everything and len(parts) > 1 and len(whole) == 1 and first.kind in ("preset", "default"):
        return [[first.part_of, _summary(parts), origin_text(first)]]
    return [[each.path, quantity(each.value, each.unit), origin_text(each)] for each in parts]


def _summary(parts: Sequence[Origin]) -> str:
    """Describe a demand by its mean, or say that a device is as its preset says."""
    times = [each for each in parts if each.unit in ("s", "s/B") and each.value]
    if any(each.path.count(".") > each.part_of.count(".") + 1 and each.unit for each in parts):
        return "as in the preset"
    shape = next((str(each.value) for each in parts if each.path.endswith("distribution.kind")), "deterministic")
    mean = " + ".join(quantity(each.value, each.unit) for each in times) or "0 s"
    return mean if shape == "deterministic" else f"{mean}, {shape}"


def origin_text(origin: Origin) -> str:
    """Say where a value comes from."""
    source = origin.source.rstrip(".")
    match origin.kind:
        case "given":
            return "given"
        case "set":
            return origin.source
        case "profile":
            if origin.low is None or origin.high is None:
                return f"profile {source}"
            return f"profile {source}: {quantity(origin.low, origin.unit)} to {quantity(origin.high, origin.unit)}"
        case "preset":
            return f"preset {source}"
        case "derived":
            return f"derived from {source}" if source else "derived"
    if source.startswith(OF_SDK):
        return source
    return f"default: {source}" if source else "default"


def assumption_text(assumption: Assumption) -> str:
    """Return the values of an assumption."""
    return " + ".join(
        quantity(value, assumption.units[name]) if not name or assumption.units[name] in ("s", "s/B")
        else f"{name} {quantity(value, assumption.units[name])}"
        for name, value in assumption.values.items()
    )  # fmt: skip


def assumptions_grid(found: Sequence[Assumption]) -> Grid:
    """Table of assumed values with what each rests on."""
    rows = [[each.path, assumption_text(each), each.source or "not known"] for each in found]
    return Grid("Assumed (defaults that the forecast depends on)", ["field", "value", "source"], rows, labels=3)


def rests_on(read: DescribedSpec, main: str = "") -> list[str]:
    """Say how many values are assumed, the `main` ones, which presets are used, and what costs nothing."""
    count, free = len(assumptions(read.spec, read.origins)), free_demands(read.spec)
    presets = presets_used(read.spec, read.origins)
    parts = [f"{count} assumed value{'s' if count > 1 else ''}"] if count else []
    parts += [f"the preset{'s' if len(presets) > 1 else ''} {presets_text(presets)}"] if presets else []
    said = [f"rests on {' and '.join(parts)}{main}"] if parts else []
    return said + ([f"costs nothing: {', '.join(free)}"] if free else [])


def check_grids(result: Check) -> list[Grid]:
    """Tables of a check."""
    grids = []
    if result.assumptions:
        grids.append(assumptions_grid(result.assumptions))
    if result.presets:
        rows = [[name, f"{count}", result.measured_on[name]] for name, count in result.presets.items()]
        title = "From presets (figures of other hardware; see tailcast presets)"
        grids.append(Grid(title, ["preset", "values", "measured on"], rows))
    if result.free:
        grids.append(Grid("Costs nothing (0, although the operations use it)", ["field"], [[p] for p in result.free]))
    if result.has_warnings:
        grids.append(Grid("Warnings", ["warning"], [[text] for text in warning_lines(result)]))
    if survival := survival_lines(result):
        grids.append(Grid("Durability", ["what is lost when"], [[text] for text in survival]))
    if result.doubts:
        grids.append(Grid("Notes (probably not meant)", ["note"], [[doubt_text(doubt)] for doubt in result.doubts]))
    return grids


def warning_lines(result: Check) -> list[str]:
    """Return a sentence for each value that is implausible, each part that is too slow, and each broken promise."""
    broken = [
        f"{path and path + '.'}promise.{breach.clause}: {breach.text}"
        for path, each in result.kept.items()
        for breach in each.breaches
    ]
    return [*map(implausible_text, result.implausible), *map(too_slow_text, result.too_slow), *broken]


def survival_lines(result: Check) -> list[str]:
    """Return sentences on what objects do not survive, and on failures of drives, of each level of a spec."""
    return [
        f"{path}: {line}" if path else line
        for path, each in result.kept.items()
        for line in (*each.lines, each.figures)
        if line
    ]


def presets_text(presets: Mapping[str, str]) -> str:
    """Name presets, with what each was measured on if that matters."""
    return ", ".join(f"{name} (measured on {machine})" if machine else name for name, machine in presets.items())


def implausible_text(found: Implausible) -> str:
    """Say what is implausible about a value."""
    low, high = (None if limit is None else quantity(limit, found.unit) for limit in (found.low, found.high))
    limits = f"{low} to {high}" if low and high else f"at most {high}" if high else f"at least {low}"
    remark = f" ({found.remark})" if found.remark else ""
    meant = "" if found.meant is None else f"; did you mean {quantity(found.meant, found.unit)}?"
    return f"{found.path} is {quantity(found.value, found.unit)}; real stores have {limits}{remark}{meant}"


def doubt_text(doubt: Doubt) -> str:
    """Say what is probably not meant."""
    return f"{doubt.path}: {doubt.text}"


def too_slow_text(part: TooSlow) -> str:
    """Say by how much a part is too slow."""
    what = part.part if part.stations == 1 else f"{part.part} ({part.stations} together)"
    return f"{what} serves at most {number(part.max_ops)} op/s of {number(part.offered_ops)} op/s offered"
