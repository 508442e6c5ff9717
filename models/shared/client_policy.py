"""Client policies in a spec: timeouts, retries, hedged requests and multipart uploads."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from models.network.retry_policy import BUDGET_CAP, HEDGE_SAMPLES, Policy
from models.sdk.defaults import SdkName, completed
from models.shared.multipart import Multipart
from traces.operations import Op, ops_that
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Fraction, Seconds, parse_seconds
from traces.workload.distributions import Strict

_MINIO_GO = Basis("default of minio-go")
_HEDGES = Basis("assumed: at most twice the 5 % that hedging at p95 adds (Dean and Barroso, CACM 56(2), 2013)", 0, 1)
_CAP = Basis("example of gRPC's proposal A6 (maxTokens), which allows 1,000; one client process", 1, 100_000)
_CAP_TEXT = (
    "Maximum number of tokens in the bucket of the budget, which it has at first: the most {} in one burst. In gRPC "
    "each client process has a bucket of its own, here all clients have one: with its 10 tokens, give 10 per process."
)
_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


def _quantile(name: str) -> float:
    """Parse ``p95`` to 0.95; return 0 for p0 and for anything that is not the name of a quantile."""
    match = _QUANTILE.fullmatch(name)
    return float(match[1]) / 100 if match else 0.0


def _as_delay(value: Any) -> Any:
    """Keep the name of a quantile; parse anything else as a duration."""
    if value is None or (isinstance(value, str) and _quantile(value)):
        return value
    try:
        return parse_seconds(value)
    except ValueError as error:
        raise ValueError(f"{error}; or give a latency quantile such as p95") from error


Delay = Annotated[
    float | str | None,
    BeforeValidator(_as_delay, json_schema_input_type=float | str | None),
    Unit("s", "p95"),
]
"""A duration, a quantile of the latencies observed so far such as ``p95`` or ``p99.9``, or None."""


class Retry(Strict):
    """Retries after failed attempts; the default pauses are those of minio-go."""

    retries: int = Field(0, ge=0, le=30, description="Maximum number of retries of a request after failed attempts.")
    backoff: Annotated[Seconds, _MINIO_GO] = Field(
        0.2, description="Pause before the first retry; by default it doubles with each further one."
    )
    growth: Literal["double", "square"] = Field(
        "double", description="How pauses grow: `square`: the k-th is k^2 times the first, as those of JuiceFS."
    )
    backoff_max: Annotated[Seconds, _MINIO_GO] = Field(1.0, description="Longest pause between two attempts.")
    jitter: Annotated[Fraction, _MINIO_GO] = Field(
        1.0, ge=0, le=1, description="Random fraction of a pause; 1: uniform from 0 to the pause; 0: not random."
    )
    budget: Fraction | None = Field(
        None,
        description="Retry budget: number of retries per request of the operation. Each request begun adds this "
        "number of tokens to a bucket, up to `budget_cap`, and each retry takes one; null: no limit.",
    )
    budget_cap: Annotated[int, _CAP] = Field(BUDGET_CAP, ge=1, le=MOST_COUNT, description=_CAP_TEXT.format("retries"))
    operations: tuple[Op, ...] = Field(
        ops_that("is_idempotent"), description="Operations that are retried; others fail with their first attempt."
    )

    def added_to(self, policy: Policy) -> Policy:
        """Return the policy with these retries."""
        return replace(
            policy,
            retries=self.retries,
            backoff_s=self.backoff,
            backoff_max_s=self.backoff_max,
            squares=self.growth == "square",
            jitter=self.jitter,
            retry_budget=_unless_none(self.budget),
            retry_budget_cap=self.budget_cap,
        )


class Hedge(Strict):
    """Hedged requests: a second attempt if the response is late; the first response is used."""

    after: Delay = Field(
        None,
        description="Delay of the second attempt: a duration, or a quantile of the latencies observed so far such as "
        f"p95, used once {HEDGE_SAMPLES} have been observed; null: no hedging.",
    )
    budget: Annotated[Fraction, _HEDGES] | None = Field(
        0.1,
        description="Hedge budget: number of hedges per request of the operation. Each request begun adds this "
        "number of tokens to a bucket, up to `budget_cap`, and each hedge takes one; null: no limit.",
    )
    budget_cap: Annotated[int, _CAP] = Field(BUDGET_CAP, ge=1, le=MOST_COUNT, description=_CAP_TEXT.format("hedges"))
    cancel: bool = Field(True, description="Whether the slower attempt is removed from its queues.")
    tied: bool = Field(
        False,
        description="Tied requests: the attempt that begins service first cancels the other; the second one starts "
        "after the duration `after` unless the first is in service by then.",
    )
    operations: tuple[Op, ...] = Field(
        ops_that("reads"),
        description="Operations that are hedged; by default only GET, which can be repeated safely.",
    )

    @model_validator(mode="after")
    def _is_tied_after_a_duration(self) -> Hedge:
        if self.tied and not isinstance(self.after, float):
            raise ValueError(f"tied: requires a duration in `after`, such as 0s; it is {self.after}")
        return self

    def added_to(self, policy: Policy) -> Policy:
        """Return the policy with these hedges."""
        budget = _unless_none(self.budget)
        policy = replace(policy, hedge_budget=budget, hedge_budget_cap=self.budget_cap, cancels=self.cancel)
        if isinstance(self.after, str):
            return replace(policy, hedge_quantile=_quantile(self.after))
        if self.tied:
            return replace(policy, tied_after_s=_unless_none(self.after))
        return replace(policy, hedge_after_s=_unless_none(self.after))


class ClientPolicies(Strict):
    """Client policies for late and failed responses, and for large objects."""

    sdk: SdkName | None = Field(
        None,
        description="Client SDK, whose defaults `timeout`, `retry` and `connections` have unless the spec gives them; "
        "absent: no timeout, no retries and no limit of connections.",
    )
    timeout: Annotated[Seconds, Field(gt=0)] | None = Field(
        None, description="Time after which a client gives up an attempt; null: it waits without limit."
    )
    connections: (
        Annotated[int, Basis("assumed: no limit; SDKs open 50 to 2,048, or as many as needed", 10, 10_000), Field(ge=1)]
        | None
    ) = Field(
        None,
        le=MOST_COUNT,
        description="Greatest number of connections of a client machine to the store, each for one request at a time; "
        "further requests wait at the client for one, which counts as part of their latency and of the timeout. null: "
        "no limit.",
    )
    retry: Retry = Field(Retry(), description="Retries after failed or timed-out attempts.")
    hedge: Hedge = Field(Hedge(), description="Hedged requests: second attempts at requests that take long.")
    multipart: Multipart | None = Field(
        None,
        description="Multipart uploads of large objects; null: each PUT is one request. GETs from MinIO read such "
        "objects part by part. Timeouts, retries and hedges are those of each request of an upload (initiation, parts, "
        "completion), not of the upload; a replay applies them to the whole upload.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_sdk(cls, data: Any) -> Any:
        return completed(data)

    def policy(self, op: Op) -> Policy:
        """Return the Policy for requests of an operation, which has budgets and observed latencies of its own."""
        policy = Policy(timeout_s=_unless_none(self.timeout))
        if self.retry.retries and op in self.retry.operations:
            policy = self.retry.added_to(policy)
        if self.hedge.after is not None and op in self.hedge.operations:
            policy = self.hedge.added_to(policy)
        return replace(policy, operation=op) if policy.attempts > 1 else policy


def _unless_none(value: float | None) -> float:
    return math.inf if value is None else value
