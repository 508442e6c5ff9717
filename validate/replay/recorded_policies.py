"""The client policies that a measured Run was made with, and a spec whose clients have them."""

from __future__ import annotations

from models.client_policy import ClientPolicies
from models.store import Spec
from traces.run import Run
from traces.spec_file import validated


def recorded_policies(run: Run, source: str) -> ClientPolicies | None:
    """What the Run's clients did about late and failed answers; None where the Run does not say.

    `source`: what to call the Run in a message.

    Raises:
        InputError: what it says is no client's policy.
    """
    recorded = run.info.get("client_policies")
    if recorded is None:
        return None
    policies = validated(ClientPolicies, recorded, source, "client_policies")
    if policies.timeout is not None and policies.timeout > run.duration_s:
        # It ended no attempt; simulated it would cost a third more time.
        return policies.model_copy(update={"timeout": None})
    return policies


def as_recorded(spec: Spec, policies: ClientPolicies | None) -> Spec:
    """The spec with these policies in place of its own; None: it stays as it is."""
    if policies is None:
        return spec
    changed = {name: getattr(policies, name) for name in ClientPolicies.model_fields}
    return spec.model_copy(update={"client": spec.client.model_copy(update=changed)})
