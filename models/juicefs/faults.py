"""Faults of a JuiceFS: its metadata engine paused or slow, its mounts slow."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.shared.faults import Degradation, FaultKind, MountDown, Outage
from traces.spec.units import Fraction


class MetadataDown(Outage):
    """The metadata engine does not respond: operations wait until it is back, and fail if it does not come back."""

    kind: Literal["metadata_down"] = Field(description="Metadata engine paused or restarted: operations wait for it.")


class SlowMetadata(Degradation):
    """The metadata engine loses speed."""

    kind: Literal["slow_metadata"] = Field(description="Slow metadata engine: its server loses speed.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


class SlowMount(Degradation):
    """The cores of a mount or gateway lose speed."""

    kind: Literal["slow_mount"] = Field(description="Slow mount: the cores of a mount or gateway lose speed.")
    mount: int = Field(0, ge=0, description="Number of the mount or gateway, from 0.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


Fault = Annotated[MetadataDown | SlowMetadata | MountDown | SlowMount, Field(discriminator="kind")]
"""An entry of the section `faults`."""

FAULTS = {
    "engine": FaultKind("metadata_down", "outage"),
    "slow-engine": FaultKind("slow_metadata", "slow"),
    "mount": FaultKind("mount_down", "outage", "mount", refuses=True),
    "slow-mount": FaultKind("slow_mount", "slow", "mount"),
}
"""The failures of the command `failures`, by name."""
