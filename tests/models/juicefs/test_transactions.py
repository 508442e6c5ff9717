"""Transactions on one folder or file: locks of a mount, and conflicts of several mounts and of gateways."""

from __future__ import annotations

import numpy as np
import pytest

from models.juicefs.metadata import IN_FOLDER, rounds
from tests.models.juicefs.test_counts import DISK, ROUND_S, juicefs, outcome_of, requests

MKNOD = len(rounds("redis", "mknod"))
RENAME = len(rounds("redis", "rename"))
SETATTR, WRITE = (len(rounds("redis", name)) for name in ("setattr", "write"))


def created(count: int, *assignments: str, folders: int = 1, op: str = "CREATE"):
    """Return the latencies of files created at one time, in rounds, ascending; attributes and entries are cached."""
    first = [{"op": "STAT", "key": f"{k % folders}/f{k}", "at": 0.0} for k in range(count)]
    rows = [{"op": op, "key": f"{k % folders}/f{k}", "at": 0.5} for k in range(count)]
    # Requests use the mounts in turn, so those of a folder are looked up by each of them.
    outcome, program = outcome_of(juicefs(DISK, "attributes.lifetime=1h", *assignments), requests([*first, *rows]))
    conflicts = [k for k, s in enumerate(program.network.stations) if s.role == "metadata conflicts"]
    # Each transaction visits the counter three times, and two more times when it is repeated.
    repeated = outcome.visits[conflicts].sum() - 3 * count if conflicts else 0
    return np.sort(outcome.end_s[count:] - 0.5) / ROUND_S, repeated / 2


def test_a_mount_makes_transactions_on_a_folder_one_after_the_other():
    latency, repeated = created(4)
    assert latency.tolist() == pytest.approx([(1 + MKNOD) * (k + 1) for k in range(4)])
    assert not repeated


def test_transactions_on_different_folders_do_not_wait():
    latency, _ = created(4, folders=4)
    assert latency.tolist() == pytest.approx([1 + MKNOD] * 4)


def test_of_mounts_that_change_a_folder_at_the_same_time_one_commits_and_the_others_repeat():
    latency, repeated = created(4, "mounts.count=4")
    # What follows the commit of a transaction comes before it here, so one takes as long with repetitions or without.
    assert latency[0] == pytest.approx(1 + MKNOD)
    assert latency[1] == pytest.approx(1 + 2 * MKNOD)  # no pause before the first repetition
    # The others pause for up to 3 ms, 8 ms and so on: their order is random.
    assert 1 + 2 * MKNOD < latency[2] < latency[3] < 1 + 8 * MKNOD
    assert repeated >= 3


@pytest.mark.parametrize("engine", ["postgresql", "tikv"])
def test_other_engines_do_not_repeat_transactions_on_a_folder(engine):
    latency, repeated = created(4, "mounts.count=4", f"metadata={{preset: {engine}, latency: 1ms}}")
    assert not repeated
    assert latency.max() < 1.2 * latency.min()


def test_gateways_conflict_even_with_themselves_when_files_get_their_names():
    """The file comes from a temporary folder, whose lock does not keep others from the folder of the objects."""
    made = [{"op": "PUT", "key": f"folder/{k}", "at": 0.0} for k in range(6)]
    spec = juicefs(DISK, "access=gateway", "tmp_folders=4096", "attributes.lifetime=0s")
    outcome, _ = outcome_of(spec, requests(made))
    alone, _ = outcome_of(spec, requests(made[:1]))
    late = np.sort(outcome.end_s - alone.end_s[0]) / ROUND_S
    assert late[0] == pytest.approx(0, abs=1e-9)
    assert late[1] == pytest.approx(RENAME, abs=1e-6)
    assert (late[2:] > RENAME).all()
    assert np.isfinite(outcome.end_s).all()


def test_the_operations_that_change_a_folder_are_transactions_of_all_engines():
    for engine in ("redis", "sql", "tikv"):
        assert all(any(each.commits for each in rounds(engine, name)) for name in IN_FOLDER)


# Transactions on a file


def changed_modes(count: int, *assignments: str, files: int = 1):
    """Return the latencies of SETATTRs at one time in rounds, ascending, and the repetitions; entries are cached."""
    first = [{"op": "STAT", "key": f"d/f{k % files}", "at": 0.0} for k in range(count)]
    rows = [{"op": "SETATTR", "key": f"d/f{k % files}", "at": 0.5} for k in range(count)]
    outcome, program = outcome_of(juicefs(DISK, "attributes.lifetime=1h", *assignments), requests([*first, *rows]))
    conflicts = [k for k, s in enumerate(program.network.stations) if s.role == "metadata conflicts"]
    repeated = outcome.visits[conflicts].sum() - 3 * count if conflicts else 0
    return np.sort(outcome.end_s[count:] - 0.5) / ROUND_S, repeated / 2


def test_a_mount_makes_transactions_on_a_file_one_after_the_other():
    latency, repeated = changed_modes(4)
    assert latency.tolist() == pytest.approx([SETATTR * (k + 1) for k in range(4)])
    assert not repeated
    alone, _ = changed_modes(8, files=4)
    assert alone.tolist() == pytest.approx([SETATTR] * 4 + [2 * SETATTR] * 4)


def test_of_mounts_that_change_a_file_at_the_same_time_one_commits_and_the_others_repeat():
    latency, repeated = changed_modes(4, "mounts.count=4")
    assert latency[0] == pytest.approx(SETATTR)
    assert latency[1] == pytest.approx(2 * SETATTR)
    assert 2 * SETATTR < latency[2] < latency[3] < 8 * SETATTR
    assert repeated >= 3
    other, none = changed_modes(4, "mounts.count=4", "metadata={preset: tikv, latency: 1ms}")
    assert not none and other.max() < 1.2 * other.min()


def test_syncs_of_several_mounts_on_one_file_conflict_in_their_commits():
    """Each mount overwrites a place of its own and syncs: what repeats is the commit, not the upload."""
    rows = []
    for k in range(3):
        of = {"key": "d/f", "size": 1 << 20}
        rows += [{"op": "WRITE", "start": k * 8192, "length": 4096, "at": 0.0, **of}]
        rows += [{"op": "FSYNC", "at": 0.001, **of}]
    one, _ = outcome_of(juicefs(DISK), requests(sorted(rows[:2], key=lambda row: row["at"])))
    spec = juicefs(DISK, "mounts.count=3")
    outcome, program = outcome_of(spec, requests(sorted(rows, key=lambda row: row["at"])))
    conflicts = [k for k, s in enumerate(program.network.stations) if s.role == "metadata conflicts"]
    assert outcome.visits[conflicts].sum() > 3 * 3
    assert outcome.end_s.max() > one.end_s.max() + WRITE * ROUND_S
