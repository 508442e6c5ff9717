"""How a Swift is started: any number of hosts with drives, and of proxies, each of which is a host of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from traces.errors import InputError
from validate.lab.store import FaultEvent, Form, Node, Progress, RequestTrace, Spawn, Store, StoreKind
from validate.lab.swift import configuration, program
from validate.lab.swift.fault_events import fault_event
from validate.lab.swift.file_names import file_name
from validate.lab.swift.options import check, rings_of
from validate.lab.swift.program import SERVERS
from validate.lab.swift.proxy_log import ProxyLog
from validate.lab.swift.readiness import unready
from validate.s3.account import Target


class Swift(StoreKind):
    """OpenStack Swift with s3api. Usual form: three hosts with a drive each, and a proxy."""

    name = "swift"
    title = "OpenStack Swift"
    installation = "half a minute, from Debian's packages"
    forms: Mapping[str, Form] = {"three-hosts": Form(1, 3, gateways=1)}
    request_trace: Callable[[Target], RequestTrace] | None = ProxyLog
    trace_format: str | None = "swift-proxy-log"
    file_name: Callable[[str], str] | None = staticmethod(file_name)
    has_accounts = True
    fault_event: FaultEvent | None = staticmethod(fault_event)

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        check(form, options)

    def site(self, store: Store) -> dict[str, object]:
        rings = rings_of(store.form, store.options)
        return {
            "proxies": store.form.gateways,
            "zones": store.form.hosts,
            "protection": f"replica {rings.replicas}",
            "part-power": rings.part_power,
            "servers-per-port": 0,
            "buckets": 1,
        }

    def find(self) -> Path | None:
        return program.PROGRAMS.find()

    def install(self, progress: Progress) -> Path:
        return program.PROGRAMS.install(progress)

    def version(self, binary: Path) -> str:
        return program.version(binary)

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        if store.box is not None and store.box.proxied:
            raise InputError("a Swift in a box with a delay needs netem in the kernel: a host has several servers")
        configuration.write(binary, store)
        swift_conf, environment = configuration.swift_conf(store), program.PROGRAMS.environment()

        def start(kind: str, host: int) -> None:
            file = configuration.server_conf(store, kind, host)
            spawn(store.nodes[host], program.server(binary, kind, swift_conf, file), environment, kind)

        for host in range(store.form.hosts):
            for kind in SERVERS:
                start(kind, host)
        for host in store.form.entrances:
            memcached = program.memcached(configuration.address(store, host, 1))
            spawn(store.nodes[host], memcached, environment, "memcached")
            start("proxy", host)

    def unready(self, store: Store) -> Node | None:
        return unready(store)
