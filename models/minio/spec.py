"""MinIO: one host, its drives in erasure sets, and the clients, as stations and routes.

What a request does (MinIO source at 7aac2a2c): a PUT sends its shards to all drives of the object's erasure set and
waits for all of them; shards up to the inline limit live in `xl.meta`, so one commit makes them durable, larger
ones are written and committed first. A GET reads from as many drives as hold data. Objects inside `xl.meta` are packed
with it and spare the opening of a second file, so their CPU may have a law of its own. The bytes of other objects are
streamed: client and host handle them at the same time.

Of several servers on the host the clients take each in turn. The one that is asked reaches the drives of the others by
calls, which cost CPU on both sides and a network latency each way; and it locks the object on all of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from models.background import BackgroundWork, with_background
from models.minio.compile import Plan
from models.minio.degraded import without_lost_drives
from models.minio.faults import DriveDown, Event, changes, check_events
from models.minio.sections import Client, Drives, Host, NetworkLink
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.placement import key_hashes
from models.prices import MinioPrices
from traces.tables import OPS
from traces.trace import Trace
from traces.units import Bytes
from traces.workload.distributions import Strict
from traces.workload.workload import Workload


class MinioSpec(Strict):
    """A MinIO host, its clients and what is asked of it."""

    store: Literal["minio"]
    workload: Workload
    client: Client = Client()
    network: NetworkLink = NetworkLink()
    host: Host = Host()
    drives: Drives = Drives()
    inline_limit: Annotated[Bytes, Field(description="shards up to this size live inside xl.meta")] = 128 * 1024
    background: BackgroundWork = BackgroundWork()
    events: tuple[Event, ...] = Field((), description="what happens while the host runs")
    prices: MinioPrices | None = Field(None, description="what its parts cost; absent: nobody asks")

    @property
    def priced(self) -> dict[str, float]:
        """How much there is of what `prices` names."""
        return {"host": 1, "core": self.host.cores, "drive": self.drives.count}

    @model_validator(mode="after")
    def _servers_share_sets(self) -> MinioSpec:
        size, servers = self.drives.set_size, self.host.servers
        if size % servers:
            allowed = ", ".join(str(n) for n in range(1, size + 1) if size % n == 0)
            raise ValueError(f"host.servers is {servers}; an erasure set of {size} drives allows {allowed}")
        return self

    @model_validator(mode="after")
    def _events_fit(self) -> MinioSpec:
        check_events(self)
        return self

    def compile(self, trace: Trace) -> tuple[Network, Requests]:
        """The Network of this host, and the requests of a Trace on it."""
        plan = Plan(self.client, self.network, self.host, self.drives)
        agenda = changes(
            self.events,
            cpu=plan.host_cpu,
            links=(plan.up, plan.down),
            drives=range(plan.first_drive, plan.first_journal),
            journals=range(plan.first_journal, len(plan.stations)),
        )
        network = Network(tuple(plan.stations), plan.routes(), (plan.sets(), plan.journals()), agenda=tuple(agenda))
        dead = [event for event in self.events if isinstance(event, DriveDown)]
        network = without_lost_drives(network, dead, self.drives.parity_shards)
        requests = _requests(self, network, trace)
        return with_background(self.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def _requests(spec: MinioSpec, network: Network, trace: Trace) -> Requests:
    names = {route.name: i for i, route in enumerate(network.routes)}
    route = np.array([names[op] for op in OPS], np.int32)[trace.op]
    data_shards = spec.drives.set_size - spec.drives.parity_shards
    inline = -(-trace.size_bytes // data_shards) <= spec.inline_limit
    for op in ("GET", "PUT"):
        route[(trace.op == OPS.index(op)) & inline] = names[f"{op} inline"]
    issued = slice(trace.issued)
    collector = spec.host.collector
    if collector.mark:
        collecting = collector.begun(trace.op[issued], trace.transfer_bytes[issued], inline[issued])
        route[issued][collecting] += len(names) // 2  # those that collect come after all others, in their order
    return Requests(
        route[issued], trace.transfer_bytes[issued], key_hashes(trace)[issued], trace.arrival_s[issued],
        trace.think_s[issued], trace.phase[issued], trace.pacing,
    )  # fmt: skip
