"""How thorough the tests are: each night, or many times a day. TAILCAST_TESTS=nightly, or ci, or absent.

Only `nightly` searches: it draws new examples of everything. What it finds becomes an example with a name, such as
those of `tests/sim/engine/named_networks.py`, and so a test of every other run.

Parameters of a test that prove the same as others, of other sizes or names, have the marker `nightly`
(`others_nightly`), and so have tests whose kind others prove in less time: only `nightly` runs them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("TAILCAST_TESTS", "default")
NIGHTLY = PROFILE == "nightly"

# Examples differ from run to run, save in ci, where a failure must be of the change at hand.
settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=500, deadline=None, print_blob=True)


def examples(usual: int, **more: Any) -> settings:
    """Settings of a test of a property: `usual` examples, and with nightly ten times as many."""
    return settings(max_examples=10 * usual if NIGHTLY else usual, deadline=None, **more)


def random_examples(usual: int, variable: str = "TAILCAST_NETWORKS") -> settings:
    """Settings of a test that simulates random networks: `usual` ones, the same each time; with nightly ten times as
    many new ones. The environment variable sets another number."""
    count = int(os.environ.get(variable, 10 * usual if NIGHTLY else usual))
    return settings(
        max_examples=count, deadline=None, derandomize=not NIGHTLY, print_blob=NIGHTLY,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def others_nightly(values: Iterable[Any], always: Collection[Any], reason: str) -> list[Any]:
    """Parameters of a test of one argument: those in `always` for every run, and the others for `nightly`.

    Args:
        values: all parameters.
        always: those that differ in kind.
        reason: why the others prove no more than these.
    """
    listed = list(values)
    absent = [value for value in always if value not in listed]
    assert not absent, f"no parameters of the test: {absent}"
    return [value if value in always else pytest.param(value, marks=pytest.mark.nightly(reason)) for value in listed]
