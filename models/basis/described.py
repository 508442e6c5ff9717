"""A spec with what its values come from: its file, and what was written over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from models.basis.uncertainty import Uncertain, uncertain
from models.spec.origins import Origin, Written, origins_of
from models.store import Spec, spec_of
from traces.spec.spec_file import override


@dataclass(frozen=True)
class DescribedSpec:
    """A spec, and what its values come from.

    Attributes:
        data: the mapping of the spec file.
        source: name of the file.
        written: values written over it by a profile, a trace or overrides.
        whole: the mapping with these values.
        spec: the valid spec of that mapping.
    """

    data: Mapping[str, Any]
    source: str
    written: tuple[Written, ...]
    whole: Mapping[str, Any]
    spec: Spec

    @staticmethod
    def of(data: Mapping[str, Any], source: str = "spec") -> DescribedSpec:
        """Return the spec of a mapping that nothing was written over.

        Raises:
            InputError: a field is wrong.
        """
        return DescribedSpec(data, source, (), data, spec_of(data, source))

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the values of the spec."""
        return origins_of(self.spec, self.data, self.source, self.written)

    @property
    def uncertain(self) -> Uncertain:
        """The spec with its values that are not known; those of overrides are.

        Raises:
            InputError: a range in `assumed` does not fit its field.
        """
        known = [written.path for written in self.written if written.kind == "set"]
        return uncertain(self.spec, self.whole, self.source, self.origins, known)

    def check_assumed(self) -> None:
        """Refuse ranges in `assumed` that do not fit their fields or values.

        Raises:
            InputError: a range is wrong.
        """
        _ = self.uncertain

    def knowing(self, *paths: str) -> DescribedSpec:
        """Return the spec with values at some paths counted as known, because they are varied."""
        varied = tuple(Written(path, None, "set", "varied") for path in paths)
        return replace(self, written=(*self.written, *varied))

    def variant(self, whole: Mapping[str, Any], assignments: Sequence[str] = ()) -> DescribedSpec:
        """Return a variant of the spec.

        Args:
            whole: its mapping.
            assignments: ``path=value`` of its values that are known, as they are varied.

        Raises:
            InputError: the spec refuses a value.
        """
        varied = tuple(written_of(assignment, "varied") for assignment in assignments)
        return DescribedSpec(self.data, self.source, (*self.written, *varied), whole, spec_of(whole, self.source))


def written_of(assignment: str, source: str) -> Written:
    """Return the value of a valid ``PATH=VALUE``; `source`: what gives it."""
    path = assignment.partition("=")[0].strip()
    value: Any = override({}, [assignment])
    for name in path.split("."):
        value = value[name]
    return Written(path, value, "set", source)
