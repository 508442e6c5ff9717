"""The utilisation that a forecast expects next to the one that metrics show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from models.site.hardware.host_metrics import Host
from models.store import Spec, required, store_of
from sim.simulate import simulate
from traces.run import Run
from traces.workload.workload import Workload
from validate.metrics.measured import Measured
from validate.metrics.workload import workload_fields
from validate.reference.server import server_times

_MOST_REQUESTS = 20_000


@dataclass(frozen=True)
class Compared:
    """A quantity, measured and forecast; None: not known.

    Attributes:
        what: it is about, such as an operation or a kind of devices.
        measure: its name.
        unit: ``%``, ``s``, ``1/s`` or ``cores``.
        measured, forecast: in the unit, of a fraction as such.
    """

    what: str
    measure: str
    unit: str
    measured: float | None
    forecast: float | None


def measured_workload(measured: Measured, spec: Spec) -> Workload:
    """Return the measured workload at its mean rate, with at most 20,000 requests."""
    fields = workload_fields(measured, spec.workload)
    fields.pop("arrivals", None)
    seconds = min(float(measured.edges_s[-1]), _MOST_REQUESTS / measured.total_ops)
    return Workload.model_validate({**fields, "duration": f"{seconds:.6g}s"})


def compared(spec: Spec, measured: Measured, seed: int = 0) -> list[Compared]:
    """Simulate a spec with the measured workload, and return its figures next to those of the metrics.

    Raises:
        InputError: the spec cannot be simulated, or what the store's metrics mean is not known.
    """
    spec = spec.model_copy(update={"workload": measured_workload(measured, spec)})
    run = simulate(spec, seed=seed)
    roles = required(store_of(spec).metrics, spec, "meaning of metrics").roles
    store = store_of(spec)
    assert run.trace is not None
    server = server_times(spec, run.trace, seed) if store.server_part is not None and store.cpu is not None else None
    took_s = run.latency_s if server is None else server.took_s
    where = "mean" if server is None else "mean at the server"
    found = []
    for op, each in measured.ops.items():
        mine = run.has(op) & ~run.failed
        rate = float(mine.sum()) / run.duration_s if run.duration_s else None
        found.append(Compared(op, "rate", "1/s", each.rate_ops, rate))
        if each.latency_s is not None:
            mean_s = float(np.nanmean(took_s[mine])) if mine.any() else None
            found.append(Compared(op, where, "s", each.latency_s.value, mean_s))
    hosts = list(measured.hosts.values())
    cores = _mean(each.busy_cores / each.cores for each in hosts)
    found.append(Compared("cores", "utilisation", "%", cores, _of_roles(run, roles.get("cores", ()))))
    drives = [drive for host in hosts for drive in host.drives.values()]
    busy = _mean(drive.busy for drive in drives)
    found.append(Compared("drives", "utilisation", "%", busy, _of_roles(run, roles.get("drives", ()))))
    found.append(Compared("links", "utilisation", "%", _links(hosts), _of_roles(run, roles.get("links", ()))))
    if measured.cpu_cores is not None:
        forecast = None if server is None else server.cpu_s * measured.total_ops
        found.append(Compared("store's processes", "busy cores", "cores", measured.cpu_cores, forecast))
    return found


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return float(np.mean(known)) if known else None


def _links(hosts: list[Host]) -> float | None:
    both = [
        moved / link.rate
        for host in hosts
        for link in host.links.values()
        for moved in (link.received, link.sent)
        if math.isfinite(link.rate)
    ]
    return _mean(both)


def _of_roles(run: Run, roles: tuple[str, ...]) -> float | None:
    """Return the mean utilisation of stations of the first of some roles that has any with a number of servers."""
    table = run.stations
    assert table is not None
    role = np.array(table.column("role").to_pylist())
    utilisation = table.column("utilization").to_numpy()
    for each in roles:
        mine = (role == each) & np.isfinite(utilisation)
        if mine.any():
            return float(utilisation[mine].mean())
    return None
