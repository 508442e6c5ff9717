"""The buckets of a replay: created for it, filled with the objects that it reads, and removed. It touches no others."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from botocore.exceptions import BotoCoreError, ClientError

from models.shared.multipart import Multipart
from traces.errors import InputError
from traces.interrupts import raise_stops_again
from validate.replay.bucket_record import BucketRecord, delete_objects, is_absent
from validate.s3.account import Account, Reached
from validate.s3.preload import Contents, Stored, write_each

_DELETE_BATCH = 1000  # the maximum of DeleteObjects
_TAKEN = ("BucketAlreadyExists", "BucketAlreadyOwnedByYou")
_NAME_TRIES = 5


class StoredObject(NamedTuple):
    """An object that must exist before a replay."""

    bucket: str
    key: str
    size_bytes: int


class Payload:
    """Bodies of objects: pseudo-random (incompressible) slices of one buffer.

    Args:
        longest_bytes: size of the longest piece.
        multipart: how objects are divided into parts.
        buckets: created ones, whose names select the buffer: some stores keep equal blocks once, also of other replays.
    """

    _OFFSETS = 1 << 16

    def __init__(self, longest_bytes: int, multipart: Multipart, buckets: Iterable[str] = ()):
        self._multipart = multipart
        count, seed = longest_bytes + self._OFFSETS, zlib.crc32(" ".join(buckets).encode())
        self._buffer = memoryview(np.random.Generator(np.random.Philox(seed)).bytes(count))

    def parts(self, key: str, size_bytes: int) -> list[memoryview]:
        """Return the body of an object in one piece or in parts, determined by key and size, without copying."""
        piece = self._multipart.piece_bytes(size_bytes)
        offset = zlib.crc32(key.encode())
        parts = []
        for number, at in enumerate(range(0, max(size_bytes, 1), max(piece, 1))):
            begin = (offset + number) % self._OFFSETS
            parts.append(self._buffer[begin : begin + min(piece, size_bytes - at)])
        return parts


class Buckets:
    """Buckets created for one replay.

    Attributes:
        names: the created bucket for each bucket of the trace.
        server: the Server header of the store.
    """

    def __init__(
        self,
        account: Account,
        record: BucketRecord | None = None,
        token: Callable[[], str] = lambda: secrets.token_hex(8),
    ):
        self._account, self._record, self._token = account, record, token
        self.names: dict[str, str] = {}
        self.server: str | None = None

    def create(self, wanted: Sequence[str]) -> None:
        """Create ``tailcast-<random>-<n>`` for each bucket of the trace; each is recorded before.

        Raises:
            InputError: the store is unreachable or refuses.
        """
        try:
            for n, bucket in enumerate(wanted):
                self._create_one(bucket, n)
        except (BotoCoreError, ClientError) as error:
            raise InputError(f"{self._account.endpoint_url}: {self._account.explain(error)}") from error

    def _create_one(self, bucket: str, n: int) -> None:
        region = self._account.region
        where: Any = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        for _ in range(_NAME_TRIES):
            name = f"tailcast-{self._token()}-{n}"
            if self._exists(name):
                continue
            self.names[bucket] = name
            if self._record is not None:
                self._record.add(name)
            try:
                response = self._account.buckets.create_bucket(Bucket=name, **where)
            except ClientError as error:
                if 400 <= error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
                    self._withdraw(bucket)  # it was not created, or by another user in the meantime
                if error.response.get("Error", {}).get("Code") in _TAKEN:
                    continue
                raise
            self.server = response["ResponseMetadata"]["HTTPHeaders"].get("server")
            return
        raise InputError(f"{self._account.endpoint_url}: no free bucket name in {_NAME_TRIES} tries")

    def _withdraw(self, bucket: str) -> None:
        name = self.names.pop(bucket)
        if self._record is not None:
            self._record.withdraw(name)

    def _exists(self, name: str) -> bool:
        """Whether the bucket exists; checked first, as some stores return 200 when an owner creates a bucket again."""
        try:
            self._account.buckets.head_bucket(Bucket=name)
        except ClientError:
            return False  # absent, or creating it will raise the error
        return True

    def preload(
        self, path: Reached, objects: Sequence[Stored], payload: Contents, progress: Callable[[int], None]
    ) -> None:
        """Write the objects, several at a time.

        Raises:
            InputError: an object could not be written.
        """

        def write(wanted: Stored) -> None:
            response = path.put(self.names[wanted.bucket], wanted.key, payload.parts(wanted.key, wanted.size_bytes))
            if response.error is not None:
                where = f"{self._account.endpoint_url}: {wanted.bucket}/{wanted.key}"
                raise InputError(f"{where} cannot be written before the replay: {response.error}")

        write_each(objects, write, progress)

    def remove(self, written: Mapping[str, Iterable[str]]) -> list[str]:
        """Delete the given keys of each bucket of the trace, then the buckets.

        Returns:
            A line with the reason for each bucket that could not be removed; one with foreign objects is kept.

        Raises:
            KeyboardInterrupt: its text names the buckets that are left.
        """
        left, names = [], dict(self.names)
        try:
            raise_stops_again()  # it may take long
            for bucket, name in self.names.items():
                try:
                    self._empty(name, sorted(written.get(bucket, ())))
                    self._account.buckets.delete_bucket(Bucket=name)
                except (BotoCoreError, ClientError, InputError) as error:
                    if not (isinstance(error, ClientError) and is_absent(error)):
                        left.append(f"bucket {name} could not be removed: {self._account.explain(error)}")
                del names[bucket]
        except KeyboardInterrupt:
            raise KeyboardInterrupt(*left, f"left on the store: bucket {', '.join(names.values())}") from None
        return left

    def _empty(self, name: str, keys: Sequence[str]) -> None:
        for first in range(0, len(keys), _DELETE_BATCH):
            delete_objects(self._account, name, list(keys[first : first + _DELETE_BATCH]))
