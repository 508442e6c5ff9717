"""How thorough the tests are: each night, or many times a day. TAILCAST_TESTS=nightly, or ci, or absent.

Only `nightly` searches: it draws new examples of everything. What it finds becomes an example with a name, such as
those of `tests/sim/engine/named_networks.py`, and so a test of every other run.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("TAILCAST_TESTS", "default")
NIGHTLY = PROFILE == "nightly"

# Examples differ from run to run, save in ci, where a failure must be of the change at hand.
settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=500, deadline=None, print_blob=True)


def random_examples(usual: int, variable: str = "TAILCAST_NETWORKS") -> settings:
    """Settings of a test that simulates random networks: `usual` ones, the same each time; with nightly ten times as
    many new ones. The environment variable sets another number."""
    count = int(os.environ.get(variable, 10 * usual if NIGHTLY else usual))
    return settings(
        max_examples=count, deadline=None, derandomize=not NIGHTLY, print_blob=NIGHTLY,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
