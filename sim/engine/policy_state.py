"""The state of a client policy: the budgets of its retries and hedges, and the latencies that it has observed.

The SimPy engine and a replay on a real store use it; the kernel's `policy_state.c` does the same.
"""

from __future__ import annotations

import math

from models.network.retry_policy import HEDGE_SAMPLES, Policy
from sim.engine.latency_histogram import LatencyHistogram


class TokenBucket:
    """A budget to which each request begun adds tokens, up to a cap, and from which each retry or hedge takes one.

    So at most budget x n + cap are taken while n requests begin, at any time of the run. The bucket is full at first.
    This is how gRPC throttles retries and hedges (proposal A6, "gRPC Retry Design": `tokenRatio` and `maxTokens`), and
    Finagle retries (`RetryBudget`), whose tokens expire after 10 s instead of having a cap.

    Args:
        budget: tokens added by each request.
        cap: maximum number of tokens; infinite: no limit.
    """

    def __init__(self, budget: float, cap: float):
        self.budget, self.cap, self.tokens = budget, cap, cap

    def add(self) -> None:
        """Add the tokens of a request that begins."""
        self.tokens = min(self.tokens + self.budget, self.cap)

    def take(self) -> bool:
        """Take a token if there is a whole one, and return whether there was."""
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class PolicyState:
    """The budgets and observed latencies of all requests with a policy."""

    def __init__(self, policy: Policy):
        self.policy = policy
        self.retries = TokenBucket(policy.retry_budget, policy.retry_tokens)
        self.hedges = TokenBucket(policy.hedge_budget, policy.hedge_tokens)
        self._seen = LatencyHistogram(policy.hedge_quantile)

    def begin(self) -> float:
        """Count a request that begins, and return the delay of its second attempt in s; infinite: it has none."""
        self.retries.add()
        self.hedges.add()
        if self.policy.hedge_quantile:
            return self._seen.quantile_s() if self._seen.total >= HEDGE_SAMPLES else math.inf
        return min(self.policy.hedge_after_s, self.policy.tied_after_s)

    def observe(self, latency_s: float) -> None:
        """Add the latency of a successful request."""
        if self.policy.hedge_quantile:
            self._seen.add(latency_s)
