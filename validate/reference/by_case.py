"""The verbal statements of published documents, by reference case."""

from __future__ import annotations

from collections.abc import Mapping

from validate.reference.criterion import BOB, MINIO_OF_BOB, SWIFT
from validate.reference.posix import POSIX
from validate.reference.redhat_gateways import GATEWAYS, RESHARDING
from validate.reference.redhat_stores import BILLION, COMPRESSION, FILESTORE
from validate.reference.statements import Statement

_STATEMENTS: Mapping[str, tuple[Statement, ...]] = {
    "ceph-redhat-rgw": GATEWAYS,
    "ceph-redhat-resharding": RESHARDING,
    "ceph-redhat-compression": COMPRESSION,
    "ceph-redhat-filestore": FILESTORE,
    "ceph-redhat-billion": BILLION,
    "swift-criterion": SWIFT,
    "bob-one-host": BOB,
    "bob-minio-same-host": MINIO_OF_BOB,
    "posix-juicefs": POSIX,
}


def statements_of(case: str) -> tuple[Statement, ...]:
    """Return the statements on a case; empty for most cases."""
    return _STATEMENTS.get(case, ())
