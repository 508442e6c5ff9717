"""How a MinIO is started: any number of hosts, a process each, with any number of drives that make erasure sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from traces.errors import InputError
from validate.lab.minio import program
from validate.lab.minio.admin_trace import AdminTrace
from validate.lab.minio.deleted import discard
from validate.lab.minio.erasure_sets import chosen_set_size, set_size_of
from validate.lab.minio.fault_events import fault_event
from validate.lab.minio.readiness import is_complete, is_healthy
from validate.lab.store import FaultEvent, Form, Node, Progress, RequestTrace, Spawn, Store, StoreKind
from validate.s3.account import Target


class Minio(StoreKind):
    """MinIO. Usual forms: a drive; four in one erasure set (EC 2+2); such a set with a process for each drive."""

    name = "minio"
    title = "MinIO"
    installation = "some ten minutes, needs Go"
    forms: Mapping[str, Form] = {"one-drive": Form(1), "erasure-set": Form(4), "four-processes": Form(1, 4)}
    request_trace: Callable[[Target], RequestTrace] | None = AdminTrace
    trace_format: str | None = "minio-trace"
    fault_event: FaultEvent | None = staticmethod(fault_event)
    discard: Callable[[Store], None] | None = staticmethod(discard)

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        set_size_of(form)
        if form.gateways:
            raise InputError("a MinIO has no gateways: its hosts take requests")
        if form.balancers:
            raise InputError("a MinIO of the lab has no load balancer: clients send requests to its hosts")
        if options:
            raise InputError(f"option {next(iter(options))}: a MinIO of the lab takes no options")

    def site(self, store: Store) -> dict[str, object]:
        return {} if store.form.set_size is None else {"set-size": store.form.set_size}

    def find(self) -> Path | None:
        return program.find()

    def install(self, progress: Progress) -> Path:
        return program.install(progress)

    def version(self, binary: Path) -> str:
        return program.version(binary)

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        for node in store.nodes:
            environment = program.server_environment(*store.credentials, node.address, chosen_set_size(store.form))
            spawn(node, program.arguments(binary, store, node), environment)

    def unready(self, store: Store) -> Node | None:
        for node in store.nodes:
            if not is_healthy(node.endpoint_url):
                return node
        return None if len(store.nodes) == 1 or is_complete(store) else store.nodes[0]
