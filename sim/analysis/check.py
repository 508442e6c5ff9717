"""What is doubtful in a valid spec: assumed values, demands of 0, implausible values, and parts that are too slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models.basis.assumptions import Assumption, assumptions, free_demands, presets_used, require_demands
from models.basis.doubts import doubts
from models.basis.promises import kept_of
from models.capabilities import Doubt
from models.durability.kept import Kept
from models.spec.origins import Origin
from models.spec.plausibility import Implausible, implausible
from models.store import Spec, compile_spec
from sim.analysis.overload import TooSlow, sample_of, slow_parts
from traces.trace import Trace


@dataclass(frozen=True)
class Check:
    """What a forecast of a spec rests on, and what is doubtful.

    Attributes:
        assumptions: defaults that it depends on.
        presets: number of values from each preset.
        measured_on: of each preset, the machine of a measurement that may not hold for larger ones; empty: not limited.
        free: paths of demands that the operations visit and that take no time.
        implausible: values that no real store has.
        too_slow: parts that are slower than the workload needs.
        doubts: what is probably not meant.
        kept: what the objects of the spec, and of those below it, survive, by path.
    """

    assumptions: tuple[Assumption, ...]
    presets: dict[str, int]
    measured_on: dict[str, str]
    free: tuple[str, ...]
    implausible: tuple[Implausible, ...]
    too_slow: tuple[TooSlow, ...]
    doubts: tuple[Doubt, ...]
    kept: dict[str, Kept]

    @property
    def has_warnings(self) -> bool:
        """Whether a value is implausible, a part too slow, or a promise broken."""
        return bool(self.implausible or self.too_slow or any(each.breaches for each in self.kept.values()))


def check(
    spec: Spec, origins: Iterable[Origin], trace: Trace | None = None, data: Mapping[str, Any] | None = None
) -> Check:
    """Check a spec.

    Args:
        spec: a valid spec.
        origins: the origins of its values (`origins_of`).
        trace: its requests; None: they are generated from its workload.
        data: the mapping that the spec was made from; None: how its values are written is not checked.

    Raises:
        InputError: the spec lacks a demand, or cannot be modelled.
    """
    if trace is None:
        require_demands(spec)
    compile_spec(spec, sample_of(spec) if trace is None else trace)
    origins = tuple(origins)
    presets = Counter(origin.source for origin in origins if origin.kind == "preset")
    return Check(
        assumptions(spec, origins),
        dict(presets),
        presets_used(spec, origins),
        tuple(free_demands(spec)),
        implausible(spec),
        slow_parts(spec, trace),
        doubts(spec, data, origins, trace),
        kept_of(spec),
    )
