"""CPU times of a Ceph cluster at the speed of its cores."""

from __future__ import annotations

from models.ceph.spec.spec import CephSpec


def at_speed(spec: CephSpec) -> CephSpec:
    """Return the spec with the CPU times that its OSDs and gateways take on their cores.

    Those of erasure coding, compression and encryption stay: they depend on vector instructions, which the speed of a
    core does not show.
    """
    return scaled(spec, 1 / spec.hosts.cores.speed, 1 / spec.gateway_cores.speed)


def scaled(spec: CephSpec, of_osds: float, of_gateways: float = 1.0) -> CephSpec:
    """Return the spec with multiples of the CPU times of OSDs and of gateways."""
    if of_osds == of_gateways == 1:
        return spec
    osd = {"read": spec.osd.read.scaled(of_osds), "write": spec.osd.write.scaled(of_osds)}
    threads = {name: getattr(spec.osd, name) * of_osds for name in ("message", "commit", "commit_member")}
    listing = {name: getattr(spec.buckets, name) * of_osds for name in ("shard_query", "listed_entry")}
    merging = {name: getattr(spec.buckets, name) * of_gateways for name in ("gateway_query", "gateway_entry")}
    requests = {op: demand.scaled(of_gateways) for op, demand in spec.gateways.cpu.items()}
    return spec.model_copy(
        update={
            "osd": spec.osd.model_copy(update=osd | threads),
            "buckets": spec.buckets.model_copy(update=listing | merging),
            "gateways": spec.gateways.model_copy(update={"cpu": requests}),
        }
    )
