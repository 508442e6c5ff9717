"""Late starts: how far a client fell behind its schedule, and why, as one sentence."""

from __future__ import annotations

from dataclasses import dataclass

from traces.run import Run
from validate.replay.schedule import LATE_S, Schedule

MOST_OTHER = 0.08
"""Maximum fraction of all cores' time used by neither client nor server. Quiet measurements of MinIO show up to 0.045,
including kernel threads that write pages back; measurements with other work on the machine, 0.1 and more."""


@dataclass(frozen=True)
class ClientMachine:
    """What limits when a client can start its requests.

    Attributes:
        processes: number of client processes.
        cores: cores of the client's machine; None: not recorded.
        shared: whether the store may run on the same cores.
        max_in_flight: maximum number of requests in progress in an open loop; None: none, or not recorded.
        other_share: fraction of all cores' time used by neither client nor server; None: unknown.
    """

    processes: int
    cores: int | None
    shared: bool
    max_in_flight: int | None
    other_share: float | None

    @staticmethod
    def of(run: Run) -> ClientMachine:
        """Return what a measured Run recorded."""
        info = run.info
        return ClientMachine(
            int(info.get("processes") or 1),
            (info.get("environment") or {}).get("cores"),
            (info.get("endpoint") or {}).get("kind") != "remote",
            info.get("max_in_flight"),
            other_share(run),
        )


def other_share(run: Run) -> float | None:
    """Return the fraction of all cores' time that neither client nor server used; None if unknown.

    If the CPU time of a server on this machine is unknown, the recorded fraction includes it.
    """
    cpu = run.info.get("cpu") or {}
    remote = (run.info.get("endpoint") or {}).get("kind") == "remote"
    value = cpu.get("other_share")
    return None if value is None or (cpu.get("server_s") is None and not remote) else float(value)


def crowded(schedule: Schedule, max_in_flight: int | None) -> bool:
    """Whether the maximum number of requests was in progress, so that the store is the cause of late starts."""
    return max_in_flight is not None and schedule["in_flight_max"] >= max_in_flight


def late_sentence(schedule: Schedule, client: ClientMachine) -> str:
    """Return how late the requests of a schedule that was not kept started, and why.

    `client`: the client and its machine.
    """
    late = (
        f"{100 * schedule['late_share']:.3g} % of the requests started more than {LATE_S * 1e3:g} ms behind schedule "
        f"(p99 {schedule['lag_p99_s'] * 1e3:.3g} ms, most {schedule['lag_max_s'] * 1e3:.3g} ms)"
    )
    return f"{late}; {'; '.join(_causes(schedule, client))}"


def _causes(schedule: Schedule, client: ClientMachine) -> list[str]:
    causes = []
    if crowded(schedule, client.max_in_flight):
        causes.append(
            f"the maximum of {client.max_in_flight} requests was in progress, so the store was slower than the schedule"
        )
    if client.other_share is not None and client.other_share > MOST_OTHER:
        causes.append(f"other work took {100 * client.other_share:.3g} % of the cores' time")
    return causes or [_client_cause(schedule, client)]


def _client_cause(schedule: Schedule, client: ClientMachine) -> str:
    intended, ratio = schedule["intended_ops"], schedule["rate_ratio"]
    what = "the client could not start its requests on time"
    if intended is not None:
        reached = f" (it reached {schedule['achieved_ops']:.4g}/s)" if ratio is not None and ratio < 0.995 else ""
        what = f"the client could not issue {intended:.4g}/s on time{reached}"
    several = f"{client.processes} process{'' if client.processes == 1 else 'es'}"
    if client.cores is None:
        return f"{what} with {several}"
    on = f"{client.cores} core{'' if client.cores == 1 else 's'}{', which the store uses too' if client.shared else ''}"
    # A store on the same machine needs a core too.
    if client.processes > 1 and client.processes + client.shared > client.cores:
        return f"{what}: {several} compete for {on}; use fewer processes, or a machine with more cores"
    advice = "more processes, " if client.processes + client.shared < client.cores else ""
    return f"{what} with {several} on {on}; use {advice}a lower rate, or a faster client machine"
