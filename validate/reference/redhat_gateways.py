"""Statements of the Red Hat series of 2019 on gateways and on the bucket index (parts 1 to 4)."""

from __future__ import annotations

from models.ceph.mechanisms.resharding import Reshard, Resharding, schedule
from validate.reference.statements import Statement, Values, Variant, is_steady, listed, rises

SMALL, LARGE = "64KiB", "32MB"
_OPERATIONS = {("PUT", SMALL): 20_000, ("GET", SMALL): 10_000, ("PUT", LARGE): 1000, ("GET", LARGE): 1000}
_LARGE_OBJECTS = 1_200_000  # not published; as in the rows
_CLIENTS = 8  # per gateway, as in the rows


def variant(
    op: str, size: str, gateways: int = 7, *more: str, figure: str = "", spec_name: str | None = None
) -> Variant:
    """Return a workload of one operation, as in the rows; default figure: op/s for small, GB/s for large objects."""
    settings = (
        f"gateways.count={gateways}",
        f"workload.clients={_CLIENTS * gateways}",
        f"workload.object_size={size}",
        *([f"stored.objects={_LARGE_OBJECTS}"] if size == LARGE else []),
        f"workload.mix={{{op}: 1}}",
        f"workload.operations={_OPERATIONS[op, size] * (2 if gateways > 7 else 1)}",
    )
    usual = "throughput_ops" if size == SMALL else "throughput_gb_per_s"
    return Variant((*settings, *more), op, (figure or usual,), spec_name)


# Gateways: parts 1 to 4

_COUNTS = (1, 2, 4, 7, 14)


def _scaling(op: str, limit: float) -> Statement:
    def check(values: Values) -> tuple[bool, str]:
        found = list(values.values())
        per_gateway = [value / count for value, count in zip(found, _COUNTS, strict=True)]
        sublinear = rises([per_gateway[-1], per_gateway[-2], 1.05 * per_gateway[0]]) and found[-1] / found[-2] < 1.3
        near = abs(found[-1] / limit - 1) <= 0.2
        return rises(found) and sublinear and near and found[-1] > 6, (
            f"{listed(found, 2)} GB/s with {listed(_COUNTS)} gateways; {limit} published for 14"
        )

    return Statement(
        f"Large {op}s gain less and less with more gateways, up to a limit of the disks near {limit} GB/s.",
        "1, 3",
        {str(count): variant(op, LARGE, count) for count in _COUNTS},
        check,
    )


def _small_puts(values: Values) -> tuple[bool, str]:
    put, get = values["PUT"], values["GET"]
    return put < get, f"mean latency of a PUT {put:.1f} ms, of a GET {get:.1f} ms"


def _second_gateway(values: Values) -> tuple[bool, str]:
    one, two = values["7"], values["14"]
    return two <= 1.05 * one, f"{listed([one, two])} PUT/s with 7 and 14 gateways"


def _put_cores(values: Values) -> tuple[bool, str]:
    one, four, ten = values.values()
    return four > 1.1 * one and is_steady(
        [four, ten]
    ), f"{listed([one, four, ten])} PUT/s with 1, 4 and 10 cores a gateway"


def _get_cores(values: Values) -> tuple[bool, str]:
    found = list(values.values())
    return is_steady(found), f"{listed(found)} GET/s with 1, 4 and 10 cores a gateway"


def _places(values: Values) -> tuple[bool, str]:
    found = list(values.values())
    return rises(found), f"{listed(found, 2)} GB/s dedicated, collocated, two collocated"


def _second_reader(values: Values) -> tuple[bool, str]:
    small, large = values["small, 2"] / values["small, 1"], values["large, 2"] / values["large, 1"]
    return min(small, large) >= 1.5, (
        f"small GETs {small - 1:+.0%}, large ones {large - 1:+.0%}; published: about +200 % and +90 %"
    )


def _index(values: Values) -> tuple[bool, str]:
    return values["GET"] == 0 < values["PUT"], (
        f"a GET visits bucket index shards {values['GET']:.0f} times, a PUT {values['PUT']:.0f} times"
    )


