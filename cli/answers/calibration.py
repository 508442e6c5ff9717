"""The answer of `calibrate`."""

from __future__ import annotations

from cli.pages.calibration import calibration_page, profile_shown
from cli.present import Answer
from cli.tables.measured.numbers import profile_table
from models.basis.described import DescribedSpec
from validate.calibration.profile import Profile


def profile_answer(profile: Profile, read: DescribedSpec) -> Answer:
    """Return what is shown of a profile; `read`: the spec that it was fitted for."""
    return Answer(
        profile.model_dump(mode="json"),
        lambda: profile_shown(profile),
        page=lambda: calibration_page(profile, read),
        table=lambda: profile_table(profile),
    )
