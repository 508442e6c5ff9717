"""Service disciplines and their properties.

Engines, bounds, statistics and pages read the properties and never compare disciplines. So a new one is a declaration
here, a server in `sim/engine/reference/disciplines.py` and a branch in the kernel, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True)
class Discipline:
    """How a station serves its jobs.

    Attributes:
        name: unique.
        code: its number in the kernel; None: only the reference engine has it.
        infinite: no job waits, because each has a server.
        shares: all jobs present share the servers equally.
        batches: all jobs queued when the server becomes free are served together.
        holds_tokens: a visit takes a token or returns one, and takes no time.
        is_gate: a visit passes while the gate is open, and takes no time; the scenario shuts and opens it.
        counts_commits: a visit begins a transaction or commits it, and takes no time.
        has_one_server: `servers` must be 1.
        sets_up: a job has a server to itself that may have been idle: setup times and CPU caches are possible.
        has_classes: jobs belong to the class of their route's priority.
        is_weighted: each class has a weight.
        draws: the order is random; an age bias is possible.
        product_form: demands with which a network with this station has a product form: ``any`` distribution, or
            ``exponential`` ones with the same mean; None: no product form.
    """

    name: str
    code: int | None = None
    infinite: bool = False
    shares: bool = False
    batches: bool = False
    holds_tokens: bool = False
    is_gate: bool = False
    counts_commits: bool = False
    has_one_server: bool = False
    sets_up: bool = False
    has_classes: bool = False
    is_weighted: bool = False
    draws: bool = False
    product_form: Literal["any", "exponential"] | None = None

    INFINITE_SERVER: ClassVar[Discipline]
    """Infinite server: no job waits."""
    FIFO: ClassVar[Discipline]
    """`servers` servers, first come first served."""
    PROCESSOR_SHARING: ClassVar[Discipline]
    """`servers` cores shared equally; one job uses at most one core.

    With `queue_s` a job first waits for a time that is fixed when it arrives. It is lost if the station dies meanwhile.
    """
    GROUP_COMMIT: ClassVar[Discipline]
    """One batch server: all jobs queued when it becomes free are served together.

    A batch takes the demand of its first member plus `batch_item_s` for each further one (and `flush_s` once if the
    visit of a member `flushes`), like an fsync, which makes
    all earlier writes durable.
    """
    SIRO: ClassVar[Discipline]
    """`servers` servers; a free one takes any of the waiting jobs, each with the same probability.

    The choices are a pure function of the run's seed. Run queues of schedulers behave like this: the mean wait is that
    of FIFO, its spread is wider. An `age_bias` reduces the spread.
    """
    PRIORITY: ClassVar[Discipline]
    """`servers` servers; a free one takes the first job of the lowest class that waits (non-preemptive)."""
    WEIGHTED_SHARE: ClassVar[Discipline]
    """`servers` servers; classes share them by `weights` while they all wait (start-time fair queueing)."""
    POOL: ClassVar[Discipline]
    """`servers` tokens. A visit takes one, or waits for it; a visit that `releases` returns it.

    At most `queue_limit` jobs wait; further ones are refused. Branches that are no longer needed but continue may take
    further tokens until the last branch of their attempt has ended, which returns all of them.
    """
    GATE: ClassVar[Discipline]
    """A visit passes while the gate is open, which it is until the scenario shuts it.

    A job that arrives at a shut gate waits until it opens; with `poll_s` it polls the gate at this interval, and is
    refused if the gate is still shut after `poll_limit` polls. With `period_s` the gate opens for a moment once in this
    time only, at a random phase, and the scenario does not change it.
    """

    OPTIMISTIC: ClassVar[Discipline]
    """A counter of commits, for transactions under optimistic concurrency control.

    A visit begins a transaction: it notes the count; a second one notes it again. A visit that `releases` commits it:
    if the count is still the last one noted, it becomes one more; otherwise the branch goes back to the visit that
    began the transaction, after a pause of U(0, 1) x (k^2 - 1) x `repeat_s` before the k-th repetition. After
    `repeat_limit` repetitions it is refused. The time until the last repetition is waiting at this station. Bounds
    count each visit once, and have no upper limit of the work within a transaction.
    """

    @property
    def takes_time(self) -> bool:
        """Whether visits are served; all time at other stations is waiting."""
        return not (self.holds_tokens or self.is_gate or self.counts_commits)

    def __repr__(self) -> str:
        return f"Discipline.{self.name}"


Discipline.INFINITE_SERVER = Discipline("INFINITE_SERVER", 0, infinite=True, product_form="any")
Discipline.FIFO = Discipline("FIFO", 1, sets_up=True, product_form="exponential")
Discipline.PROCESSOR_SHARING = Discipline("PROCESSOR_SHARING", 2, shares=True, product_form="any")
Discipline.GROUP_COMMIT = Discipline("GROUP_COMMIT", 3, batches=True, has_one_server=True)
Discipline.SIRO = Discipline("SIRO", 4, sets_up=True, draws=True, product_form="exponential")
Discipline.PRIORITY = Discipline("PRIORITY", 5, sets_up=True, has_classes=True)
Discipline.WEIGHTED_SHARE = Discipline("WEIGHTED_SHARE", 6, sets_up=True, has_classes=True, is_weighted=True)
Discipline.POOL = Discipline("POOL", 7, holds_tokens=True)
Discipline.GATE = Discipline("GATE", 8, is_gate=True, has_one_server=True)
Discipline.OPTIMISTIC = Discipline("OPTIMISTIC", 9, counts_commits=True, has_one_server=True)

DISCIPLINES = (
    Discipline.INFINITE_SERVER, Discipline.FIFO, Discipline.PROCESSOR_SHARING, Discipline.GROUP_COMMIT, Discipline.SIRO,
    Discipline.PRIORITY, Discipline.WEIGHTED_SHARE, Discipline.POOL, Discipline.GATE, Discipline.OPTIMISTIC,
)  # fmt: skip
"""The disciplines of both engines; the position of each is its code."""
