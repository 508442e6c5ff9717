"""A cluster of 12,000 disks: a forecast in seconds, and in memory that a laptop has."""

from __future__ import annotations

import os
import sys

import pytest

from models.store import load_spec
from sim.analysis.overload import slow_parts
from tests.paths import LARGE
from traces.workload.generate import generate


def test_the_example_has_12000_disks_and_no_slow_parts():
    spec = load_spec(LARGE, ["workload.operations=2000"])
    assert spec.layout.data_osds == 12_000
    assert not slow_parts(spec, generate(spec.workload, 0))


@pytest.mark.nightly("its simulation takes 15 s of CPU; the compilation is tested always")
def test_the_example_is_simulated_in_1_5_gb():
    code = "from cli.main import main; import sys; sys.argv = ['tailcast', 'simulate', sys.argv[1], '--json']; main()"
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", code, str(LARGE)], dict(os.environ))
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert used.ru_maxrss < 1.5e6  # kB
