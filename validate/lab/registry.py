"""The stores that the lab can start, by the name that the specs of their models have."""

from __future__ import annotations

from traces.errors import InputError
from traces.spec.suggestions import instead
from validate.lab.ceph.store import Ceph
from validate.lab.garage.store import Garage
from validate.lab.minio.store import Minio
from validate.lab.seaweedfs.store import SeaweedFs
from validate.lab.store import StoreKind
from validate.lab.swift.store import Swift
from validate.lab.versitygw.store import Versitygw

_KINDS: tuple[StoreKind, ...] = (Minio(), Ceph(), Swift(), Versitygw(), SeaweedFs(), Garage())

STORES = {kind.name: kind for kind in _KINDS}


def kind_of(name: str) -> StoreKind:
    """The kind of store with that name.

    Raises:
        InputError: the lab has none.
    """
    if name not in STORES:
        raise InputError(f"store: the lab cannot start {name!r}; {instead(name, STORES)}")
    return STORES[name]
