"""Multipart uploads: their section of a spec, and their requests.

An upload is initiated, its parts are sent, as many at a time as the client has in parallel, and it is completed. Each
of these requests has a route of its own (`Multipart.requests`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from models.network.route import Route, Stage
from models.network.service_demand import ServiceDemand
from models.network.sub_requests import SubRequests
from models.shared.steps import Place, Stages, Step, chunked, starts, with_demands
from traces.errors import InputError
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes, parse_bytes
from traces.workload.distributions import Strict

LEAST_PART_BYTES, MOST_PART_BYTES = 5 << 20, 5 << 30
"""What S3 allows (docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""
MOST_PARTS = 10_000

_MOST_PARALLEL = 64
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


def refuse_multipart(multipart: Any, store: str) -> None:
    """Refuse multipart uploads where they are not modelled.

    Raises:
        ValueError: they are given.
    """
    if multipart is not None:
        raise ValueError(f"client.multipart: is not modelled for {store}; allowed is null, one request for each PUT")


def without_body(stages: Iterable[Stage]) -> Stages:
    """Return the stages of a request without a body, whatever its size, from those of one whose body is the object."""
    nothing = np.zeros(1, np.int64)

    def empty(demand: ServiceDemand) -> ServiceDemand:
        return ServiceDemand(constant=float(demand.mean_s(nothing)[0]), distribution=demand.distribution)

    return with_demands(stages, empty)
