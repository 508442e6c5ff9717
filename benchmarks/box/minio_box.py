"""The spec of a MinIO in a box: drives and links as its Runs record them, CPU calibrated on light configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from lock_refusals import idle_lead, overtaken_at, overtaken_fraction, refused_fraction

from models.minio.requests.routes import RETRY_S
from models.minio.spec.spec import MinioSpec
from models.store import compile_spec, spec_of
from sim.simulate import simulate
from traces.operations import OPS
from traces.run import Run
from traces.statistics.summary import Floats, latencies
from traces.trace import Trace
from validate.calibration.simulations import simulated_trace
from validate.forecast.configurations import requested_trace
from validate.lab.box.network import queue_bytes
from validate.replay.cpu_usage import modelled_cpu_s

LIGHT = {"GET-4KiB-c1": "GET", "PUT-4KiB-c1": "PUT"}
"""The light configurations to which latencies are fitted, and the operation of each."""

STREAMS = {"GET-16MiB-c1": "GET", "PUT-16MiB-c4": "PUT"}
"""The configurations whose CPU time gives that of a byte; their latencies are predicted."""

FRAME_PAYLOAD = 1448 / 1514
"""Fraction of a link's bytes that TCP carries: 1,448 of the 1,514 B of a frame, as the token bucket counts them."""

_REQUESTS = 300  # simulated in each step of the calibration
_CPU_WEIGHT = 0.3  # of the CPU times, which are less certain than latencies
_PATH_BYTES = 4096  # of the light configurations
# Assumed: equal times would keep clients of a closed loop in step (PUT-4KiB-c4: 52 op/s, with these 74, measured 71).
_VARIES = {"kind": "gamma", "cv": 1.0}
_ROUNDS = 2  # of simulations until the fraction of refused locks and the load agree


@dataclass(frozen=True)
class Cpu:
    """CPU times in s.

    Attributes:
        fixed: of the server for a request without calls between nodes, by operation.
        per_byte, client_per_byte: of server and client for a byte, by operation.
        call: of each side of a call between nodes.
        client: of the client for a request.
        after_response: fraction of `fixed` that follows the response.
    """

    fixed: Mapping[str, float]
    per_byte: Mapping[str, float]
    client_per_byte: Mapping[str, float]
    call: float
    client: float
    after_response: float


@dataclass(frozen=True)
class Box:
    """A calibrated box.

    Attributes:
        run: one of its Runs, for hosts, drives and links.
        cpu: the calibrated times.
        refused: fraction of small PUTs whose lock is refused at first, with one client.
        idle_lead: by how much the release of a lock is ahead of the next one (`lock_refusals`).
    """

    name: str
    run: Run
    cpu: Cpu
    refused: float
    idle_lead: float

    @property
    def several(self) -> bool:
        """Whether there are several hosts, which call each other."""
        return int(self.run.info["lab"]["hosts"]) > 1

    @property
    def lockers(self) -> int:
        """Number of lock servers."""
        return int(self.run.info["lab"]["hosts"])

    def spec_at(self, utilization: float | None = None) -> MinioSpec:
        """Return the spec with the fraction of refused locks that belongs to a utilization; None: one client."""
        refused = self.refused
        if utilization is not None and self.refused:
            refused = refused_fraction(self.lockers, overtaken_at(utilization, self.idle_lead))
        return box_spec(self.name, self.run, self.cpu, refused)

    def spec_for(self, trace: Trace) -> MinioSpec:
        """Return the spec for a workload: the fraction of refused locks depends on the load of the cores."""
        spec = self.spec_at()
        limit = spec.inline_bytes * spec.data_shards  # larger objects are written between both locks
        small = (trace.op == OPS.index("PUT")) & (trace.size_bytes <= limit)
        for _ in range(_ROUNDS if self.refused and small.any() else 0):
            spec = self.spec_at(utilization_of(simulate(spec, trace, seed=1)))
        return spec

    @property
    def notes(self) -> str:
        """The calibrated values as a sentence."""
        cpu = self.cpu
        ops = ", ".join(
            f"{op} {1e3 * cpu.fixed[op]:.2f} ms + {1e9 * cpu.per_byte[op]:.0f} ns/B "
            f"(client {1e9 * cpu.client_per_byte[op]:.0f} ns/B)"
            for op in cpu.fixed
        )
        after = f"{cpu.after_response:.0%} of the fixed part after the response"
        text = f"CPU: {ops}, {after}, client {1e3 * cpu.client:.2f} ms"
        if self.several:
            text += (
                f", {1e3 * cpu.call:.3f} ms for each side of a call; {self.refused:.1%} of small PUTs have a lock "
                "refused with one client"
            )
        return f"{text}."


