"""The two engines on every example: the same to the bit, critical paths too, also with policies of the client."""

from __future__ import annotations

import pytest

from models.store import compile_spec, load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from tests.paths import EXAMPLES, SPECS
from tests.sim.engine.test_engines import assert_identical
from traces.spec.spec_file import load_mapping
from traces.workload.generate import generate

STORES = [path for path in SPECS if {"store", "workload"} <= load_mapping(path).keys()]
POLICIES = {
    "as it is": [],
    "hedged": ["client.hedge.after=p95", "client.hedge.operations=[GET,PUT]"],
    "retried": ["client.timeout=20ms", "client.retry.retries=2", "client.retry.backoff=1ms"],
}


def _few(workload):
    """Changes of a workload that leave few requests; of closed groups, a duration alone limits the number."""
    if "groups" in workload:
        return ["workload.duration=60ms"]
    few = min(300, workload.get("operations", 300))
    return [*(["workload.duration=null"] if "duration" in workload else []), f"workload.operations={few}"]


def _cases():
    """Every example as it is, hedged or retried, in turn; in the two other ways each night."""
    others = pytest.mark.nightly("a policy adds attempts to the same route; its neighbours have the policy")
    for number, path in enumerate(STORES):
        for turn, policy in enumerate(POLICIES):
            marks = [] if number % len(POLICIES) == turn else [others]
            yield pytest.param(path, policy, id=f"{path.relative_to(EXAMPLES)}-{policy}", marks=marks)


@pytest.mark.parametrize(("path", "policy"), list(_cases()))
def test_engines_agree_on_examples(path, policy):
    spec = load_spec(path, [*_few(load_mapping(path)["workload"]), *POLICIES[policy]])
    network, requests = compile_spec(spec, generate(spec.workload, 1))
    program = Program.of(network, requests, 1, paths=True)
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    assert len(outcome.end_s)
