"""What a client does when an answer is late or does not come."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Timeouts, retries, hedged and tied requests of one kind of request.

    Attributes:
        timeout_s: an attempt that takes longer is given up.
        retries: further attempts after a failed one, at most.
        backoff_s: pause before the first retry; doubles with each, up to `backoff_max_s`.
        jitter: share of the pause that is random: the pause is multiplied by 1 - jitter x U(0, 1).
        retry_share: retries at most, as a fraction of the requests begun.
        hedge_after_s: a second attempt starts when there is no answer after so long.
        hedge_quantile: the same after this quantile of the latencies seen so far, once `HEDGE_SAMPLES` are; 0: not so.
        hedge_share: hedges at most, as a fraction of the requests begun.
        tied_after_s: a second attempt starts after so long in any case, and whichever is served first cancels the other
            (tied requests: Dean and Barroso, "The tail at scale", CACM 56(2), 2013).
        cancels: attempts that have lost leave their queues; what is in service ends.
    """

    timeout_s: float = math.inf
    retries: int = 0
    backoff_s: float = 0.0
    backoff_max_s: float = math.inf
    jitter: float = 0.0
    retry_budget: float = math.inf
    hedge_after_s: float = math.inf
    hedge_quantile: float = 0.0
    hedge_budget: float = math.inf
    tied_after_s: float = math.inf
    cancels: bool = True

    def __post_init__(self) -> None:
        times = (self.timeout_s, self.backoff_s, self.backoff_max_s, self.hedge_after_s, self.tied_after_s)
        if not all(value >= 0 for value in (*times, self.retry_budget, self.hedge_budget)) or self.timeout_s == 0:
            raise ValueError(f"{self}: times and shares must be at least 0, the timeout above 0")
        if not 0 <= self.retries <= 30:
            raise ValueError(f"{self}: retries must be 0 to 30")
        if not 0 <= self.jitter <= 1 or not 0 <= self.hedge_quantile < 1:
            raise ValueError(f"{self}: jitter must be 0 to 1, hedge_quantile at least 0 and below 1")
        if sum((self.hedge_after_s < math.inf, self.hedge_quantile > 0, self.tied_after_s < math.inf)) > 1:
            raise ValueError(f"{self}: give one of hedge_after_s, hedge_quantile and tied_after_s")

    @property
    def second(self) -> bool:
        """Whether a second attempt may start while the first is in progress."""
        return self.hedge_after_s < math.inf or self.hedge_quantile > 0 or self.tied_after_s < math.inf

    @property
    def attempts(self) -> int:
        """Attempts of a request at most."""
        return 1 + self.retries + self.second


NO_POLICY = Policy()
HEDGE_SAMPLES = 100
"""Latencies that have to be seen before a quantile of them is a hedge's delay."""
