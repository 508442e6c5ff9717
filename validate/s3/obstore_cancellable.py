"""obstore's requests as coroutines; cancelling one closes its connection.

They take more CPU of the client than blocking calls (each passes from an event loop to obstore's threads and back), so
they are used only for requests that may have to be cancelled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any

import obstore
from obstore.store import S3Store

from validate.s3.account import CHUNK_BYTES, Response
from validate.s3.answers import check_size
from validate.s3.body_check import BodyCheck, ExpectedBody


class CancellableObstore:
    """A `CancellablePath` with obstore.

    Args:
        stores: obstore's clients, by bucket.
        failed: returns the response for an error; optional arguments: status and time of the first byte.
    """

    def __init__(self, stores: Mapping[str, S3Store], failed: Callable[..., Response]):
        self._stores, self._failed = stores, failed

    async def get(
        self, bucket: str, key: str, span: tuple[int, int] | None, expected: ExpectedBody | None = None
    ) -> Response:
        status, first_byte_s, check = 0, math.nan, BodyCheck(expected)
        try:
            result = await obstore.get_async(self._stores[bucket], key, options={"range": span} if span else None)
            status, first_byte_s = 206 if span else 200, time.perf_counter()
            first, end = result.range
            check.announced(end - first)
            if end - first <= CHUNK_BYTES:
                check.take(memoryview(await result.bytes_async()))
            else:
                async for chunk in result.stream(CHUNK_BYTES):
                    check.take(memoryview(chunk))
            check.end()
            return Response(status, check.received_bytes, first_byte_s)
        except Exception as error:  # obstore raises its own exceptions, OSError and ValueError
            return self._failed(error, status, first_byte_s)

    async def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        body = parts[0]
        return await self._done(obstore.put_async(self._stores[bucket], key, body, use_multipart=False), 200, len(body))

    async def head(self, bucket: str, key: str, sizes: Collection[int] = ()) -> Response:
        async def head() -> None:
            check_size((await obstore.head_async(self._stores[bucket], key))["size"], sizes)

        return await self._done(head(), 200)

    async def delete(self, bucket: str, key: str) -> Response:
        return await self._done(obstore.delete_async(self._stores[bucket], key), 204)

    async def _done(self, call: Coroutine[Any, Any, object], status: int, moved: int = 0) -> Response:
        try:
            await call
            return Response(status, moved)
        except Exception as error:
            return self._failed(error)
