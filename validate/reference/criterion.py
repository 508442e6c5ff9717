"""Statements of 2024 on Swift, Bob and MinIO, measured with criterion by one request after the other."""

from __future__ import annotations

from validate.reference.statements import Statement, Values, Variant, is_steady, listed, rises

_MINIO = "bob/minio-same-host"
_TWO = ("hosts.processes=2", "vdisks.replicas=2")
_TWO_OF_MINIO = ("hosts.processes=2", "drives.count=4")


def _get(size: str) -> Variant:
    return Variant((f"workload.object_size={size}", "workload.operations=100"), "GET", ("first_byte_mean_ms",))


def _put(size: str) -> Variant:
    settings = ("workload.mix={PUT: 1}", f"workload.object_size={size}", "workload.operations=200")
    return Variant(settings, "PUT", ("latency_mean_ms",))


def _p50(op: str, *settings: str, spec_name: str | None = None) -> Variant:
    return Variant((f"workload.mix={{{op}: 1}}", *settings), op, ("latency_p50_ms",), spec_name)


def _first_bytes(values: Values) -> tuple[bool, str]:
    found = list(values.values())
    return is_steady(found), f"{listed(found, 1)} ms"


def _few_more(values: Values) -> tuple[bool, str]:
    more_ms = values["216 KB"] - values["3.31 KB"]
    return 1.0 < more_ms < 4.0, f"{more_ms:.1f} ms more; published: about 2"


def _large(values: Values) -> tuple[bool, str]:
    found = [values["216 KB"], values["3393 KB"]]
    return rises(found) and found[1] > 2 * found[0], f"{listed(found, 1)} ms"


SWIFT = (
    Statement(
        "The time to the first byte of a GET does not depend on the size of the object.",
        "criterion",
        {size: _get(size) for size in ("3310B", "3393kB", "424MB")},
        _first_bytes,
    ),
    Statement(
        "A PUT of 216 KB takes only about 2 ms more than one of 3.31 KB.",
        "criterion",
        {"3.31 KB": _put("3310B"), "216 KB": _put("216kB")},
        _few_more,
    ),
    Statement(
        "A PUT of 3.4 MB takes more than twice as long.",
        "criterion",
        {"216 KB": _put("216kB"), "3393 KB": _put("3393kB")},
        _large,
    ),
)


def _twice(values: Values) -> tuple[bool, str]:
    ratios = [values[f"{size}, two"] / values[f"{size}, one"] for size in ("1KiB", "100MiB")]
    return all(1.8 <= ratio <= 2.5 for ratio in ratios), f"{listed(ratios, 2)} times; published: 2.30 and 2.06"


def _no_slower(values: Values) -> tuple[bool, str]:
    found = [values["one"], values["two"]]
    return found[1] <= 1.15 * found[0], f"{listed(found, 3)} ms with one and two nodes"


def _faster(values: Values) -> tuple[bool, str]:
    ratio = values["MinIO"] / values["Bob"]
    return ratio > 4, f"{ratio:.1f} times; published: 4.9"


BOB = (
    Statement(
        "With two nodes a PUT takes about twice as long as with one.",
        "criterion",
        {
            f"{size}, {label}": _p50("PUT", f"workload.object_size={size}", *settings)
            for size in ("1KiB", "100MiB")
            for label, settings in (("one", ()), ("two", _TWO))
        },
        _twice,
    ),
    Statement(
        "With two nodes a GET of 100 MiB takes no longer than with one.",
        "criterion",
        {
            label: _p50("GET", "workload.object_size=100MiB", "workload.operations=50", *settings)
            for label, settings in (("one", ()), ("two", _TWO))
        },
        _no_slower,
    ),
    Statement(
        "With two nodes each, a small PUT is several times faster than MinIO's on the same host.",
        "criterion",
        {
            "Bob": _p50("PUT", *_TWO),
            "MinIO": _p50("PUT", *_TWO_OF_MINIO, "drives.write.per_byte=52ns", spec_name=_MINIO),
        },
        _faster,
    ),
)


def _slower(values: Values) -> tuple[bool, str]:
    small, large = (values[f"{size}, two"] / values[f"{size}, one"] for size in ("1KiB", "100MiB"))
    return 1.4 <= small <= 1.8 and large < 1.15, f"{small:.2f} and {large:.2f} times; published: 1.59 and 1.01"


MINIO_OF_BOB = (
    Statement(
        "With two nodes a small GET takes longer than with one, a large one does not.",
        "criterion",
        {
            f"{size}, {label}": _p50("GET", f"workload.object_size={size}", "workload.operations=50", *settings)
            for size in ("1KiB", "100MiB")
            for label, settings in (("one", ()), ("two", _TWO_OF_MINIO))
        },
        _slower,
    ),
)
