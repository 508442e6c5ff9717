"""What stores keep of a cluster for its variants is what they would make anew."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from models.shared.recent import Recent
from models.spec.spec_values import with_part
from models.store import Spec, compile_spec, load_spec, spec_of
from tests.paths import EXAMPLES
from tests.profiles import others_nightly
from traces.errors import InputError
from traces.trace import Trace
from traces.workload.generate import generate

_REQUESTS = 60
SPECS = [
    "minio.yaml", "ceph/nvme-squid.yaml", "ceph/osd-down.yaml", "ceph/redhat-112-hdd.yaml", "ceph/mysql.yaml",
    "minio/two-pools.yaml", "minio-12-hdd.yaml", "minio-two-groups.yaml", "ceph/rbd-ec-squid.yaml",
    "ceph/billion-objects.yaml", "ceph/reshard-stall.yaml", "ceph/box.yaml",
]  # fmt: skip
CHANGED = {"minio": ["_CLUSTERS"], "ceph": ["_COSTS", "_STATIONS", "_NETWORKS"]}
"""What the compilers of stores keep."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of each number and each truth value of a spec."""
    if isinstance(value, BaseModel):
        parts = [(name, getattr(value, name)) for name in type(value).model_fields]
    elif isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, tuple):
        parts = [(str(number), each) for number, each in enumerate(value)]
    else:
        parts = []
        if isinstance(value, bool | int | float):
            yield path, value
    for name, each in parts:
        yield from leaves(each, f"{path}.{name}" if path else str(name))


def changed(spec: Spec, path: str, value: Any) -> Spec | None:
    """Return the spec with another value that it allows; None: it allows none of those tried."""
    for other in (not value,) if isinstance(value, bool) else (2 * value, value + 1, value / 2, value - 1):
        with contextlib.suppress(InputError, ValueError):
            kind = type(value)
            data = with_part(spec, path, kind(other)).model_dump(mode="json", exclude_unset=False, exclude={"assumed"})
            return spec_of(data, "test")
    return None


def compiled(spec: Spec, trace: Trace) -> Any:
    try:
        return compile_spec(spec, trace)
    except InputError as error:
        return str(error)


def assert_same(a: Any, b: Any, path: str) -> None:
    """Assert that two values are equal in all parts, with the same types and bits."""
    assert type(a) is type(b), path
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), path
    elif is_dataclass(a):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), f"{path}.{field.name}")
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), path
        for number, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{path}.{number}")
    else:
        assert a == b and repr(a) == repr(b), path


@pytest.mark.parametrize(
    "name",
    others_nightly(
        SPECS, ("minio.yaml", "ceph/osd-down.yaml"), "other examples of the same stores, with more of their fields"
    ),
)
def test_each_field_of_an_example_changes_what_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = load_spec(EXAMPLES / name)
    spec = spec_of(spec.model_dump(mode="json", exclude={"assumed"}), "test")
    module = importlib.import_module(f"models.{spec.store}.compile")
    variants = [spec, *(found for path, value in leaves(spec) if (found := changed(spec, path, value)) is not None)]
    assert len(variants) > 20
    traces = [generate(each.workload.limited(_REQUESTS), 1) for each in variants]
    warm = [compiled(each, trace) for each, trace in zip(variants, traces, strict=True)]
    for kept in CHANGED[spec.store]:
        monkeypatch.setattr(module, kept, Recent(0))
    for each, trace, found in zip(variants, traces, warm, strict=True):
        assert_same(found, compiled(each, trace), name)


@pytest.mark.parametrize("name", ["minio.yaml", "ceph/nvme-squid.yaml"])
def test_seeds_of_a_spec_share_its_network(name: str) -> None:
    spec = load_spec(EXAMPLES / name)
    one, other = (compile_spec(spec, generate(spec.workload.limited(_REQUESTS), seed))[0] for seed in (1, 2))
    assert one is other
    assert_same(one, other, name)


def test_only_the_latest_values_are_kept() -> None:
    made, recent = [], Recent[list[int], list[int]](2)
    for key in (1, 2, 1, 3, 1, 2):
        assert recent.of([key], lambda key=key: made.append(key) or [key]) == [key]
    assert made == [1, 2, 3, 2]
