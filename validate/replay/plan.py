"""The plan of a replay: what it will do on a store, worked out beforehand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from models.network.retry_policy import Policy
from models.shared.client_policy import ClientPolicies
from models.shared.multipart import MOST_PART_BYTES, Multipart
from traces.errors import InputError
from traces.operations import OPS, S3, ops_that, rows_that
from traces.random_streams import mixed, stream_id
from traces.trace import TARGET_FIELD, Trace, refuse_mixed
from validate.mount.file_calls import CALLS
from validate.mount.file_plan import FilePlan, file_plan
from validate.mount.mount_path import MOUNT
from validate.replay.buckets import StoredObject
from validate.s3.clients import DATA_PATHS, uncancellable, unsendable
from validate.s3.preload import Stored

MAX_IN_FLIGHT = 4096
MAX_PROCESSES = 64

_VERIFY_STREAM = stream_id("verify")


@dataclass(frozen=True)
class Options:
    """Options of a replay.

    Attributes:
        speed: divisor of the times of an open loop.
        max_in_flight: maximum number of requests of an open loop in progress; further ones are late.
        data_path: one of `DATA_PATHS`, or `MOUNT` on a mount.
        timeout_s: maximum time of an attempt, on a mount of a request; `policies` may have a shorter one.
        keep: keep the buckets and their objects.
        processes: number of client processes that share the load; with one, it is this process.
        pin: pin the client processes and those of the store to separate cores, if there are enough.
        policies: retries, hedged requests and multipart uploads, as in the simulator. Without the latter, a PUT is one
            request, as in the trace, up to the limit of S3.
        seed: seed of the pauses before retries, and of which GETs are verified.
        verify: the fraction of GETs whose bodies are compared with what was written; the lengths of all are checked.
    """

    speed: float = 1.0
    max_in_flight: int = 256
    data_path: str = "obstore"
    timeout_s: float = 60.0
    keep: bool = False
    processes: int = 1
    pin: bool = False
    policies: ClientPolicies = field(default_factory=ClientPolicies)
    seed: int = 0
    verify: float = 0.01

    def __post_init__(self) -> None:
        if not (self.speed > 0 and math.isfinite(self.speed)):
            raise InputError(f"speed is {self.speed}; it must be above 0")
        if not 1 <= self.max_in_flight <= MAX_IN_FLIGHT:
            raise InputError(f"max-in-flight is {self.max_in_flight}; allowed are 1 to {MAX_IN_FLIGHT}")
        if self.data_path not in (*DATA_PATHS, MOUNT):
            raise InputError(f"data path {self.data_path!r} is unknown; allowed are {', '.join(DATA_PATHS)}")
        if self.data_path == MOUNT and self.policies.hedge.after is not None:
            raise InputError("client.hedge.after: calls on files are not hedged; a replay on a mount allows null")
        if self.policies.hedge.tied:
            raise InputError("client.hedge.tied: requests of a live store cannot be tied; a replay allows false")
        if not self.timeout_s > 0:
            raise InputError(f"timeout is {self.timeout_s} s; it must be above 0")
        if not 0 <= self.verify <= 1:
            raise InputError(f"verify is {self.verify}; a fraction of the GETs from 0 to 1 is needed, such as 1%")
        if not 1 <= self.processes <= MAX_PROCESSES:
            raise InputError(f"processes is {self.processes}; allowed are 1 to {MAX_PROCESSES}")

    @property
    def multipart(self) -> Multipart:
        """How objects are uploaded: in parts above the limit of S3 if the policies have none."""
        return self.policies.multipart or Multipart(threshold=MOST_PART_BYTES)

    @property
    def limit_s(self) -> float:
        """The maximum time of an attempt in seconds."""
        return min(self.timeout_s, self.policies.timeout or math.inf)

    def policy_of(self) -> dict[str, Policy]:
        """Return the policy of each operation."""
        return {op: self.policies.policy(op) for op in OPS}

    def verifies(self, row: int) -> bool:
        """Whether the bytes that a row reads are compared with those that were written."""
        return (mixed(self.seed, _VERIFY_STREAM, row) >> 11) * 2.0**-53 < self.verify

    @property
    def hedges(self) -> bool:
        """Whether any operation may have two attempts in progress."""
        return any(policy.second for policy in self.policy_of().values())


@dataclass(frozen=True)
class ReplayPlan:
    """What a replay does on the store or mount.

    Attributes:
        buckets: the buckets of the trace; one is created on the store for each, on a mount a folder.
        preload: objects or files to write beforehand.
        longest_piece_bytes: size of the longest written object or part; 0 if nothing is written, or on a mount.
        in_parts: whether any object is uploaded in parts.
        written: by bucket, the keys that may exist afterwards, with the sizes in bytes that each object may have.
        files: what is done on a mount; None: the requests are those of S3.
    """

    trace: Trace
    options: Options
    buckets: list[str]
    preload: Sequence[Stored]
    longest_piece_bytes: int = 0
    in_parts: bool = False
    written: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    files: FilePlan | None = None

    @property
    def on_mount(self) -> FilePlan:
        """What is done on a mount."""
        assert self.files is not None, "the plan is one for S3"
        return self.files

    @property
    def given_up_after_s(self) -> float:
        """Time in s after which a request is given up; infinite if its data path does that."""
        return math.inf if self.files is None else self.options.limit_s

    @property
    def workers(self) -> int:
        """Maximum number of requests in progress, over all processes."""
        pacing = self.trace.pacing
        return pacing.clients if pacing.loop == "closed" else self.options.max_in_flight

    @property
    def cancels(self) -> bool:
        """Whether losing hedged attempts are cancelled."""
        return self.options.policies.hedge.cancel and self.uncancelled is None

    @property
    def uncancelled(self) -> str | None:
        """The reason why hedged attempts cannot be cancelled; None if they can, or if nothing is hedged."""
        policies = self.options.policy_of()
        hedged = [op for op in self.trace.table.column("op").unique().to_pylist() if policies[op].second]
        return uncancellable(self.options.data_path, hedged, self.in_parts) if hedged else None

    def facts(self) -> dict[str, object]:
        """Return the figures of the plan as JSON values."""
        trace, limit_s = self.trace, self.trace.pacing.duration_s
        in_time = np.arange(len(trace)) < trace.issued
        counts = Counter(OPS[op] for op in trace.op[in_time].tolist())
        open_loop = trace.pacing.loop == "open"
        return {
            "buckets": len(self.buckets),
            "preload_objects": len(self.preload),
            "preload_bytes": sum(o.size_bytes for o in self.preload),
            "requests": {op: counts[op] for op in OPS if counts[op]},
            "put_bytes": int(trace.transfer_bytes[in_time & rows_that(trace.op, "writes")].sum()),
            "duration_s": float(trace.arrival_s[in_time].max(initial=0)) / self.options.speed if open_loop else limit_s,
            "pacing": trace.pacing.known(),
            "speed": self.options.speed,
            "max_in_flight": self.workers,
            "processes": self.options.processes,
            "data_path": self.options.data_path,
        }


def plan_of(trace: Trace, options: Options) -> ReplayPlan:
    """Plan a replay of the trace, without accessing a store.

    Raises:
        InputError: the trace is empty, has operations that the data path does not issue, has too many clients or too
            few for the processes, an object is too large, or a key cannot be sent on the data path.
    """
    if not len(trace):
        raise InputError("the trace has no requests")
    refuse_mixed(trace, "a replay")
    known = CALLS if options.data_path == MOUNT else S3
    unknown = [OPS[i] for i in np.unique(trace.op).tolist() if OPS[i] not in known]
    if unknown:
        where = "; on a mount also those of file systems" if all(op in CALLS for op in unknown) else ""
        raise InputError(f"the trace has {', '.join(unknown)}; a replay issues {', '.join(known)}{where}")
    if trace.pacing.loop == "closed":
        if options.speed != 1:
            raise InputError("speed is for open loops; the speed of a closed loop follows from the store's responses")
        if trace.pacing.clients > MAX_IN_FLIGHT:
            raise InputError(f"the trace has {trace.pacing.clients} clients; a replay has at most {MAX_IN_FLIGHT}")
    workers = trace.pacing.clients if trace.pacing.loop == "closed" else options.max_in_flight
    if workers < options.processes:
        what = "clients" if trace.pacing.loop == "closed" else "requests in flight"
        raise InputError(
            f"processes is {options.processes}, but there are at most {workers} {what}; give each at least one"
        )
    has_targets = TARGET_FIELD.name in trace.table.column_names
    targets = trace.table.column(TARGET_FIELD.name).to_pylist() if has_targets else [None] * len(trace)
    for row, ((op, _, key, _), target) in enumerate(zip(requests_of(trace), targets, strict=True), start=1):
        for name, path in (("key", key), ("target", target)):
            if path is not None and (reason := unsendable(options.data_path, op, path)):
                raise InputError(f"row {row}: {op} of {name} {path!r}: {reason}")
    return _mount_plan(trace, options) if options.data_path == MOUNT else _s3_plan(trace, options)


def _mount_plan(trace: Trace, options: Options) -> ReplayPlan:
    files = file_plan(trace)
    if options.processes > 1 and files.in_order:
        raise InputError(
            f"processes is {options.processes}, but the trace has operations on open files or on paths that others "
            "create; a replay on a mount issues them from 1 process"
        )
    buckets = list(dict.fromkeys(trace.table.column("bucket").to_pylist()))
    return ReplayPlan(trace, options, buckets, files.files, files=files)


def _s3_plan(trace: Trace, options: Options) -> ReplayPlan:
    """Plan the requests of S3.

    An object is written beforehand if no request of an earlier phase writes it: requests of one phase overlap, and a
    read could overtake the write before it.
    """
    preload: list[StoredObject] = []
    written: dict[str, dict[str, tuple[int, ...]]] = {}
    there: dict[tuple[str, str], int] = {}  # the phase since which an object exists
    multipart, sizes = options.multipart, trace.size_bytes
    on_object, on_objects, creating = rows_that(trace.op, "names_object"), ops_that("names_object"), ops_that("creates")
    try:
        parts = multipart.parts(np.where(on_object, sizes, 0))
    except ValueError as error:
        raise InputError(str(error)) from error
    for (op, bucket, key, size), phase in zip(requests_of(trace), trace.phase.tolist(), strict=True):
        keys = written.setdefault(bucket, {})
        if op not in on_objects:
            continue
        sizes_of_key = keys.setdefault(key, ())
        if op in creating:
            there.setdefault((bucket, key), phase)
        elif there.get((bucket, key), phase) >= phase:
            preload.append(StoredObject(bucket, key, size))
            there[bucket, key] = -1
        else:
            continue
        if size not in sizes_of_key:
            keys[key] = (*sizes_of_key, size)
    pieces = np.where(on_object, np.where(parts > 0, multipart.part_size, sizes), 0)
    return ReplayPlan(trace, options, list(written), preload, int(pieces.max()), bool(parts.any()), written)


def requests_of(trace: Trace) -> Iterator[tuple[str, str, str, int]]:
    """Yield operation, bucket, key and object size in bytes of each row."""
    table = trace.table
    columns = (table.column(name).to_pylist() for name in ("op", "bucket", "key", "size_bytes"))
    return zip(*columns, strict=True)
