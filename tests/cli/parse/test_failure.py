from __future__ import annotations

import pytest

from cli.parse.failure import parse_failure
from sim.experiments.failure_kinds import Failure
from traces.errors import InputError


@pytest.mark.parametrize(
    ("text", "kind", "which", "value"),
    [
        ("drive", "drive", None, None),
        ("Drive:3", "drive", "3", None),
        ("slow-drive=10", "slow-drive", None, 10),
        ("noisy-neighbour:cpu=50%", "noisy-neighbour", "cpu", 0.5),
        ("noisy-neighbour:CPU=0.5", "noisy-neighbour", "cpu", 0.5),
    ],
)
def test_failures_are_parsed(text, kind, which, value):
    assert parse_failure(text) == Failure(text, kind, which, value)


@pytest.mark.parametrize("text", ["drive=fast", "noisy-neighbour=much%", "drive 3", "noisy-neighbour=500%"])
def test_other_texts_are_refused(text):
    with pytest.raises(InputError, match="failure"):
        parse_failure(text)
