"""The phase of periodic work: which part of its first cycle is over when a run begins.

A store has run for long before a run begins, so the phase is random. It is drawn for each replication from a stream of
its own: the phases of different work are independent, and variants of a model with the same seed have the same ones.
"""

from __future__ import annotations

from traces.random_streams import stream_id, uniforms


def random_phase(seed: int, *name: str | int) -> float:
    """Return the phase of the work with this name, as a fraction of its cycle, uniform on (0, 1)."""
    return float(uniforms(seed, stream_id("phase", *name), 0, 1)[0])
