"""Client policies in a spec: timeouts, retries and hedged requests, as fields of the client's section."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, model_validator

from models.network.retry_policy import HEDGE_SAMPLES, Policy
from traces.units import Seconds, parse_seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Op

_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


def _quantile(name: str) -> float:
    """0.95 of ``p95``; 0 where it is no quantile's name, or p0."""
    match = _QUANTILE.fullmatch(name)
    return float(match[1]) / 100 if match else 0.0


def _as_delay(value: Any) -> Any:
    """A quantile's name stays as it is, anything else is a duration."""
    if value is None or (isinstance(value, str) and _quantile(value)):
        return value
    try:
        return parse_seconds(value)
    except ValueError as error:
        raise ValueError(f"{error}; a quantile of the latencies is written like p95") from error


Delay = Annotated[float | str | None, BeforeValidator(_as_delay, json_schema_input_type=float | str | None)]
"""A duration, a quantile of the latencies seen so far such as ``p95`` or ``p99.9``, or nothing."""

Budget = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Retry(Strict):
    """What follows an attempt that failed; the pauses are minio-go's."""

    retries: int = Field(0, ge=0, le=30, description="further attempts after a failed one, at most")
    backoff: Seconds = Field(0.2, description="pause before the first retry; doubles with each")
    backoff_max: Seconds = Field(1.0, description="the longest pause")
    jitter: float = Field(1.0, ge=0, le=1, description="random fraction of a pause; 1: evenly between 0 and the pause")
    budget: Budget | None = Field(
        None, description="retries at most, as a fraction of the requests begun; null: no limit"
    )
    operations: tuple[Op, ...] = Field(get_args(Op), description="the operations that are retried")

    def added_to(self, policy: Policy) -> Policy:
        """The policy with these retries."""
        return replace(
            policy,
            retries=self.retries,
            backoff_s=self.backoff,
            backoff_max_s=self.backoff_max,
            jitter=self.jitter,
            retry_budget=_unless_none(self.budget),
        )


class Hedge(Strict):
    """A second attempt of a request whose answer is late; the first answer counts."""

    after: Delay = Field(
        None,
        description="how late: a duration, or a quantile of the latencies seen so far such as p95, once "
        f"{HEDGE_SAMPLES} are; null: no hedges",
    )
    budget: Budget | None = Field(
        0.1, description="hedges at most, as a fraction of the requests begun; null: no limit"
    )
    cancel: bool = Field(True, description="the attempt that lost leaves its queues")
    tied: bool = Field(
        False,
        description="tied requests: the first attempt that a server begins to work on cancels the other; the second "
        "starts after the duration `after` unless the first is worked on by then",
    )
    operations: tuple[Op, ...] = Field(("GET",), description="the operations that are hedged")

    @model_validator(mode="after")
    def _is_tied_after_a_duration(self) -> Hedge:
        if self.tied and not isinstance(self.after, float):
            raise ValueError(f"tied: needs a duration in `after`, such as 0s; it is {self.after}")
        return self

    def added_to(self, policy: Policy) -> Policy:
        """The policy with these hedges."""
        policy = replace(policy, hedge_budget=_unless_none(self.budget), cancels=self.cancel)
        if isinstance(self.after, str):
            return replace(policy, hedge_quantile=_quantile(self.after))
        if self.tied:
            return replace(policy, tied_after_s=_unless_none(self.after))
        return replace(policy, hedge_after_s=_unless_none(self.after))


class ClientPolicies(Strict):
    """What a client does when an answer is late or does not come."""

    timeout: Annotated[Seconds, Field(gt=0)] | None = Field(
        None, description="an attempt that takes longer is given up; null: none is"
    )
    retry: Retry = Retry()
    hedge: Hedge = Hedge()

    def policy(self, op: Op) -> Policy:
        """The Policy of an operation's requests."""
        policy = Policy(timeout_s=_unless_none(self.timeout))
        if self.retry.retries and op in self.retry.operations:
            policy = self.retry.added_to(policy)
        if self.hedge.after is not None and op in self.hedge.operations:
            policy = self.hedge.added_to(policy)
        return policy


def _unless_none(value: float | None) -> float:
    return math.inf if value is None else value
