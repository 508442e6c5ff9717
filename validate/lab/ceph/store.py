"""How a Ceph is started: hosts with an OSD on each drive, RADOS gateways, and a host for monitor and manager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from models.ceph.mechanisms.releases import RELEASES
from traces.errors import InputError
from validate.lab.ceph import cluster, program
from validate.lab.ceph.fault_events import fault_event
from validate.lab.ceph.ops_log import OpsLog
from validate.lab.ceph.options import check, pools_of, sends_at_once
from validate.lab.ceph.placement import CephPlacement
from validate.lab.ceph.readiness import unready
from validate.lab.ceph.reshard import ReshardAt
from validate.lab.ceph.settling import settle
from validate.lab.store import (
    FaultEvent,
    Form,
    Node,
    Placement,
    Progress,
    RequestTrace,
    Spawn,
    StagedFaults,
    Store,
    StoreKind,
)
from validate.s3.account import Target


class Ceph(StoreKind):
    """Ceph with RADOS gateways. Usual form: three hosts with an OSD each, a gateway, a monitor."""

    name = "ceph"
    title = "Ceph"
    installation = "a minute, from Debian's packages"
    forms: Mapping[str, Form] = {"three-hosts": Form(1, 3, gateways=1, monitors=1)}
    request_trace: Callable[[Target], RequestTrace] | None = OpsLog
    trace_format: str | None = "rgw-ops-log"
    has_db = True
    fault_event: FaultEvent | None = staticmethod(fault_event)
    placement: Placement | None = CephPlacement()
    reshard: Callable[[Store, float, int], StagedFaults] | None = ReshardAt
    settle: Callable[[Store], None] | None = staticmethod(settle)

    def check(self, form: Form, options: Mapping[str, str]) -> None:
        check(form, options)

    def site(self, store: Store) -> dict[str, object]:
        pools = pools_of(store.form, store.options)
        release = [name for name in RELEASES if f" {name} (" in store.version]
        return {
            "gateways": store.form.gateways,
            "protection": f"replica {pools.replicas}",
            "index-replicas": pools.replicas,
            "placement-groups": pools.pg_num,
            "buckets": 1,
            "tcp-nodelay": sends_at_once(store.options),
            **({"release": release[0]} if release else {}),
        }

    def find(self) -> Path | None:
        return program.PROGRAMS.find()

    def install(self, progress: Progress) -> Path:
        return program.PROGRAMS.install(progress)

    def version(self, binary: Path) -> str:
        return program.version(binary)

    def start(self, binary: Path, store: Store, spawn: Spawn) -> None:
        if store.box is not None and store.box.proxied:
            raise InputError("a Ceph in a box with a delay needs netem in the kernel: a host has many connections")
        cluster.start(store, spawn)

    def unready(self, store: Store) -> Node | None:
        return unready(store)
