"""The section `promise` of a spec: what must survive, how soon it is whole again, and when a write is acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator

from traces.spec.field_notes import Basis
from traces.spec.units import Fraction, Seconds
from traces.workload.distributions import Strict

Event = Literal["drive", "host", "rack", "host_power", "power"]
EVENTS: tuple[Event, ...] = get_args(Event)

_AFR = "assumed: 1.57 % of hard disks (Backblaze, Drive Stats for 2024), 0.98 % of flash (its SSD report for 2022)"


class Promise(Strict):
    """What a store must keep."""

    survives: tuple[Event, ...] = Field(
        ("drive", "host", "power"),
        description="Events that no acknowledged object may be lost to: loss of one drive, one host with its drives, "
        "or one rack (`drive`, `host`, `rack`); loss of power of one host, or of all at once (`host_power`, `power`), "
        "after which all drives are there again.",
    )
    acknowledged: Literal["synced", "written"] = Field(
        "synced",
        description="Time at which a write may be acknowledged. synced: when its object survives all that, so that "
        "enough of its parts are on drives; written: before, so that only older objects have to survive.",
    )
    rebuild: Annotated[Seconds, Field(gt=0), Basis("no default: no limit", 60, 3e7)] | None = Field(
        None, description="Longest time from the failure of a drive until all objects have all their parts again."
    )
    annual_loss: Annotated[Fraction, Field(gt=0, le=1), Basis("no default: no limit", 1e-15, 0.1)] | None = Field(
        None, description="Greatest probability that data are lost within a year, by failures of drives."
    )
    annual_failures: Annotated[Fraction, Field(gt=0, lt=1), Basis(_AFR, 0.002, 0.14)] | None = Field(
        None,
        description="Fraction of the drives that fail within a year; absent: 1.57 % of hard disks, 0.98 % of flash.",
    )
    replaced_after: Annotated[Seconds, Basis("assumed: a day", 600, 2e6)] = Field(
        86400.0, description="Time until a failed drive is replaced, for which most stores wait before they rebuild."
    )

    def to_json(self) -> Mapping[str, Any]:
        """Return JSON values."""
        return self.model_dump(mode="json")

    @field_validator("survives")
    @classmethod
    def _once_each(cls, events: tuple[Event, ...]) -> tuple[Event, ...]:
        return tuple(event for event in EVENTS if event in events)
