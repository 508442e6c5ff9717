"""How a versitygw is started: a gateway on the file system of a drive."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from validate.lab.programs.found import first_line
from validate.lab.store import FaultEvent, Form, Node, Progress, Spawn, Store, StoreKind
from validate.lab.versitygw.fault_events import fault_event
from validate.lab.versitygw.program import PROGRAM, arguments, check, environment
from validate.lab.versitygw.readiness import unready


class Versitygw(StoreKind):
    """versitygw with files of one drive. Only form: a host with a drive."""

    name = "versitygw"
    title = "versitygw"
    installation = "some three minutes, needs Go"
    forms: Mapping[str, Form] = {"one-drive": Form(1)}
    fault_event: FaultEvent | None = staticmethod(fault_event)

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        check(form, options)

    def site(self, store: Store) -> dict[str, object]:
        return {}

    def find(self) -> Path | None:
        return PROGRAM.find()

    def install(self, progress: Progress) -> Path:
        return PROGRAM.install(progress)

    def version(self, binary: Path) -> str:
        return first_line(binary)

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        store.drive_folder(0, 0).mkdir(parents=True, exist_ok=True)
        for node in store.nodes:
            spawn(node, arguments(binary, store, node), environment(store))

    def unready(self, store: Store) -> Node | None:
        return unready(store)
