"""Statements on ways to write files to MinIO: with an S3 client, and through JuiceFS as a mount and as a gateway."""

from __future__ import annotations

from validate.reference.statements import Statement, Values, Variant, listed

_SAME = 0.1
"""Largest fraction by which times are called the same (assumed: those published differ by 2 %)."""

_MINIO = "reference/posix-direct"
_LARGE, _SMALL = "workload.object_size=10GB", "workload.object_size=1MB"
_PANDAS = "client.cpu.PUT.constant=0.822s"


def _put(*settings: str, spec_name: str | None = None) -> Variant:
    """Return a PUT with the settings of a row, which is simulated once then."""
    return Variant(settings, "PUT", ("duration_s",), spec_name)


def _are_the_same(values: Values) -> tuple[bool, str]:
    seconds = list(values.values())
    return max(seconds) <= (1 + _SAME) * min(seconds), f"{listed(seconds, 1)} s"


def _costs_little(values: Values) -> tuple[bool, str]:
    more_s = values["gateway"] - values["direct"]
    return 0 < more_s < 0.05, f"{1e3 * more_s:.1f} ms more than a PUT to MinIO"


POSIX = (
    Statement(
        "JuiceFS writes a file of 10 GB as fast as a client of MinIO does, both by its mount and by its gateway",
        "2023",
        {
            "direct": _put(_LARGE, spec_name=_MINIO),
            "mount": _put("access=mount", _LARGE),
            "gateway": _put("access=gateway", "client.multipart={}", _LARGE),
        },
        _are_the_same,
    ),
    Statement(
        "the gateway overwrites a small file about as fast as MinIO, a little slower",
        "2023",
        {
            "direct": _put(_SMALL, _PANDAS, spec_name=_MINIO),
            "gateway": _put("access=gateway", _SMALL, _PANDAS),
        },
        _costs_little,
    ),
)
"""Published statements that the model of JuiceFS must reproduce."""
