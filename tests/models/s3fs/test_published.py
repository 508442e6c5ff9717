"""A published file of 10 GB through s3fs, and a small one that is overwritten (docs/s3fs.md): nothing is fitted.

Rows of `posix_10gb_write.csv` and `posix_small_overwrite.csv` of 2023: 186.38 s, and 0.78 s with the start of pandas.
"""

from __future__ import annotations

import numpy as np

from models.store import load_spec
from sim.simulate import simulate
from tests.models.s3fs.common import trace_of
from tests.paths import EXAMPLES

WRITE_S, DIRECT_S, OVERWRITE_S = 186.38, 27.651, 0.78
TEN_GB = 10**10


def test_10_gb_take_several_times_as_long_as_directly():
    """`mc cp` writes another name and renames it; the SSD of the store bounds what is moved."""
    rows = [(op, "file.part.minio", TEN_GB, None, None) for op in ("PUT", "RENAME")]
    run = simulate(load_spec(EXAMPLES / "s3fs" / "posix.yaml"), trace_of(rows))
    written_s, renamed_s = np.asarray(run.latency_s).tolist()
    assert 4 * DIRECT_S < written_s + renamed_s < WRITE_S
    assert renamed_s > 2 * DIRECT_S  # read and written
    assert written_s > 3 * DIRECT_S  # to the temporary drive, to the store, and half of it copied there


def test_a_small_overwrite_takes_a_hundredth_of_what_is_published():
    """So what is published is the start of Python and pandas, in all four ways to write."""
    rows = [(op, "table.csv", 20_000, None, None) for op in ("GET", "PUT")]
    run = simulate(load_spec(EXAMPLES / "s3fs" / "posix.yaml"), trace_of(rows))
    assert float(np.sum(run.latency_s)) < OVERWRITE_S / 50
