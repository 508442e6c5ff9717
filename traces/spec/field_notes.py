"""What is known of a field beyond its type and description; `Annotated` metadata on the field itself.

nic: Annotated[BytesPerSecond, Basis("25GbE; assumed", 1.25e8, 5e10)] = Field(3.125e9, gt=0, description="...")
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel

Note = TypeVar("Note")


@dataclass(frozen=True)
class Unit:
    """The unit of a quantity, and how a spec writes it.

    Attributes:
        symbol: unit of a bare number; empty: a plain number.
        example: a value as a spec may write it.
    """

    symbol: str
    example: str


@dataclass(frozen=True)
class Basis:
    """What the default of a field rests on, and which values real stores have.

    Attributes:
        source: a publication, a measurement, the store's own default with its file, or "assumed" with the reason.
        low, high: the least and greatest value that real stores have, in the field's unit; None: not known. A spec may
            have values outside, but they are implausible.
    """

    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class LinkRate:
    """Marks the bandwidth of a link, which Ethernet has in steps of Gbit/s, such as 25; 25 GB/s is rarely meant."""


@dataclass(frozen=True)
class FittedAt:
    """The range of a quantity in the data that the default of a field was fitted to; it is not known outside.

    Attributes:
        quantity: name of the quantity in `Store.conditions`.
        low, high: its least and greatest value in the data.
    """

    quantity: str
    low: float
    high: float


def note_of(model: type[BaseModel], name: str, kind: type[Note]) -> Note | None:
    """Return the note of a kind on a field; None if it has none, or there is no such field.

    A note on the type of an optional field, such as ``Bytes | None``, counts as one of the field.
    """
    field = model.model_fields.get(name)
    if field is None:
        return None
    return next((n for n in [*field.metadata, *_within(field.annotation)] if isinstance(n, kind)), None)


def _within(annotation: Any) -> list[Any]:
    """Return the notes within a union."""
    if get_origin(annotation) is None:
        return []
    own = list(getattr(annotation, "__metadata__", ()))
    return own or [note for member in get_args(annotation) for note in _within(member)]
