"""How a MinIO is started: with one drive, with four in one process, or with four in a process each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from validate.lab.minio import program
from validate.lab.minio.admin_trace import AdminTrace
from validate.lab.minio.readiness import is_complete, is_healthy
from validate.lab.store import Form, Node, Progress, RequestTrace, Spawn, Store
from validate.s3.account import Target


class Minio:
    """MinIO. Its forms: a single drive; four in one erasure set (EC 2+2); such a set with a process for each drive."""

    name = "minio"
    title = "MinIO"
    installation = "some ten minutes, needs Go"
    forms: Mapping[str, Form] = {"one-drive": Form(1), "erasure-set": Form(4), "four-processes": Form(4, 4)}
    request_trace: Callable[[Target], RequestTrace] | None = AdminTrace
    trace_format: str | None = "minio-trace"

    def find(self) -> Path | None:
        return program.find()

    def install(self, progress: Progress) -> Path:
        return program.install(progress)

    def version(self, binary: Path) -> str:
        return program.version(binary)

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        addresses = [node.address for node in store.nodes]
        for index, node in enumerate(store.nodes):
            command = program.arguments(binary, addresses, index, store.data_folder, store.form.drives)
            spawn(node, command, program.server_environment(*store.credentials, node.address))

    def unready(self, store: Store) -> Node | None:
        for node in store.nodes:
            if not is_healthy(node.endpoint_url):
                return node
        complete = len(store.nodes) == 1 or is_complete(store.target, store.data_folder, store.form.drives)
        return None if complete else store.nodes[0]
