"""Fields that say how they are fitted, their values by path, and copies with others; on a form of the test's own."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from models.network.service_demand import Demand, ServiceDemand
from models.spec.spec_values import check_value, fit_at, fitted_fields, value_at, with_values
from models.store import spec_of
from tests.specs import minio
from traces.errors import InputError
from traces.operations import Op
from traces.spec.fit_bounds import Fit, declared_fit
from traces.spec.units import Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Workload


class Disk(Strict):
    """A section with a field of its own that can be fitted, and one that cannot."""

    spin_up: Annotated[Seconds, Fit(0.1, 20.0, unit="s")] = 4.0
    heads: int = 2
    weight: float = Field(0.5, lt=1)


class FifoDisk(Strict):
    """The form of a store."""

    workload: Workload
    disk: Disk = Disk()
    read: Demand = ServiceDemand()
    cpu: dict[Op, Demand] = Field({})
    below: Disk | None = None


def form(**sections: Any) -> FifoDisk:
    workload = {
        "clients": 1,
        "operations": 10,
        "mix": {"GET": 1},
        "object_size": {"kind": "lognormal", "mean": 9, "cv": 2},
    }
    return FifoDisk.model_validate({"workload": workload, **sections})


SPEC = form(disk={"spin_up": "2s", "heads": 4}, read="5ms", cpu={"GET": {"constant": "1ms", "per_byte": "2ns"}})


def test_annotated_fields_that_a_spec_names_are_found_in_their_order():
    assert [(path, value) for path, _, value in fitted_fields(SPEC)] == [
        ("disk.spin_up", 2.0),
        ("read.constant", 0.005),
        ("cpu.GET.constant", 0.001),
        ("cpu.GET.per_byte", 2e-9),
    ]
    assert not list(fitted_fields(form()))


def test_how_a_field_is_fitted_stands_on_it():
    assert fit_at(SPEC, "disk.spin_up") == Fit(0.1, 20.0, unit="s") == declared_fit(FifoDisk, ["disk", "spin_up"])
    assert fit_at(SPEC, "disk.weight") is None
    assert [declared_fit(FifoDisk, path.split(".")) for path in ("disk.heads", "cpu.GET.nothing")] == [None, None]
    shape = declared_fit(FifoDisk, ["cpu", "GET", "distribution", "factor"])
    assert shape is not None and shape.tail
    known = declared_fit(FifoDisk, ["cpu", "GET", "per_byte"])
    assert known is not None and (known.unit, known.tail) == ("s/B", False)


def test_a_copy_has_other_values_and_leaves_the_spec():
    changed = with_values(SPEC, {"cpu.GET.constant": 0.5, "cpu.GET.per_byte": 1e-9, "disk.weight": 0.25})
    assert changed.cpu["GET"] == ServiceDemand(constant=0.5, per_byte=1e-9)
    assert changed.disk == Disk(spin_up=2.0, heads=4, weight=0.25)
    assert changed.read is SPEC.read
    assert [value_at(SPEC, path) for path in ("cpu.GET.constant", "disk.weight")] == [0.001, 0.5]


def test_a_copy_is_the_spec_that_the_file_with_these_values_gives():
    values = {"hosts.cpu.GET.constant": 0.002, "client.cpu.HEAD.constant": 0.003, "hosts.cpu.PUT.distribution.cv": 0.7}
    written = [f"{path}={value}" for path, value in values.items() if "HEAD" not in path]
    given = spec_of(minio(*written, "client.cpu.HEAD={constant: 0.003}"), "spec")
    assert with_values(spec_of(minio(), "spec"), values) == given


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("disk.size", "disk.size is not in the spec"),
        ("cpu.PUT.constant", "cpu.PUT.constant is not in the spec"),
        ("below.spin_up", "below.spin_up is not in the spec"),
        ("read.per_byte", "above 0"),
        ("disk", "above 0"),
    ],
)
def test_a_path_without_a_number_above_0_is_refused(path, said):
    with pytest.raises(InputError, match=said):
        value_at(SPEC, path, "disk.yaml")


def test_a_value_is_checked_by_its_section():
    check_value(SPEC, "disk.weight", 0.9)
    check_value(SPEC, "cpu.GET.constant", 3.0)
    with pytest.raises(InputError, match=r"disk\.yaml: disk\.weight: is 1\.5"):
        check_value(SPEC, "disk.weight", 1.5, "disk.yaml")
    with pytest.raises(InputError, match=r"cpu\.GET\.constant: "):
        check_value(SPEC, "cpu.GET.constant", -1.0)
    with pytest.raises(InputError, match=r"disk\.heads: is a whole number"):
        check_value(SPEC, "disk.heads", 3.0)
