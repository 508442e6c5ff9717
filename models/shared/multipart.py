"""Multipart uploads: their section of a spec, and their requests.

An upload is initiated, its parts are sent, as many at a time as the client has in parallel, and it is completed. Each
of these requests has a route of its own (`Multipart.requests`). Ceph's parts go through their stages in *rounds*
instead: those of a round together, and the next round begins when the slowest of them is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from models.network.route import Route, Stage
from models.network.service_demand import ServiceDemand
from models.network.sub_requests import SubRequests
from models.shared.steps import Place, Stages, Step, chunked, revised, starts, with_demands
from traces.errors import InputError
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes, parse_bytes
from traces.workload.distributions import Strict

LEAST_PART_BYTES, MOST_PART_BYTES = 5 << 20, 5 << 30
"""What S3 allows (docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""
MOST_PARTS = 10_000

_MOST_PARALLEL = 64
_SIMULATED_PARTS = 16  # of an upload; of larger ones, each stands for several parts in turn
_MINIO_GO = "default of minio-go, mc and warp (minPartSize); aws-cli and boto3: 8MiB"

_PartBytes = Annotated[int, Unit("B", "16MiB"), BeforeValidator(parse_bytes, json_schema_input_type=int | str)]


class Multipart(Strict):
    """Uploads of large objects in parts; the defaults are those of minio-go, mc and warp."""

    threshold: Annotated[Bytes, Basis(_MINIO_GO, 5 << 20, 200 << 20)] = Field(
        16 << 20, ge=0, le=MOST_PART_BYTES, description="Size above which an object is uploaded in parts."
    )
    part_size: Annotated[_PartBytes, Basis(_MINIO_GO, LEAST_PART_BYTES, 128 << 20)] = Field(
        16 << 20,
        ge=LEAST_PART_BYTES,
        le=MOST_PART_BYTES,
        description="Size of each part but the last; an object of one part is an ordinary PUT.",
    )
    parallel: Annotated[int, Basis("default of minio-go (totalWorkers); aws-cli and boto3: 10", 1, 32)] = Field(
        4, ge=1, le=_MOST_PARALLEL, description="Number of parts of an object that are uploaded at the same time."
    )

    def parts(self, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of parts of objects, 0 for those that are uploaded by one request; same shape.

        Raises:
            ValueError: an object has more parts than S3 allows.
        """
        count = np.where(size_bytes > max(self.threshold, self.part_size), -(-size_bytes // self.part_size), 0)
        if (most := int(count.max(initial=0))) > MOST_PARTS:
            raise ValueError(
                f"client.multipart.part_size: is {self.part_size} B; an object of {size_bytes.max()} B would have "
                f"{most} parts, and S3 allows {MOST_PARTS}"
            )
        return count

    def piece_bytes(self, size_bytes: int) -> int:
        """Return the size of the first part of an object, or of the whole object if one request uploads it."""
        return size_bytes if size_bytes <= max(self.threshold, self.part_size) else self.part_size

    def requests(
        self, at: Place, initiation: int, part: int, completion: int, *, key_step: int, keeps: tuple[int, ...] = ()
    ) -> Step:
        """Return the requests of an upload, as its client sends them.

        The initiation has no bytes. As many parts are in progress as the client uploads at the same time, and the next
        one begins when any of them has ended; when one fails, the client gives the others up. The completion has the
        size of the object, so that its work may depend on the number of parts; its body is not the object.

        Args:
            at: an infinite server, where the upload waits for them.
            initiation, part, completion: indices of their routes.
            key_step: what tells the parts' rows of a placement table apart, see `SubRequests`.
            keeps: groups whose members all have in common.
        """
        begun, ended = (
            starts(at, SubRequests(route, size_bytes=size, own_keys=False, keeps=keeps))
            for route, size in ((initiation, 0), (completion, None))
        )
        parts = chunked(
            at, self.part_size, part, parallel=self.parallel, own_keys=False, key_step=key_step, keeps=keeps,
            cancels=True,
        )  # fmt: skip
        return begun + parts + ended

    def simulated(self, parts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return these numbers of parts, the same for all that are too many to be simulated singly, same shape."""
        return np.minimum(parts, max(_SIMULATED_PARTS, self.parallel) + 1)

    def upload(self, count: int, part: Stages) -> Stages:
        """Return the stages of all parts of an upload.

        Args:
            count: number of parts, as from `simulated`.
            part: the stages of the PUT of one part, whose demands are those of a request of its size.
        """
        return self._rounds(count, part, self.parallel)

    def _rounds(self, count: int, part: Stages, size: int) -> Stages:
        """Return the stages of all parts, as many at a time as `size` says."""
        of_number = self.demands(count)
        rounds: Stages = ()
        for first in range(0, len(of_number), size):
            of_parts = [with_demands(part, demand) for demand in of_number[first : first + size]]
            rounds += tuple(_joined(stages) for stages in zip(*of_parts, strict=True))
        return rounds

    def demands(self, count: int) -> list[Callable[[ServiceDemand], ServiceDemand]]:
        """Return functions of the demand of a part by its size, one for each part that is simulated.

        Each returns the demand of that part for requests with the size of the whole object.
        """
        most = max(_SIMULATED_PARTS, self.parallel)
        stands_for = most if count > most else 0
        return [partial(PartOfUpload.wrap, self.part_size, number, stands_for) for number in range(min(count, most))]


class SubRoutes:
    """Numbers the routes of sub-requests after those of requests.

    Attributes:
        all: the routes, in order.
    """

    def __init__(self, first: int):
        """`first`: index of the first one in the network."""
        self._first = first
        self.all: list[Route] = []

    def add(self, route: Route) -> int:
        """Return the index of a route in the network; equal ones have one."""
        if route not in self.all:
            self.all.append(route)
        return self._first + self.all.index(route)


def in_parts(multipart: Multipart | None, object_bytes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether objects are uploaded in parts, same shape.

    Args:
        multipart: how clients upload objects; None: by one request.
        object_bytes: size of the object of each request, or of what it reads; 0: parts make no difference to it.

    Raises:
        InputError: an object has more parts than S3 allows.
    """
    if multipart is None:
        return np.zeros(len(object_bytes), bool)
    try:
        return multipart.parts(object_bytes) > 0
    except ValueError as error:
        raise InputError(str(error)) from error


def simulated_parts(multipart: Multipart | None, object_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what `Multipart.upload` and `download` take for requests: 0 for all but those of objects in parts.

    Args:
        multipart: how clients upload objects; None: by one request.
        object_bytes: size of the object of each request, or of what it reads; 0: parts make no difference to it.

    Raises:
        InputError: an object has more parts than S3 allows.
    """
    if multipart is None:
        return np.zeros(len(object_bytes), np.int64)
    try:
        return multipart.simulated(multipart.parts(object_bytes))
    except ValueError as error:
        raise InputError(str(error)) from error


class PartOfUpload(ServiceDemand):
    """The service demand of one part of an upload, for requests with the size of the whole object.

    Attributes:
        of: the demand of a part, by its own size.
        part_bytes: size of each part but the last.
        number: of the part, from 0.
        stands_for: number of demands by which an upload of more parts is simulated; 0: this is that of one part.
    """

    of: ServiceDemand
    part_bytes: int
    number: int
    stands_for: int

    @classmethod
    def wrap(cls, part_bytes: int, number: int, stands_for: int, demand: ServiceDemand) -> PartOfUpload:
        """Return the demand of a part; with no `part_bytes`, that of a request without a body."""
        plain = {name: getattr(demand, name) for name in ServiceDemand.model_fields}
        return cls.model_construct(
            **plain, of=demand, part_bytes=part_bytes, number=number, stands_for=stands_for
        )  # fmt: skip

    def _changed(self, of: ServiceDemand) -> PartOfUpload:
        return PartOfUpload.wrap(self.part_bytes, self.number, self.stands_for, of)

    @property
    def without_bytes(self) -> ServiceDemand:
        """The part of the demand that does not depend on the size."""
        return self._changed(self.of.without_bytes)

    @property
    def of_bytes(self) -> ServiceDemand:
        """The part of the demand that depends on the size."""
        return self._changed(self.of.of_bytes)

    @property
    def on_occasion(self) -> ServiceDemand:
        """The demand of the visits that are above zero."""
        return self._changed(self.of.on_occasion)

    def scaled(self, fraction: float) -> ServiceDemand:
        """Return the demand of a fraction of the work."""
        return self._changed(self.of.scaled(fraction))

    def per_shard(self, shards: float) -> ServiceDemand:
        """Return the demand of one of N shards that the bytes are divided into."""
        return self._changed(self.of.per_shard(shards))

    def mean_s(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean demand in s of uploads of `size_bytes`, same shape."""
        part, times = self._part(size_bytes)
        return self.of.mean_s(part) * times

    def _part(self, size_bytes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the bytes of the part, and how many such parts this demand stands for, each of the same shape."""
        if not self.stands_for:
            return np.clip(size_bytes - self.number * self.part_bytes, 0, self.part_bytes), np.ones(len(size_bytes))
        parts = np.maximum(-(-size_bytes // self.part_bytes), 1)
        return size_bytes // parts, parts / self.stands_for

    def draw_s(self, uniform: Callable[[], NDArray[np.float64]], size: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draw demands as `ServiceDemand.draw_s` does, with this mean."""
        part, times = self._part(size)
        of = self.of.model_copy(update={"distribution": self.distribution})
        return of.draw_s(uniform, part) * times


def refuse_multipart(multipart: Any, store: str) -> None:
    """Refuse multipart uploads where they are not modelled.

    Raises:
        ValueError: they are given.
    """
    if multipart is not None:
        raise ValueError(f"client.multipart: is not modelled for {store}; allowed is null, one request for each PUT")


def further(stages: Iterable[Stage], slots: Place | None) -> Stages:
    """Return the stages of a further request of an upload.

    It has the slot of the first one, so that an upload counts as one request in progress: otherwise uploads could wait
    forever for slots that others hold. Only the first request ties the attempts of the upload.

    Args:
        stages: those of the request by itself.
        slots: the pool of slots; None: there is none.
    """
    kept = (
        replace(s, branches=tuple(tuple(each for each in branch if each.station != slots) for branch in s.branches))
        for s in stages
    )
    return revised(kept, lambda visit: replace(visit, ties=False))


def without_body(stages: Iterable[Stage]) -> Stages:
    """Return the stages of a request without a body, whatever its size, from those of one whose body is the object."""
    nothing = np.zeros(1, np.int64)

    def empty(demand: ServiceDemand) -> ServiceDemand:
        return ServiceDemand(constant=float(demand.mean_s(nothing)[0]), distribution=demand.distribution)

    return with_demands(stages, empty)


def _joined(stages: Sequence[Stage]) -> Stage:
    """Return one stage with the branches of all."""
    branches = tuple(branch for stage in stages for branch in stage.branches)
    return Stage(branches, sum(stage.need for stage in stages), any(stage.delivers for stage in stages))
