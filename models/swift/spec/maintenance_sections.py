"""The sections of a Swift spec for its own work: the object auditor, and the replicator or reconstructor."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from models.network.service_demand import Demand, ServiceDemand
from traces.spec.field_notes import Basis
from traces.spec.units import MOST_COUNT, BytesPerSecond, PerSecond, Seconds
from traces.workload.distributions import Strict

_CONF = "Swift's default: etc/object-server.conf-sample"
_CPU = Basis("assumed: none", 0, 0.05)


class Auditor(Strict):
    """The object auditor, which reads all objects of a host again and again, one drive after the other."""

    files_per_second: Annotated[PerSecond, Field(gt=0), Basis(_CONF, 1, 1000)] = Field(
        20.0, description="Most objects that a process of the auditor reads in a second."
    )
    bytes_per_second: Annotated[BytesPerSecond, Field(gt=0), Basis(_CONF, 1e6, 1e9)] = Field(
        1e7, description="Most bytes that a process of the auditor reads in a second."
    )
    zero_byte_files_per_second: Annotated[PerSecond, Basis(_CONF, 0, 1000)] = Field(
        50.0, ge=0, description="Objects that a further process of a host opens in a second without reading; 0: none."
    )
    concurrency: Annotated[int, Basis(_CONF, 1, 64)] = Field(
        1,
        ge=1,
        le=MOST_COUNT,
        description="Number of processes of a host that read objects, each those of another drive.",
    )
    cpu: Annotated[Demand, _CPU] = Field(
        ServiceDemand(),
        description="CPU time of a host for each object that is read; per-byte times apply to its piece.",
    )


class Replicator(Strict):
    """The object replicator, which compares the partitions of a host with their other replicas, pass after pass.

    With erasure coding it is the reconstructor, which compares a fragment with those of three partners.
    """

    concurrency: Annotated[int, Basis(_CONF, 1, 64)] = Field(
        1,
        ge=1,
        le=MOST_COUNT,
        description="Number of partitions that a host compares at the same time, with all of its processes.",
    )
    interval: Annotated[Seconds, Basis(_CONF, 1, 86400)] = Field(
        30.0, description="Pause of a host between two passes."
    )
    cpu: Annotated[Demand, _CPU] = Field(
        ServiceDemand(), description="CPU time of each host that has a replica for the hashes of a partition."
    )
