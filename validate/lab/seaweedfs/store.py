"""How a SeaweedFS is started: hosts with a volume server each, filers with S3 gateways, and a host for the master."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from traces.errors import InputError
from validate.lab.host_faults import fault_event
from validate.lab.programs.found import first_line
from validate.lab.seaweedfs import cluster
from validate.lab.seaweedfs.options import check
from validate.lab.seaweedfs.readiness import unready
from validate.lab.store import FaultEvent, Form, Node, Progress, Spawn, Store, StoreKind


class SeaweedFs(StoreKind):
    """SeaweedFS with S3 gateways. Usual form: three hosts with a drive each, a gateway with a filer, a master."""

    name = "seaweedfs"
    title = "SeaweedFS"
    installation = "half a minute, from PyPI"
    forms: Mapping[str, Form] = {"three-hosts": Form(1, 3, gateways=1, monitors=1)}
    fault_event: FaultEvent | None = staticmethod(fault_event)

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        check(form, options)

    def site(self, store: Store) -> dict[str, object]:
        return {}

    def find(self) -> Path | None:
        return cluster.PROGRAM.find()

    def install(self, progress: Progress) -> Path:
        return cluster.PROGRAM.install(progress)

    def version(self, binary: Path) -> str:
        return first_line(binary, "version")

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        if store.box is not None and store.box.proxied:
            raise InputError("a SeaweedFS in a box with a delay needs netem in the kernel: a host has several servers")
        cluster.start(binary, store, spawn)

    def unready(self, store: Store) -> Node | None:
        return unready(store)
