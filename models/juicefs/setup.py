"""The spec of a new JuiceFS: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.juicefs.presets import engines
from models.juicefs.readers import READERS
from models.site import common
from models.site.below import BELOW_QUESTION, below
from models.site.kinds import COUNT, SIZE, TIME, choice
from models.site.known import Known, Tree, assumed
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    BELOW_QUESTION,
    Question("access", "How applications reach it", choice("mount", "gateway"), "mount", "its usual form"),
    Question("mounts", "Machines with a mount, or gateways", COUNT),
    Question("mount-cores", "Cores of each of them", COUNT, 8, "a small server", 4, 32),
    Question("metadata", "Metadata engine", choice(*engines())),
    Question("metadata-latency", "Latency to the metadata engine, one way", TIME, "0.1ms", "same zone", "30us", "1ms"),
    Question("cache", "Cache of each mount on its own drives", SIZE, "4GiB", "a small cache"),
    *common.WORKLOAD,
)

_CPU = {
    "GET": {"constant": "60us", "per_byte": "0.5ns"},
    "PUT": {"constant": "80us", "per_byte": "0.7ns"},
    "HEAD": "15us",
    "DELETE": "20us",
    "LIST": "50us",
}
"""CPU times of a mount, with the kernel's part: assumed, as in examples/juicefs/mount.yaml."""


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    return {
        "access": site["access"],
        "workload": common.workload(site),
        "client": {"timeout": assumed("60s", "that of common clients")},
        "mounts": {
            "count": site["mounts"],
            "cores": site["mount-cores"],
            "cpu": {op: Known(value, "assumed: no measurement") for op, value in _CPU.items()},
        },
        "metadata": {"preset": site["metadata"], "latency": site["metadata-latency"]},
        **({"blocks": blocks} if (blocks := site.optional(size="block")) else {}),
        "cache": {
            "size": site["cache"],
            "read": Known({"constant": "0.1ms", "per_byte": "0.5ns"}, "assumed: a local flash drive"),
        },
        "below": below(site, None),
    }


SETUP = Setup(_QUESTIONS, draft, READERS)
"""Questions and sections of a JuiceFS spec."""
