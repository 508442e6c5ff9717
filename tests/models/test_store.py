from __future__ import annotations

import json

import pytest

from models.store import MODULES, json_schema, load_spec, spec_class, store_named
from tests.paths import EXAMPLES, ROOT, SPECS
from traces.errors import InputError

EXAMPLE = EXAMPLES / "minio.yaml"


@pytest.mark.parametrize("path", [path for path in SPECS if path.name.startswith("minio")])
def test_examples_are_specs(path):
    assert load_spec(path).store == "minio"


@pytest.mark.parametrize("name", MODULES)
def test_the_class_of_specs_is_that_of_the_store(name):
    assert spec_class(name) is store_named(name).Spec


def test_published_schema_is_that_of_the_code():
    assert json.loads((ROOT / "docs" / "spec.schema.json").read_text()) == json_schema()


def test_overrides_reach_every_value_of_the_workload():
    assignments = ["clients=3", "think_time=2ms", "operations=11", "duration=13s", "object_size=1MiB"]
    spec = load_spec(EXAMPLE, [f"workload.{a}" for a in assignments] + ["workload.mix={PUT: 1}"])
    load = spec.workload
    assert (load.clients, load.think_time.mean, load.operations, load.duration) == (3, 0.002, 11, 13)
    assert load_spec(EXAMPLE, ["workload.rate=7/s"]).workload.rate == 7
    assert load.object_size.size == 1 << 20
    assert load.mix == {"PUT": 1}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("store=zzz", "store is 'zzz'; allowed are minio, ceph, swift, bob, openio"),
        ("store=Ozone", "store is 'Ozone', which has no model; the nearest is ceph, but keys are in a Raft group"),
        ("hosts.coers=4", "hosts.coers: unknown field; did you mean cores?"),
        ("hosts.cores.count=0", "hosts.cores.count: is 0"),
        ("workload.object_size=-1", "workload.object_size: '-1' is negative|workload.object_size: -1 is negative"),
        ("drives.commit.constant=5parsecs", "drives.commit.constant: '5parsecs' has the unknown unit"),
        ("network.bandwidth=fast", "network.bandwidth: 'fast' is not a bandwidth"),
        ("workload.mix={GIT: 1}", "workload.mix"),
    ],
)
def test_mistakes_are_named_with_their_place(assignment, said):
    with pytest.raises(InputError, match=said) as caught:
        load_spec(EXAMPLE, [assignment])
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(EXAMPLE))
