"""Reading specs: a YAML file with overrides becomes a checked model of a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter

from models.ceph.spec import CephSpec
from models.minio.spec import MinioSpec
from traces.errors import InputError
from traces.spec_file import load_mapping, override, validated

Spec = MinioSpec | CephSpec
"""The spec of any store."""

_STORES: dict[str, type[MinioSpec] | type[CephSpec]] = {"minio": MinioSpec, "ceph": CephSpec}


def load_spec(path: Path, assignments: Sequence[str] = ()) -> Spec:
    """The spec of a YAML file, with ``path.to.value=VALUE`` overrides applied in order.

    Raises:
        InputError: the file is missing, is broken YAML, or a field is wrong; line or field are named.
    """
    return spec_of(override(load_mapping(path), assignments), str(path))


def spec_of(data: dict[str, Any], source: str) -> Spec:
    """The spec that a mapping describes.

    Raises:
        InputError: a field is wrong; `source` and the field are named.
    """
    store = data.get("store")
    if not isinstance(store, str) or store not in _STORES:
        raise InputError(f"{source}: store is {store!r}; allowed are {', '.join(_STORES)}")
    return validated(_STORES[store], data, source)


def spec_type(store: str) -> type[BaseModel]:
    """The form of a store's specs.

    Raises:
        InputError: there is no such store.
    """
    if store not in _STORES:
        raise InputError(f"store is {store!r}; allowed are {', '.join(_STORES)}")
    return _STORES[store]


def json_schema() -> dict[str, Any]:
    """The JSON schema of a spec file."""
    return TypeAdapter(Annotated[Spec, Field(discriminator="store")]).json_schema()
