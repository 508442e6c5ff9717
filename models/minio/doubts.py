"""What is probably not meant in a valid spec of MinIO, and its largest objects."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Doubt, ObjectLimits
from models.minio.spec.release import EARLIEST, LATEST
from models.minio.spec.spec import MinioSpec

OBJECT_LIMITS = ObjectLimits(
    5 << 40,
    10_000 * (5 << 30),
    "globalMaxObjectSize, and 10,000 parts of globalMaxPartSize: cmd/utils.go",
)
"""MinIO's documentation, "Thresholds and limits": 5 TiB by one PUT, 50 TiB in parts (5 TiB in early releases)."""


def doubts(spec: MinioSpec) -> Iterator[Doubt]:
    """Yield a scanner that is off although it has a section, and releases that the model does not know."""
    if "scanner" in spec.model_fields_set and spec.scanner.speed == "off" and not _says_speed(spec):
        yield Doubt("scanner", "is off, because speed is not given; MinIO's own setting is speed: default")
    if spec.release < EARLIEST:
        text = (
            f"{spec.release} is before {EARLIEST}: except for the parity and the files of objects, the model has the "
            "accesses of later releases"
        )
        yield Doubt("release", text)
    if spec.release > LATEST:
        yield Doubt("release", f"{spec.release} is after {LATEST}, the latest that the model was compared with")


def _says_speed(spec: MinioSpec) -> bool:
    return "speed" in spec.scanner.model_fields_set
