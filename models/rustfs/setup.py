"""The spec of a new RustFS cluster: MinIO's questions, and RustFS's CPU times."""

from __future__ import annotations

from typing import cast

from models.minio.site.setup import SETUP as MINIO
from models.rustfs.durability import options
from models.rustfs.presets import hosts as host_presets
from models.site.known import Tree, assumed
from models.site.setup import Setup, Site


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    (preset,) = host_presets().values()
    tree = MINIO.draft(site)
    text = f"CPU times of the preset, measured on {preset.measured_on}"
    return {**tree, "hosts": {**cast(Tree, tree["hosts"]), "preset": assumed(preset.name, text)}}


SETUP = Setup(MINIO.questions, draft, options=options)
"""Questions and sections of a RustFS spec."""
