"""The obstore client, written in Rust; it releases the interpreter lock during a request."""

from __future__ import annotations

import importlib.metadata
import math
import os
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import obstore
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.httpsession import URLLib3Session
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import S3Store

from validate.s3.account import (
    CHUNK_BYTES,
    CONNECT_TIMEOUT_S,
    Account,
    CancellablePath,
    Response,
)
from validate.s3.answers import LIST_PAGE, WrongAnswerError, check_list, check_size
from validate.s3.body_check import BodyCheck, ExpectedBody
from validate.s3.deadline import begin_exchange, bound_exchanges
from validate.s3.obstore_cancellable import CancellableObstore
from validate.s3.reasons import redirect
from validate.s3.redirect_trap import MISDIRECTED, trap_of


class ObstorePath:
    """A `DataPath` with obstore.

    obstore lists only by prefixes that end in a slash, so LIST is a separate request, signed by botocore.

    Attributes:
        cancellable: the requests that can be cancelled.
    """

    def __init__(
        self,
        account: Account,
        endpoint_url: str,
        buckets: Iterable[str],
        pool: int,
        timeout_s: float,
        parallel: int = 1,
    ):
        self._account, self._endpoint_url, self._parallel = account, endpoint_url, parallel
        bundle = os.environ.get("AWS_CA_BUNDLE")
        secure = endpoint_url.startswith("https:")
        connect_s = min(CONNECT_TIMEOUT_S, timeout_s)
        settings: dict[str, Any] = {"verify": bundle or True, "timeout": (connect_s, timeout_s)}
        self._timeout_s, self._http = timeout_s, URLLib3Session(max_pool_connections=pool, **settings)
        bound_exchanges(self._http)
        options: dict[str, Any] = {"root_certificate": Path(bundle).read_bytes()} if secure and bundle else {}
        options |= {
            "allow_http": True,
            "timeout": timedelta(seconds=timeout_s),
            "connect_timeout": timedelta(seconds=connect_s),
            "pool_max_idle_per_host": str(pool),
        }
        self._trap = trap_of(endpoint_url)
        if self._trap is not None:
            options |= {"proxy_url": self._trap.url, "proxy_excludes": urlsplit(endpoint_url).hostname or ""}
        self.facts = {
            "name": "obstore",
            "version": importlib.metadata.version("obstore"),
            "payload_signature": "sha256",
            "checksum": os.environ.get("AWS_CHECKSUM_ALGORITHM", "none").lower(),
        }
        self._stores = {
            bucket: S3Store(
                bucket,
                # Both names of the endpoint: AWS_ENDPOINT_URL_S3 would otherwise override it.
                endpoint=endpoint_url,
                aws_endpoint_url_s3=endpoint_url,
                region=account.region,
                virtual_hosted_style_request=False,
                disable_bulk_delete=True,
                unsigned_payload=False,
                credential_provider=Boto3CredentialProvider(account.session),
                client_options=options,  # type: ignore[arg-type]
                retry_config={"max_retries": 0},
            )
            for bucket in buckets
        }
        self.cancellable: CancellablePath | None = CancellableObstore(self._stores, self._failed)

    def get(
        self, bucket: str, key: str, span: tuple[int, int] | None, expected: ExpectedBody | None = None
    ) -> Response:
        status, first_byte_s, check = 0, math.nan, BodyCheck(expected)
        try:
            result = obstore.get(self._stores[bucket], key, options={"range": span} if span else None)
            status, first_byte_s = 206 if span else 200, time.perf_counter()
            first, end = result.range
            check.announced(end - first)
            for chunk in [result.bytes()] if end - first <= CHUNK_BYTES else result.stream(CHUNK_BYTES):
                check.take(memoryview(chunk))
            check.end()
            return Response(status, check.received_bytes, first_byte_s)
        except Exception as error:  # obstore raises its own exceptions, OSError and ValueError
            return self._failed(error, status, first_byte_s)

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        moved = sum(len(part) for part in parts)
        if len(parts) == 1:
            return self._done(lambda s: obstore.put(s, key, parts[0], use_multipart=False), bucket, 200, moved)
        return self._done(
            lambda s: obstore.put(s, key, iter(parts), chunk_size=len(parts[0]), max_concurrency=self._parallel),
            bucket, 200, moved,
        )  # fmt: skip

    def head(self, bucket: str, key: str, sizes: Collection[int] = ()) -> Response:
        return self._done(lambda s: check_size(obstore.head(s, key)["size"], sizes), bucket, 200)

    def delete(self, bucket: str, key: str) -> Response:
        return self._done(lambda s: obstore.delete(s, key), bucket, 204)

    def list(self, bucket: str, prefix: str) -> Response:
        account = self._account
        requested = {"list-type": "2", "max-keys": str(LIST_PAGE), "prefix": prefix}
        request = AWSRequest("GET", f"{self._endpoint_url}/{bucket}", params=requested)
        try:
            S3SigV4Auth(account.credentials.get_frozen_credentials(), "s3", account.region).add_auth(request)
            begin_exchange(self._timeout_s)
            response = self._http.send(request.prepare())
            if response.status_code != 200:
                return Response(response.status_code, error=account.clean(_answer_text(response)))
            check_list(*_keys(response.content), prefix)
            return Response(response.status_code)
        except Exception as error:  # also of urllib3 and of the parser
            return self._failed(error)

    def _done(self, call: Callable[[S3Store], object], bucket: str, status: int, moved: int = 0) -> Response:
        """Issue a request; obstore does not return the 2xx status, so the response has the usual one of S3."""
        try:
            call(self._stores[bucket])
            return Response(status, moved)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception, status: int = 0, first_byte_s: float = math.nan) -> Response:
        text = str(error)
        said = re.search(r"status code: (\d{3})", text)
        status = int(said[1]) if said else status
        if self._trap is not None and self._trap.target and (status == MISDIRECTED or "tunnel" in text):
            return Response(0, 0, first_byte_s, redirect(self._trap.target))
        if isinstance(error, WrongAnswerError):
            status = status or 200
        if 300 <= status < 400:
            return Response(status, 0, first_byte_s, redirect(""))
        return Response(status, 0, first_byte_s, self._account.explain(error))


def _keys(document: bytes) -> tuple[bool, list[str]]:
    """Return whether a document is a list of objects, and its keys."""
    try:
        root = ElementTree.fromstring(document)
    except ElementTree.ParseError:
        return False, []
    names = [re.sub(r"^\{.*\}", "", root.tag)] + [each.text or "" for each in root.iterfind("{*}Contents/{*}Key")]
    return names[0] == "ListBucketResult", names[1:]


def _answer_text(response: Any) -> str:
    """Return the text of an answer that is no success."""
    if 300 <= response.status_code < 400:
        return redirect(response.headers.get("location", ""))
    return str(response.text) or f"{response.status_code} without a body"
