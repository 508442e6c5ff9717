"""Statements of the Red Hat series of 2019 on compression, FileStore, and a billion objects (parts 5 to 7)."""

from __future__ import annotations

from collections.abc import Callable

from validate.reference.redhat_gateways import LARGE, SMALL, variant
from validate.reference.statements import STEADY, Statement, Values, Variant, is_steady, listed

_OLD = "ceph/redhat-210-filestore"

# FileStore: part 6

_FEW, _MANY = 50_000_000, 240_000_000  # not published; before RocksDB spills


def _at(objects: int, op: str, spec_name: str | None = None) -> Variant:
    gateways = 4 if spec_name else 7
    return variant(op, SMALL, gateways, f"stored.objects={objects}", spec_name=spec_name)


def _collapse(values: Values) -> tuple[bool, str]:
    file, blue = (values["file, few"], values["file, many"]), (values["blue, few"], values["blue, many"])
    return file[1] < 0.5 * file[0] and blue[1] > 0.8 * blue[0], (
        f"GET/s with {_FEW / 1e6:.0f} M and {_MANY / 1e6:.0f} M objects: FileStore {listed(file)}, "
        f"BlueStore {listed(blue)}"
    )


def _five_times(values: Values) -> tuple[bool, str]:
    file, blue = values["file"], values["blue"]
    return blue > 5 * file, f"PUT/s: FileStore {file:.0f}, BlueStore {blue:.0f}: {blue / file:.1f} times"


def _twice(values: Values) -> tuple[bool, str]:
    file, blue = values["file"], values["blue"]
    return 1.6 <= blue / file <= 2.5, f"FileStore {file:.2f} GB/s, BlueStore {blue:.2f}: {blue / file:.1f} times"


FILESTORE = (
    Statement(
        "Reads of small objects collapse with FileStore as objects become many, and stay flat with BlueStore.",
        "6",
        {
            "file, few": _at(_FEW, "GET", _OLD),
            "file, many": _at(_MANY, "GET", _OLD),
            "blue, few": _at(_FEW, "GET"),
            "blue, many": _at(_MANY, "GET"),
        },
        _collapse,
    ),
    Statement(
        "BlueStore on half the disks writes more than 5 times as many small objects.",
        "6",
        {"file": _at(_MANY, "PUT", _OLD), "blue": _at(_MANY, "PUT")},
        _five_times,
    ),
    Statement(
        "BlueStore writes large objects twice as fast.",
        "6",
        {"file": variant("PUT", LARGE, 4, spec_name=_OLD), "blue": variant("PUT", LARGE)},
        _twice,
    ),
)

# A billion objects: part 7

_READERS = 224
_STATES = {"start": 290_000_000, "half": 500_000_000, "late": 850_000_000, "end": 1_014_912_090}


def _filled(objects: int, op: str, *more: str, figure: str = "throughput_ops") -> Variant:
    """Return a round of writes or reads with `objects` in the cluster; more clients read than write (assumed)."""
    clients = (f"workload.clients={_READERS}",) if op == "GET" else ()
    return Variant((f"stored.objects={objects}", "workload.operations=10000", *clients, *more), op, (figure,))


def _steady_reads(values: Values) -> tuple[bool, str]:
    found = list(values.values())
    return is_steady(found), f"{listed(found)} GET/s with {listed([n / 1e6 for n in _STATES.values()])} M objects"


def _declining_writes(values: Values) -> tuple[bool, str]:
    found = [values[state] for state in _STATES]
    large = values["large block.db"]
    return found[-1] < (1 - STEADY) * found[0] and large > found[-1], (
        f"{listed(found)} PUT/s with {listed([n / 1e6 for n in _STATES.values()])} M objects; "
        f"{large:.0f} at the end if RocksDB did not spill"
    )


def _crossing(values: Values) -> tuple[bool, str]:
    put = [values[f"PUT {state}"] for state in _STATES]
    get = [values[f"GET {state}"] for state in _STATES]
    return put[0] < get[0] and put[1] < get[1] and put[-1] > get[-1], (
        f"mean latencies in ms: PUT {listed(put, 1)}, GET {listed(get, 1)}"
    )


def _spilled(values: Values) -> tuple[bool, str]:
    return values["spilled"] > 80, f"{values['spilled']:.0f} GB of each OSD's RocksDB are on its hard disk"


def _amplification(values: Values) -> tuple[bool, str]:
    return values["space"] == 6, f"{values['space']:.2f} bytes allocated for each stored"


BILLION = (
    Statement(
        "Reads stay steady up to a billion objects.",
        "7",
        {state: _filled(objects, "GET") for state, objects in _STATES.items()},
        _steady_reads,
    ),
    Statement(
        "Writes decline once RocksDB has outgrown block.db.",
        "7",
        {
            **{state: _filled(objects, "PUT") for state, objects in _STATES.items()},
            "large block.db": _filled(_STATES["end"], "PUT", "db.size=400GB"),
        },
        _declining_writes,
    ),
    Statement(
        "A write takes less time than a read in the first half, and more at the end.",
        "7",
        {
            f"{op} {state}": _filled(objects, op, figure="latency_mean_ms")
            for op in ("PUT", "GET")
            for state, objects in _STATES.items()
        },
        _crossing,
    ),
    Statement(
        "More than 80 GB of metadata have spilled on each OSD at the end.",
        "7",
        {"spilled": _filled(_STATES["end"], "PUT", figure="spilled_gb_per_osd")},
        _spilled,
    ),
    Statement(
        "With allocation units of 64 KiB an object of 64 KiB takes 6 times its size.",
        "7",
        {"space": _filled(_STATES["end"], "PUT", figure="space_amplification")},
        _amplification,
    ),
)

# Compression: part 5

_MODES = ("none", "aggressive")


def _costs(published: float) -> Callable[[Values], tuple[bool, str]]:
    def check(values: Values) -> tuple[bool, str]:
        found = [values[mode] for mode in _MODES]
        lost = 1 - found[1] / found[0]
        return lost > 0 and abs(lost - published) <= 0.05, (
            f"{listed(found)} a second without and with it: {lost:.1%} less; published: {published:.0%}"
        )

    return check


def _writes(spec_name: str, operations: int) -> dict[str, Variant]:
    settings = {mode: (f"bluestore.compression.mode={mode}", f"workload.operations={operations}") for mode in _MODES}
    return {mode: Variant(settings[mode], "PUT", ("throughput_ops",), spec_name) for mode in _MODES}


COMPRESSION = (
    Statement(
        "Aggressive compression costs fio on RBD volumes about 10 % of its writes.",
        "5",
        _writes("ceph/rbd-fio", 40_000),
        _costs(0.10),
    ),
    Statement(
        "It costs MySQL on RBD volumes about 7 % of its transactions.",
        "5",
        _writes("ceph/mysql", 10_000),
        _costs(0.07),
    ),
)
