"""The client policies recorded in a measured Run, and their use in a spec."""

from __future__ import annotations

from models.shared.client_policy import ClientPolicies
from models.store import Spec
from traces.run import Run
from traces.spec.spec_file import validated


def recorded_policies(run: Run, source: str) -> ClientPolicies | None:
    """Return the timeouts, retries, hedging and multipart uploads of a Run's clients; None if not recorded.

    Args:
        source: the name of the Run in messages.

    Raises:
        InputError: the recorded policies are invalid.
    """
    recorded = run.info.get("client_policies")
    if recorded is None:
        return None
    policies = validated(ClientPolicies, recorded, source, "client_policies")
    if policies.timeout is not None and policies.timeout > run.duration_s:
        # It ended no attempt, and would make a simulation a third slower.
        return policies.model_copy(update={"timeout": None})
    return policies


def as_recorded(spec: Spec, policies: ClientPolicies | None) -> Spec:
    """Return the spec with these client policies; unchanged if None.

    Raises:
        InputError: the model of the store does not have them.
    """
    if policies is None:
        return spec
    changed = {name: getattr(policies, name) for name in ClientPolicies.model_fields}
    recorded = spec.model_copy(update={"client": spec.client.model_copy(update=changed)})
    return validated(type(spec), dict(recorded), "a Run") if policies.multipart else recorded
