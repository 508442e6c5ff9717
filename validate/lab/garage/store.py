"""How a Garage is started: a node on each host, whose blocks are on its drives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from traces.errors import InputError
from validate.lab.garage import cluster
from validate.lab.garage.options import check, options_of_nodes
from validate.lab.garage.readiness import unready
from validate.lab.host_faults import fault_event
from validate.lab.programs.found import first_line
from validate.lab.store import FaultEvent, Form, Node, Progress, Spawn, Store, StoreKind


class Garage(StoreKind):
    """Garage, whose nodes all take requests. Usual form: three hosts with a drive each."""

    name = "garage"
    title = "Garage"
    installation = "half an hour to an hour, needs Cargo"
    forms: Mapping[str, Form] = {"three-hosts": Form(1, 3)}
    installed_by_up = False
    fault_event: FaultEvent | None = staticmethod(fault_event)

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        check(form, options)

    def site(self, store: Store) -> dict[str, object]:
        return {"replicas": options_of_nodes(store.form, store.options)["replication_factor"]}

    def find(self) -> Path | None:
        return cluster.PROGRAM.find()

    def install(self, progress: Progress) -> Path:
        return cluster.PROGRAM.install(progress)

    def version(self, binary: Path) -> str:
        return first_line(binary)

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        if store.box is not None and store.box.proxied:
            raise InputError("a Garage in a box with a delay needs netem in the kernel: a host has several servers")
        cluster.start(binary, store, spawn)

    def unready(self, store: Store) -> Node | None:
        return unready(store)
