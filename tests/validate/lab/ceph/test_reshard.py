"""A reshard while a replay runs, by a program that stands for Ceph's."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from models.store import load_spec
from tests.paths import EXAMPLES
from tests.validate.lab.ceph.test_configuration import store_in
from validate.lab.ceph import reshard
from validate.lab.ceph.reshard import ReshardAt
from validate.replay.recorded_faults import with_faults


def admin(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """Put a `radosgw-admin` in the path; return the file with its arguments."""
    program = folder / "bin" / "radosgw-admin"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > {folder}/arguments\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(reshard, "newest_bucket", lambda store: "mine")
    return folder / "arguments"


def test_its_copy_begins_with_the_first_line_and_its_event_is_one_of_a_spec(monkeypatch, tmp_path):
    arguments = admin(monkeypatch, tmp_path, "sleep 0.3; echo 'tenant: '; sleep 0.3")
    zero_at, faults = time.time(), ReshardAt(store_in(tmp_path), 0.2, 23)
    faults.begin(time.perf_counter())
    time.sleep(0.3)
    faults.end()
    facts = faults.facts(zero_at, time.time())
    assert arguments.read_text().split()[2:] == ["bucket", "reshard", "--bucket=mine", "--num-shards=23"]
    (staged,), (event,) = facts["lab_faults"], facts["faults"]
    assert 0.5 <= event["at"] == staged["at"] <= staged["until"] - 0.25 and not faults.problems
    assert with_faults(load_spec(EXAMPLES / "ceph" / "box.yaml"), [event], "a Run").faults[-1].shards == 23
    assert faults.facts(time.time(), time.time() + 1) == {}, "it was before this Run"


def test_one_that_fails_is_a_problem_and_no_fault(monkeypatch, tmp_path):
    admin(monkeypatch, tmp_path, "echo 'no such bucket' >&2; exit 2")
    faults = ReshardAt(store_in(tmp_path), 0.0, 23)
    faults.begin(time.perf_counter())
    time.sleep(0.2)
    faults.end()
    assert "no such bucket" in faults.problems[0] and faults.facts(1.0, time.time()) == {}


def test_one_whose_time_does_not_come_is_not_begun(monkeypatch, tmp_path):
    arguments = admin(monkeypatch, tmp_path, "true")
    faults = ReshardAt(store_in(tmp_path), 60.0, 23)
    faults.begin(time.perf_counter())
    faults.end()
    assert not arguments.exists() and not faults.problems