GATEWAYS = (
    _scaling("PUT", 6.3),
    _scaling("GET", 6.5),
    Statement(
        "A small PUT takes less time than a small GET: it ends on Optane, the GET needs a hard disk.",
        "3",
        {op: variant(op, SMALL, figure="latency_mean_ms") for op in ("PUT", "GET")},
        _small_puts,
    ),
    Statement(
        "Small PUTs do not gain from a second gateway on each node: the disks are busy.",
        "3",
        {"7": variant("PUT", SMALL), "14": variant("PUT", SMALL, 14)},
        _second_gateway,
    ),
    Statement(
        "For writes a gateway needs 4 cores; more do not help.",
        "2",
        {str(cores): variant("PUT", SMALL, 7, f"gateways.cores={cores}") for cores in (1, 4, 10)},
        _put_cores,
    ),
    Statement(
        "For reads 1 core of a gateway does as much as 10.",
        "2",
        {str(cores): variant("GET", SMALL, 7, f"gateways.cores={cores}") for cores in (1, 4, 10)},
        _get_cores,
    ),
    Statement(
        "Gateways on the OSD hosts write more than 4 on hosts of their own (how many those were is not published), and "
        "two on each host more than one.",
        "2",
        {
            "dedicated": variant("PUT", LARGE, 4, "gateways.collocated=false"),
            "collocated": variant("PUT", LARGE),
            "two collocated": variant("PUT", LARGE, 14),
        },
        _places,
    ),
    Statement(
        "Two gateways read much more than one.",
        "2",
        {
            f"{label}, {count}": variant("GET", size, count)
            for label, size in (("small", SMALL), ("large", LARGE))
            for count in (1, 2)
        },
        _second_reader,
    ),
    Statement(
        "Reads do not touch the bucket index; writes do.",
        "4",
        {op: variant(op, SMALL, figure="index_visits") for op in ("GET", "PUT")},
        _index,
    ),
)

# A bucket that grows: part 4

_GROWTH_OPS = 190.0  # of one bucket: 30 M objects in 44 hours
_PRE_SHARDED = 128  # assumed: not published


def _bucket(objects: int, shards: int) -> Variant:
    return variant("PUT", SMALL, 7, f"stored.objects={objects}", f"buckets.shards={shards}", "workload.buckets=1")


def _reshards(shards: int) -> tuple[Reshard, ...]:
    """Return the reshards of a bucket that grows from 0.8 to 30 M objects, in rounds of an hour of writing."""
    return schedule(0.8e6, 30e6, _GROWTH_OPS, Resharding(), "luminous", shards=shards)


def _aging(values: Values) -> tuple[bool, str]:
    young, old = values["young"], values["old"]
    published = 3900 / 5400
    return old < young and abs(old / young / published - 1) <= 0.2, (
        f"{listed([young, old])} PUT/s, {old / young:.2f} of it left; published: {published:.2f}"
    )


def _dips(values: Values) -> tuple[bool, str]:
    events = _reshards(16)
    counts = [16, *(event.new_shards for event in events)]
    blocked = [event.blocked_s for event in events]
    return counts[-1] == 512 and len(events) >= 3 and min(blocked) > 0, (
        f"shards {listed(counts)}; writes blocked for {listed(blocked)} s"
    )


def _pre_sharded(values: Values) -> tuple[bool, str]:
    events = _reshards(_PRE_SHARDED)
    hours = [event.at_s / 3600 for event in events]
    return len(events) == 2 < len(_reshards(16)) and is_steady(list(values.values())), (
        f"{listed(list(values.values()))} PUT/s with few and many objects; reshards after {listed(hours, 1)} hours"
    )


def _together(values: Values) -> tuple[bool, str]:
    events = schedule(0.8e6, 30e6, _GROWTH_OPS, Resharding(), "luminous", shards=16, buckets=7, workers=7)
    begun = {event.at_s for event in events}
    return len(begun) * 7 == len(events), f"{len(events)} reshards of 7 buckets begin at {len(begun)} times"


RESHARDING = (
    Statement(
        "While a bucket grows from 0.8 M objects in 16 shards to 30 M in 512, its PUTs fall from 5.4 to 3.9 K/s.",
        "4",
        {"young": _bucket(800_000, 16), "old": _bucket(30_000_000, 512)},
        _aging,
    ),
    Statement("They stop for a short time at each reshard.", "4", {}, _dips),
    Statement("Buckets with equal writes are resharded at the same time, which is worse.", "4", {}, _together),
    Statement(
        f"Sharded before (here in {_PRE_SHARDED}), a bucket is steadier: it stops twice.",
        "4",
        {"young": _bucket(800_000, _PRE_SHARDED), "old": _bucket(12_000_000, _PRE_SHARDED)},
        _pre_sharded,
    ),
)
