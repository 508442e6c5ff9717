"""The spec of s3fs: its release, mounts with their temporary files, caches, and the store below."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from models.catalogue.quotes import Quoted
from models.devices.drive_times import drive_presets
from models.devices.presets import PRESETS_OF, Presets, PresetSection
from models.devices.processors import BARE_COUNT, Cores
from models.layer import LayerSpec
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from models.s3fs.pages import LEAST_PART_BYTES, MIB
from models.s3fs.release import RELEASES, Name, Release
from models.s3fs.series import Protocol
from models.shared.faults import Degradation, MountDown, refuse_absent_part, refuse_instant_failures
from models.shared.multipart import MOST_PARTS
from models.shared.prices import Price, PriceList
from models.shared.store_spec import FAULTS, PRICES
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes, Fraction, Seconds, parse_bytes
from traces.workload.distributions import Strict

_LargeBytes = Annotated[int, Unit("B", "64MiB"), BeforeValidator(parse_bytes, json_schema_input_type=int | str)]

_NUMBERS = {float(name): name for name in RELEASES}
"""Releases as YAML reads them."""


def _as_name(value: Any) -> Any:
    return _NUMBERS.get(value, value) if isinstance(value, float) else value


_FUSE_CPU = ServiceDemand(constant=50e-6, per_byte=0.3e-9, per_block=30e-6, block=128 << 10)
_CPU = "assumed: 50 us, 30 us for each request of FUSE of 128 KiB, and a copy of its bytes at 3.3 GB/s"
_MAN = "default of s3fs 1.97 and 1.90 (man page)"


class Mounts(Strict):
    """The machines with a mount each, which are identical."""

    count: Annotated[int, Basis("assumed: one machine", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of machines with a mount, over which the clients are distributed."
    )
    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of each machine; a bare number is their count."
    )
    cpu: Annotated[Demand, Basis(_CPU)] = Field(
        _FUSE_CPU,
        description="CPU time of a mount for an operation, and for its payload. That for requests to the store is in "
        "`below.client.cpu`.",
    )


class Temporary(PresetSection):
    """The local drive of each mount, which has the temporary files."""

    preset: str | None = Field(None, description="Name of a device, such as nvme or sata-ssd.")
    write: Annotated[Demand, DRIVE_BANDWIDTH, Basis("assumed: as fast as memory")] = Field(
        NOTHING, description="Time to write a part of a temporary file."
    )
    read: Annotated[Demand, DRIVE_BANDWIDTH, Basis("assumed: as fast as memory")] = Field(
        NOTHING, description="Time to read a part of a temporary file that the memory does not keep."
    )
    page_cache: Annotated[Bytes, Basis("assumed: a small server", 0, 1 << 40)] = Field(
        2 << 30,
        ge=0,
        description="Largest file that the memory keeps: it is not read back from the drive, and no one waits for its "
        "writes to the drive. Larger files are written to the drive and read back.",
    )


def _drives() -> Presets:
    return drive_presets(("read", "write"))


PRESETS_OF[Temporary] = _drives


class StatCache(Strict):
    """The cache of names and attributes of a mount."""

    entries: Annotated[int, Basis(_MAN, 1, 10_000_000)] = Field(
        100_000, ge=0, le=MOST_COUNT, description="Number of names that it holds (`max_stat_cache_size`)."
    )
    expire: Annotated[Seconds, Basis(_MAN, 1, 86_400)] = Field(
        900.0,
        description="Time after which a name is looked up again (`stat_cache_expire`); in a closed loop, whose times "
        "are not known beforehand, names do not expire.",
    )


class SlowMount(Degradation):
    """A machine with a mount is slow."""

    kind: Literal["slow_mount"] = Field(description="Slow mount: its cores and its temporary drive lose speed.")
    mount: int = Field(0, ge=0, description="Number of the machine that is affected, from 0.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


Fault = Annotated[MountDown | SlowMount, Field(discriminator="kind")]
"""An entry of the section `faults`."""


class S3fsPrices(PriceList):
    """What the mounts cost."""

    mount: Price = Field(0.0, description="Cost of a machine, apart from its cores.")
    core: Price = Field(0.0, description="Cost of each processor core of these machines.")


class S3fsSpec(LayerSpec):
    """A file system on a store."""

    store: Literal["s3fs"] = Field(description="Selects the model of s3fs.")
    release: Annotated[
        Name, BeforeValidator(_as_name, json_schema_input_type=Name | float), Basis("latest release of 2026")
    ] = Field(
        "1.97",
        description="Release of s3fs, which decides on the requests of operations, and on connections: since 1.97 each "
        "request has a new one.",
    )
    tls: Annotated[bool, Basis("assumed: HTTP")] = Field(
        False, description="Whether new connections use TLS, whose handshake takes another round trip (TLS 1.3)."
    )
    mounts: Mounts = Field(Mounts(), description="Machines with a mount: number, cores, CPU times.")
    temporary: Temporary = Field(Temporary(), description="Drive with the temporary files of each mount.")
    multipart_size: Annotated[_LargeBytes, Basis(_MAN, LEAST_PART_BYTES, 5 << 30)] = Field(
        10 * MIB,
        ge=LEAST_PART_BYTES,
        le=5 << 30,
        description="Size of parts of an upload, and of ranges that are read; the last part has up to twice as much. "
        "Smaller files are uploaded by one request.",
    )
    max_thread_count: (
        Annotated[int, Basis("default of the release: 10, of 1.90: 5 (parallel_count)", 1, 100)] | None
    ) = Field(
        None,
        ge=1,
        le=1000,
        description="Requests with data that a mount has in progress; absent: 10, of release 1.90: 5. A read "
        "fetches as many ranges at once.",
    )
    max_dirty_data: Annotated[_LargeBytes, Basis(_MAN, 50 * MIB, 1 << 40)] = Field(
        5 << 30,
        ge=50 * MIB,
        description="Bytes of a file that were written and are not uploaded, at which it is uploaded although it is "
        "open; what follows is another upload, in which the store copies what it has.",
    )
    stat_cache: StatCache = Field(StatCache(), description="Cache of names and attributes of each mount.")
    directory_entries: Annotated[int, Basis("keys of a prefix in a workload", 1, 1_000_000)] = Field(
        1000, ge=0, le=MOST_COUNT, description="Number of entries of each directory that a READDIR lists."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: S3fsPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        return {"mount": self.mounts.count, "core": self.mounts.count * self.mounts.cores.count}

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        return {"mount": lambda quotes: quotes.server(), "core": lambda quotes: quotes.core()}

    @property
    def behaviour(self) -> Release:
        """What the release decides on."""
        return RELEASES[self.release]

    @property
    def threads(self) -> int:
        """Requests with data that a mount has in progress."""
        return self.max_thread_count or self.behaviour.threads

    @property
    def protocol(self) -> Protocol:
        """The requests of a mount."""
        ahead_bytes = self.multipart_size * self.threads
        cached = self.temporary.page_cache
        return Protocol(self.behaviour, self.multipart_size, ahead_bytes, cached, self.max_dirty_data)

    @property
    def connection_s(self) -> float:
        """Time in s until a new connection is there; 0 if connections are kept."""
        ways = 2 * (1 + self.tls) if self.behaviour.reconnects else 0
        return ways * self.below.network.latency

    @property
    def most_file_bytes(self) -> int:
        """Size of the largest file that can be uploaded."""
        return self.multipart_size * (MOST_PARTS + 1)

    @model_validator(mode="after")
    def _parts_fit(self) -> S3fsSpec:
        """Check that faults name mounts that exist, and that parts are those of s3fs."""
        for number, fault in enumerate(self.faults):
            if fault.kind == "mount_down":
                refuse_instant_failures(self.workload, 0.0, fault.kind)
            refuse_absent_part(number, fault, {"mount": self.mounts.count})
        if getattr(self.below.client, "multipart", None) is not None:
            raise ValueError("below.client.multipart: s3fs uploads in parts itself; allowed is null")
        return self
