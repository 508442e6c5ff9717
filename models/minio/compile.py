"""MinIO as stations and routes: one host, its drives in erasure sets, and the clients.

According to MinIO's source at 7aac2a2c, a PUT sends its shards to all drives of the object's erasure set and waits for
all of them; shards up to the inline limit are stored in `xl.meta`, so one commit makes them durable, larger ones are
written and committed first. A GET reads from as many drives as there are data shards. Inline objects need no second
file to be opened, so they may have another CPU demand. The bytes of other objects are streamed: client and host process
them at the same time.

Clients use several servers on the host in turn. The server that receives a request reaches the drives of the others by
calls, which cost CPU on both sides and a network latency each way; and it locks the object on all of them.
"""

from __future__ import annotations

import numpy as np

from models.background import with_background
from models.minio.degraded import without_lost_drives
from models.minio.faults import DriveDown, changes
from models.minio.routes import Plan
from models.minio.spec import MinioSpec
from models.network.demand_sheet import Requests
from models.network.network import Network
from traces.tables import OPS
from traces.trace import Trace


def compile(spec: MinioSpec, trace: Trace) -> tuple[Network, Requests]:
    """Return the Network of a host, and the requests of a Trace on it."""
    plan = Plan(spec.client, spec.network, spec.host, spec.drives)
    scenario = changes(
        spec.faults,
        cpu=plan.host_cpu,
        links=(plan.up, plan.down),
        drives=range(plan.first_drive, plan.first_journal),
        journals=range(plan.first_journal, plan.journals_end),
    )
    network = Network(
        tuple(plan.stations), plan.routes(), (plan.sets(), plan.journals()),
        plan.groups, tuple(scenario),
    )  # fmt: skip
    dead = [event for event in spec.faults if isinstance(event, DriveDown)]
    network = without_lost_drives(network, dead, spec.drives.parity_shards)
    requests = _requests(spec, network, trace)
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def _requests(spec: MinioSpec, network: Network, trace: Trace) -> Requests:
    names = {route.name: i for i, route in enumerate(network.routes)}
    route = np.array([names[op] for op in OPS], np.int32)[trace.op]
    inline = -(-trace.size_bytes // spec.data_shards) <= spec.inline_limit
    for op in ("GET", "PUT"):
        route[(trace.op == OPS.index(op)) & inline] = names[f"{op} inline"]
    issued = slice(trace.issued)
    garbage_collector = spec.host.garbage_collector
    if garbage_collector.mark_work:
        collecting = garbage_collector.begun(trace.op[issued], trace.transfer_bytes[issued], inline[issued])
        route[issued][collecting] += len(names) // 2  # routes with a collection come after all others, in their order
    return Requests.of(trace, route)
