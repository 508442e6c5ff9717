"""The reference cases of Swift, Bob and the MinIO on the same host: rows, statements, and constants in common."""

from __future__ import annotations

import pytest

from models.store import load_spec
from sim.simulate import simulate
from validate.reference.by_case import statements_of
from validate.reference.cases import case_named
from validate.reference.figures import figure
from validate.reference.forecast import forecast

NAMES = ("swift-criterion", "bob-one-host", "bob-minio-same-host")


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_as_good_as_it_claims(name):
    case = case_named(name)
    result = forecast(case)
    assert result.error.all.median < case.tolerance
    assert result.error.held_out.median < case.tolerance
    assert [statement.holds for statement in result.statements] == [True] * len(statements_of(name))


def test_the_same_host_has_the_same_hardware():
    bob, minio = (load_spec(case_named(name).spec) for name in NAMES[1:])
    assert bob.network.latency == minio.network.latency
    folders = minio.hosts.count * minio.drives.count
    assert minio.drives.write.per_byte == pytest.approx(bob.drives.write.per_byte * folders)


@pytest.mark.parametrize("op", ["GET", "PUT"])
def test_outliers_are_tukey_s_classes(op):
    run = simulate(load_spec(case_named("swift-criterion").spec, [f"workload.mix={{{op}: 1}}"]))
    mild, severe = (figure(run, op, f"{kind}_outliers_percent") for kind in ("mild", "severe"))
    assert 3 < mild < 10 and 2 < severe < 8
    if op == "GET":
        assert 0 < figure(run, op, "first_byte_mean_ms") <= figure(run, op, "latency_mean_ms")
