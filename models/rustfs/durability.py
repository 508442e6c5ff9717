"""What the objects of a RustFS survive: MinIO's erasure sets, of which `durability` says what is synced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from models.durability.durability import Durability
from models.minio.durability import durability as minio_durability
from models.minio.durability import options as minio_options
from models.rustfs.spec import RustfsSpec
from models.site.options import Hardware, Option

_SYNCED = {
    "strict": "parts, xl.meta and directories",
    "relaxed": "parts, but neither xl.meta nor directories",
    "none": "nothing",
}
_SOURCE = "crates/ecstore/src/bucket/durability.rs, crates/ecstore/src/set_disk"


def durability(spec: RustfsSpec) -> Durability:
    """Return how objects are kept; a part without its xl.meta is lost."""
    return replace(
        minio_durability(spec),
        synced=spec.durability == "strict",
        reason=f"a PUT waits for all online drives, which sync {_SYNCED[spec.durability]}",
        source=_SOURCE,
        caveat="",
    )


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield MinIO's settings, each as new buckets have it, and then with all that a PUT writes synced."""
    for option in minio_options(hardware):
        for mode in ("relaxed", "strict"):
            yield replace(option, text=f"{option.text}, {mode}", sets={**option.sets, "durability": mode})
