from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from traces.spec.field_notes import Basis, Unit, note_of
from traces.spec.units import Bytes, Seconds


class _Drive(BaseModel):
    seek: Annotated[Seconds, Basis("assumed", 1e-3, 2e-2)] = 8e-3
    cache: Annotated[Bytes, Field(gt=0)] | None = None
    name: str = ""


def test_notes_are_found_on_a_field_and_within_an_optional_type() -> None:
    assert note_of(_Drive, "seek", Basis) == Basis("assumed", 1e-3, 2e-2)
    assert note_of(_Drive, "seek", Unit) == Unit("s", "5ms")
    assert note_of(_Drive, "cache", Unit) == Unit("B", "64KiB")


def test_a_field_without_a_note_has_none() -> None:
    assert note_of(_Drive, "name", Unit) is None
    assert note_of(_Drive, "cache", Basis) is None
    assert note_of(_Drive, "absent", Basis) is None
