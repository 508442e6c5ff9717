"""The spec that a command works on: its file, the values of a profile, and overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.parse.naming import option
from traces.spec_file import load_mapping, override
from validate.calibration.profile import Profile


def spec_mapping(path: Path, profile: Path | None = None, assignments: Sequence[str] | None = None) -> dict[str, Any]:
    """A spec's file as nested mappings, with a profile's values and then those of ``--set``.

    Raises:
        InputError: a file cannot be read, or a value does not fit.
    """
    data = load_mapping(path)
    if profile is not None:
        data = Profile.read(profile).applied_to(data, str(path))
    return overridden(data, assignments)


def overridden(data: Mapping[str, Any], assignments: Sequence[str] | None) -> dict[str, Any]:
    """A copy of a mapping with the values of ``--set``.

    Raises:
        InputError: an assignment is not ``PATH=VALUE``, or its path does not fit.
    """
    with option("--set"):
        return override(data, assignments or ())
