"""The spec of a JuiceFS: mounts or S3 gateways, the metadata engine, and the store below."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.catalogue.quotes import Quoted
from models.juicefs.faults import Fault
from models.juicefs.sections import TMP_FOLDERS, Attributes, Blocks, DiskCache, JuiceFSPrices, Metadata, Mounts
from models.layer import LayerSpec
from models.shared.clients import ClientMachines, refuse_storage_hosts
from models.shared.faults import refuse_absent_part, refuse_instant_failures
from models.shared.multipart import refuse_multipart
from models.shared.store_spec import FAULTS, PRICES
from traces.spec.field_notes import Basis


class JuiceFSSpec(LayerSpec):
    """A JuiceFS over another store, its clients and their workload."""

    store: Literal["juicefs"] = Field(description="Selects the model of JuiceFS.")
    client: ClientMachines = Field(
        ClientMachines(),
        description="Clients: their policies; and of gateways, their machines, cores, NICs and CPU times.",
    )
    access: Annotated[Literal["mount", "gateway"], Basis("assumed: a mount")] = Field(
        "mount", description="How clients use it: as files of a mount (FUSE) on their machine, or by an S3 gateway."
    )
    mounts: Mounts = Field(Mounts(), description="Mounts or gateways: number, cores, CPU times.")
    metadata: Metadata = Field(Metadata(), description="Metadata engine: kind, network latency, service times.")
    attributes: Attributes = Field(
        Attributes(), description="Caches of attributes and entries of files and folders: lifetime."
    )
    blocks: Blocks = Field(Blocks(), description="Blocks of files: size, number in progress, buffer, read-ahead.")
    cache: DiskCache = Field(DiskCache(), description="Disk cache of each mount or gateway, for reads and write-back.")
    tmp_folders: Annotated[int, Basis("assumed: a new file system", 0, TMP_FOLDERS)] = Field(
        0,
        ge=0,
        le=TMP_FOLDERS,
        description="Folders for temporary files of gateways, of 4,096, that exist before the run; PUTs create others.",
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: JuiceFSPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        return {"mount": self.mounts.count, "metadata": 1}

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        return {
            "mount": lambda quotes: quotes.machine(self.mounts.cores.count),
            "metadata": lambda quotes: quotes.machine(self.metadata.servers),
        }

    @property
    def is_gateway(self) -> bool:
        """Whether clients use gateways."""
        return self.access == "gateway"

    @model_validator(mode="after")
    def _parts_fit(self) -> JuiceFSSpec:
        refuse_storage_hosts(self.client)
        if not self.is_gateway:
            refuse_multipart(self.client.multipart, "mounts of JuiceFS")
        below = self.below.client
        given = "machines" in below.model_fields_set and getattr(below, "machines", None)
        if given and given != self.mounts.count:
            raise ValueError(
                f"below.client.machines: is {given}; the clients of the store below are the mounts, so leave it out"
            )
        for number, fault in enumerate(self.faults):
            if fault.kind == "metadata_down" and fault.back_at is None:
                way_s = self.metadata.latency if self.metadata.engine != "sqlite" else 0.0
                refuse_instant_failures(self.workload, way_s, fault.kind)
            if fault.kind == "mount_down":
                refuse_instant_failures(self.workload, self.network.latency * self.is_gateway, fault.kind)
            refuse_absent_part(number, fault, {"mount": self.mounts.count})
        return self
