"""The recorded Runs of real stores among the examples, with the specs that predict them: data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError
from validate.calibration.profile import Profile
from validate.reference.cases import SPECS


@dataclass(frozen=True)
class Recording:
    """Runs of one store, recorded under one folder.

    Attributes:
        folder: among the examples; its folders with a ``run.json`` are the Runs.
        spec_name: the spec among the examples.
        profile_name: a profile among the examples, applied to the spec; None: there is none.
        fitted: names of Runs to which values of the spec were fitted, in addition to those of the profile.
    """

    folder: str
    spec_name: str
    profile_name: str | None = None
    fitted: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name on the scoreboard."""
        return self.folder.replace("/", "-")

    @property
    def spec(self) -> Path:
        """The file of the spec."""
        return SPECS / f"{self.spec_name}.yaml"

    @property
    def runs(self) -> list[Path]:
        """The folders of the Runs.

        Raises:
            InputError: there is none.
        """
        found = sorted(file.parent for file in (SPECS / self.folder).glob("*/run.json"))
        if not found:
            raise InputError(
                f"{SPECS / self.folder}: has no Run; the scoreboard needs a checkout of the project, with its examples"
            )
        return found

    @property
    def profile(self) -> Profile | None:
        """The profile.

        Raises:
            InputError: its file is missing or invalid.
        """
        return None if self.profile_name is None else Profile.read(SPECS / f"{self.profile_name}.yaml")


RECORDINGS = (
    Recording("demo", "demo/minio", "demo/fitted/profile"),
    Recording("recorded", "minio", "recorded/profile"),
    Recording("recorded-box", "recorded-box/minio", fitted=("light-get", "light-put")),
    Recording("recorded-ceph", "recorded-ceph/ceph"),
    Recording("recorded-swift", "recorded-swift/swift", fitted=("light-get", "light-put")),
)
"""All recordings."""
