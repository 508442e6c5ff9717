"""Protection: which losses leave objects that can be read, and places that can be written to."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from models.shared.protection import Protection


@pytest.mark.parametrize(
    ("protection", "width", "reads_without", "writes_without"),
    [
        (Protection.replicas(3), 3, 2, 0),
        (Protection.replicas(3, write_quorum=2), 3, 2, 1),
        (Protection.replicas(3, 2, 2), 3, 1, 1),
        (Protection.erasure(4, 2), 6, 2, 0),
        (Protection.erasure(4, 2, write_quorum=5), 6, 2, 1),
        (Protection.replicas(1), 1, 0, 0),
    ],
)
def test_as_many_parts_may_be_lost_as_quorums_leave(protection, width, reads_without, writes_without):
    lost = np.arange(width + 1)
    assert protection.width == width
    assert protection.left(lost).tolist() == [width - n for n in lost]
    assert protection.can_read(lost).tolist() == [n <= reads_without for n in lost]
    assert protection.can_write(lost).tolist() == [n <= writes_without for n in lost]
    assert [protection.lacking(int(n)) for n in lost] == [max(0, n - writes_without) for n in lost]


def test_quorums_that_overlap_read_what_was_written_last():
    """Gifford, "Weighted voting for replicated data", SOSP 1979: r + w > n."""
    protection = Protection.replicas(5, write_quorum=3, read_quorum=3)
    parts = range(protection.width)
    written = combinations(parts, protection.write_quorum)
    assert all(set(w) & set(r) for w in written for r in combinations(parts, protection.read_quorum))
    assert protection.read_quorum + protection.write_quorum > protection.width


@pytest.mark.parametrize("wrong", [(0, 1, 1, 1), (1, -1, 1, 1), (4, 2, 7, 4), (4, 2, 0, 4), (4, 2, 5, 3), (4, 2, 5, 7)])
def test_quorums_that_no_request_meets_are_refused(wrong):
    with pytest.raises(ValueError, match="at least"):
        Protection(*wrong)