def calibrated(name: str, runs: Mapping[str, Sequence[Run]]) -> Box:
    """Return the box with the CPU times for which light configurations take as long, and as much CPU, as measured.

    Four values are fitted to four figures: the CPU times of both operations, of calls, and the fraction after the
    response, to the medians and to the CPU time that the processes used per request. The CPU time of a byte is the
    difference between requests of 16 MiB and 4 KiB. The fraction of refused locks is that of the PUTs of one client
    that are slower by the pause.
    """
    light = {cell: runs[cell] for cell in LIGHT}
    first = next(iter(light.values()))[0]
    several = int(first.info["lab"]["hosts"]) > 1
    client_s = float(np.mean([_client_cpu_s(run) for each in light.values() for run in each]))
    samples = {op: np.concatenate([latencies(run, op) for run in light[cell]]) for cell, op in LIGHT.items()}
    refused = _refused(samples["PUT"]) if several else 0.0
    traces = {op: simulated_trace(requested_trace(light[cell][0]), _REQUESTS) for cell, op in LIGHT.items()}
    used_s = {op: float(np.mean([_store_cpu_s(run) for run in light[cell]])) for cell, op in LIGHT.items()}
    wanted = np.log([np.median(each) for each in samples.values()])
    cpu_wanted = np.log([used_s[op] for op in LIGHT.values()])
    bytes_s = {op: _per_byte(runs.get(cell, ()), used_s[op], client_s) for cell, op in STREAMS.items()}

    def cpu_of(x: Floats) -> Cpu:
        get_s, put_s, call_s = np.exp(x[:3]).tolist()
        server, client = ({op: each[side] for op, each in bytes_s.items()} for side in (0, 1))
        return Cpu({"GET": get_s, "PUT": put_s}, server, client, call_s * several, client_s, float(x[3]))

    def misses(x: Floats) -> Floats:
        spec = box_spec(name, first, cpu_of(x), refused)
        latency_s = [np.median(latencies(simulate(spec, trace, seed=1), op)) for op, trace in traces.items()]
        cpu_s = [modelled_cpu_s(spec, *compile_spec(spec, trace))["server"] for trace in traces.values()]
        return np.concatenate([np.log(latency_s) - wanted, _CPU_WEIGHT * (np.log(cpu_s) - cpu_wanted)])

    start = np.array([*(cpu_wanted + np.log(0.5)), np.log(2e-4), 0.3])
    solved = scipy.optimize.least_squares(
        misses, start, bounds=([-12, -12, -12, 0.02], [0, 0, -3, 0.9]), diff_step=0.02, max_nfev=6
    )
    cpu, lead = cpu_of(solved.x), 0.0
    if refused:
        busy = utilization_of(simulate(box_spec(name, first, cpu, refused), traces["PUT"], seed=1))
        lead = idle_lead(busy, overtaken_fraction(int(first.info["lab"]["hosts"]), refused))
    return Box(name, first, cpu, refused, lead)


def _refused(latency_s: Floats) -> float:
    """Return the fraction of PUTs that were slower by a pause of 0 to 0.35 s, from those beyond all usual ones."""
    q25, median = np.quantile(latency_s, [0.25, 0.5])
    fence = median + 5 * (median - q25)
    beyond = float((latency_s > fence).mean())
    return float(min(0.9, beyond / max(1 - (fence - median) / RETRY_S, 0.1)))


def _per_byte(runs: Sequence[Run], store_s: float, client_s: float) -> tuple[float, float]:
    """Return the CPU time in s for a byte of store and client, from requests that move many."""
    if not runs:
        return 0.0, 0.0
    size = float(np.mean([run.column("size_bytes").mean() for run in runs])) - _PATH_BYTES
    store = float(np.mean([_store_cpu_s(run) for run in runs])) - store_s
    client = float(np.mean([_client_cpu_s(run) for run in runs])) - client_s
    return max(store, 0.0) / size, max(client, 0.0) / size


def box_spec(name: str, run: Run, cpu: Cpu, refused: float) -> MinioSpec:
    """Return the spec of the box in which a Run was measured."""
    spec = spec_of(spec_data(run, cpu, refused), name)
    assert isinstance(spec, MinioSpec)
    return spec


def spec_data(run: Run, cpu: Cpu, refused: float) -> dict[str, Any]:
    """Return the same as a mapping."""
    lab, cores = run.info["lab"], run.info["environment"]["cores"]
    drives, nic = lab["shape"]["drives"], lab["shape"].get("nic")
    rate = {"nic": nic["rate"]} if nic else {}
    network = {"queue": queue_bytes(nic["rate"], nic["burst"]), "payload_fraction": FRAME_PAYLOAD} if nic else {}
    client = {op: {"constant": cpu.client, "per_byte": cpu.client_per_byte[op]} for op in cpu.fixed}
    return {
        "store": "minio",
        "workload": {"clients": 1, "operations": 1000, "object_size": "4KiB", "mix": {"GET": 1}},
        "network": network,
        "client": {"cores": cores, **rate, "cpu": client},
        "hosts": {
            "count": lab["hosts"],
            "cores": {"count": cores, "shared": True},
            **rate,
            "cpu": {
                op: {"constant": each, "per_byte": cpu.per_byte[op], "distribution": _VARIES}
                for op, each in cpu.fixed.items()
            },
            "after_response": cpu.after_response,
            "internode": {"call": {"constant": cpu.call}, "lock_conflict_fraction": refused},
        },
        "drives": {
            "count": lab["drives_per_host"],
            "direct": True,
            "commit_in": "queue",
            "queue_depth": drives.get("queue_depth", 1),
            "read": drives["read"],
            "write": drives["write"],
            "commit": drives["fsync"],
        },
        "erasure": {"set_size": lab["set_size"]} if lab.get("set_size") else {},
    }


def _store_cpu_s(run: Run) -> float:
    """Return the CPU time of the store and its drives for a request."""
    return busy_fraction(run) * run.info["environment"]["cores"] * run.duration_s / len(run) - _client_cpu_s(run)


def _client_cpu_s(run: Run) -> float:
    return float(run.info["cpu"]["client_per_op_s"])


def busy_fraction(run: Run) -> float:
    """Return the fraction of the CPU that the store, its drives and the client used."""
    cpu = run.info["cpu"]
    return float(cpu["busy_share"] - cpu["other_share"])


def utilization_of(run: Run) -> float:
    """Return the utilization of the cores in a simulated Run."""
    assert run.stations is not None
    mine = np.array(run.stations.column("role").to_pylist()) == "host cpu"
    return float(run.stations.column("utilization").to_numpy()[mine].max())
