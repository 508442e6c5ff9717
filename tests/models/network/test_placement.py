from __future__ import annotations

import numpy as np
import pyarrow as pa

from models.network.placement import key_hashes
from tests.small_traces import trace_of


def test_hashes_depend_on_bucket_and_key_alone():
    keys = ["a", "b", "a", "", "ä", "ab", "ba"]
    hashes = key_hashes(trace_of(["GET"] * len(keys), keys))
    assert hashes[0] == hashes[2]
    assert len(set(hashes.tolist())) == len(set(keys))
    assert hashes[3:5].tolist() == key_hashes(trace_of(["GET"] * 2, ["", "ä"])).tolist()


def test_hashes_of_a_sliced_table_are_the_same():
    whole = trace_of(["GET"] * 4, ["a", "b", "c", "d"])
    sliced = type(whole)(whole.table.slice(2), whole.pacing)
    assert isinstance(sliced.table, pa.Table)
    assert key_hashes(sliced).tolist() == key_hashes(whole)[2:].tolist()


def test_keys_spread_evenly():
    n, groups = 20_000, 16
    counts = np.bincount(
        (key_hashes(trace_of(["GET"] * n, [f"object-{i:010}" for i in range(n)])) % groups).astype(int)
    )
    # Chi-square with 15 degrees of freedom: 37.7 is its 99.9 % quantile.
    assert ((counts - n / groups) ** 2 / (n / groups)).sum() < 37.7
