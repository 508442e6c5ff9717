"""The boto3 client, used by most Python programs; several times the CPU per request, under the interpreter lock."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from validate.s3.account import CHUNK_BYTES, Account, CancellablePath, Response
from validate.s3.answers import LIST_PAGE, WrongAnswerError, check_list, check_size
from validate.s3.body_check import BodyCheck, ExpectedBody


class Boto3Path:
    """A `DataPath` with boto3."""

    def __init__(self, account: Account, endpoint_url: str, pool: int, timeout_s: float, parallel: int = 1):
        self.cancellable: CancellablePath | None = None  # urllib3 does not expose a busy connection
        self._explain, self._parallel = account.explain, parallel
        self._client = account.client(endpoint_url, pool, timeout_s)
        config = self._client.meta.config
        signs = endpoint_url.startswith("http:") or (config.s3 or {}).get("payload_signing_enabled")
        self.facts = {
            "name": "boto3",
            "version": importlib.metadata.version("boto3"),
            "payload_signature": "sha256" if signs else "none",
            "checksum": "crc32" if config.request_checksum_calculation == "when_supported" else "none",
        }

    def get(
        self, bucket: str, key: str, span: tuple[int, int] | None, expected: ExpectedBody | None = None
    ) -> Response:
        status, first_byte_s = 0, math.nan
        try:
            ranged: Any = {"Range": f"bytes={span[0]}-{span[1] - 1}"} if span else {}
            result = self._client.get_object(Bucket=bucket, Key=key, **ranged)
            status, first_byte_s = _status(result), time.perf_counter()
            with contextlib.closing(result["Body"]) as body:  # a body that is not read to its end ends the connection
                if status != (wanted := 206 if span else 200):
                    raise WrongAnswerError(f"wrong status: {status} instead of {wanted}")
                check = BodyCheck(expected)
                if "ContentLength" in result:
                    check.announced(result["ContentLength"])
                for chunk in body.iter_chunks(CHUNK_BYTES):
                    check.take(chunk)
                check.end()
            return Response(status, check.received_bytes, first_byte_s)
        except Exception as error:  # also of parsers and of urllib3
            return self._failed(error, status, first_byte_s)

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        moved = sum(len(part) for part in parts)
        if len(parts) == 1:
            return self._done(lambda: self._put_whole(bucket, key, parts[0]), moved)

        def upload() -> dict[str, Any]:
            size = len(parts[0])
            how = TransferConfig(multipart_threshold=size, multipart_chunksize=size, max_concurrency=self._parallel)
            self._client.upload_fileobj(_Joined(parts), bucket, key, Config=how)
            return {"ResponseMetadata": {"HTTPStatusCode": 200}}  # the status of S3; the call returns none

        return self._done(upload, moved)

    def _put_whole(self, bucket: str, key: str, body: memoryview) -> Any:
        result = self._client.put_object(Bucket=bucket, Key=key, Body=bytes(body))
        if "ETag" not in result:
            raise WrongAnswerError("wrong headers: a PUT without an ETag")
        return result

    def head(self, bucket: str, key: str, sizes: Collection[int] = ()) -> Response:
        def head() -> Any:
            result = self._client.head_object(Bucket=bucket, Key=key)
            check_size(result.get("ContentLength"), sizes)
            return result

        return self._done(head)

    def delete(self, bucket: str, key: str) -> Response:
        return self._done(lambda: self._client.delete_object(Bucket=bucket, Key=key))

    def list(self, bucket: str, prefix: str) -> Response:
        def page() -> Any:
            result = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=LIST_PAGE)
            check_list("IsTruncated" in result, [found["Key"] for found in result.get("Contents", ())], prefix)
            return result

        return self._done(page)

    def _done(self, call: Callable[[], Any], moved: int = 0) -> Response:
        try:
            status = _status(call())
            if not 200 <= status < 300:
                return Response(status, error=f"wrong status: {status} instead of 200")
            return Response(status, moved)
        except Exception as error:  # also of parsers and of urllib3
            return self._failed(error)

    def _failed(self, error: Exception, status: int = 0, first_byte_s: float = math.nan) -> Response:
        status = _status(error.response) if isinstance(error, ClientError) else status
        if isinstance(error, WrongAnswerError):
            status = status or 200
        return Response(status, 0, first_byte_s, self._explain(error))


class _Joined(io.RawIOBase):
    """Parts as one readable file."""

    def __init__(self, parts: Sequence[memoryview]):
        self._parts = list(reversed(parts))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._parts:
            return 0
        part = self._parts.pop()
        count = min(len(buffer), len(part))
        buffer[:count] = part[:count]
        if count < len(part):
            self._parts.append(part[count:])
        return count


def _status(response: Any) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
