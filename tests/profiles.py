"""How thorough the tests are: each night, or many times a day. TAILCAST_TESTS=nightly, or ci, or absent."""

from __future__ import annotations

import os

from hypothesis import settings

PROFILE = os.environ.get("TAILCAST_TESTS", "default")
NIGHTLY = PROFILE == "nightly"

# Examples differ from run to run, save in ci, where a failure must be of the change at hand.
settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=500, deadline=None)
