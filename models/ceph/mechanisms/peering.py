"""How long placement groups stop to peer when an OSD is back: PeeringState.cc, OSDMonitor.cc, PaxosService.cc.

Each OSD commits the map of the return before its placement groups take notice (`OSD::_committed_osd_maps`). Their
primaries ask the others what they have, and wait until the monitors have written down that they serve in this interval
(`PeeringState::WaitUpThru`). That is in the next map, which the monitors propose `PROPOSE_S` after the last one
(`PaxosService::should_propose`). The OSDs commit this one, too, and then the activation, before requests are served.

The log of a real 16.2.15 on drives of 8 ms, whose commits take 32 ms: maps 1.00 s from each other, 0.04 to 0.10 s until
OSDs have committed the first, 0.11 s of questions, 0.86 s in WaitUpThru, 0.11 s of activation for each of 101 placement
groups; all of them serve again 1.23 s after the map of the return.
"""

from __future__ import annotations

PROPOSE_S = 1.0
"""paxos_propose_interval: least time between two maps (src/common/options/global.yaml.in)."""
_COMMITS = 3
"""Of each OSD: the map of the return, the next one, and the activation."""


def rejoin_s(commit_s: float) -> float:
    """Return how long placement groups stop when an OSD is back whose missed writes are in their logs.

    Args:
        commit_s: time of a commit of an OSD.
    """
    return PROPOSE_S + _COMMITS * commit_s
