"""The spec of a Silo cluster: that of MinIO, with Silo's releases.

Silo (pgsty/silo) keeps MinIO's code, its on-disk format, its variables and its command line (opencti issue 18238); what
it changes are fixes, packages and the console. No mechanism of its own is known, and none has been measured.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from models.minio.spec.release import Release
from models.minio.spec.spec import MinioSpec
from traces.spec.field_notes import Basis

_FORKED = "2025-10-15"
"""The last release of MinIO itself, which was archived in April 2026; Silo's follow it."""
_LATEST = "2026-09-03"


class SiloSpec(MinioSpec):
    """A Silo cluster, its clients and their workload."""

    store: Literal["silo"] = Field(description="Selects the model of Silo, which is MinIO's.")  # type: ignore[assignment]
    release: Annotated[
        Release, Basis("RELEASE.2026-09-03T13-18-01Z, whose code is MinIO's last in what is modelled")
    ] = Field(
        _LATEST,
        description="Date of the release, such as 2026-09-03. All that are Silo's have the requests of MinIO's last: a "
        "PUT looks up the object first, and requests beyond `hosts.max_requests` are refused at once.",
    )

    @field_validator("release")
    @classmethod
    def _is_after_the_fork(cls, release: str) -> str:
        if release < _FORKED:
            raise ValueError(f"is {release}, a release of MinIO; Silo's begin after {_FORKED}, so give `store: minio`")
        return release
