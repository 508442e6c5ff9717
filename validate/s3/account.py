"""Access to S3: the target, its credentials, responses, and the interface of client libraries.

A call of a `DataPath` is one attempt, without retries, with a time stamp of the first byte. It returns a `Response`,
which has the errors as a status and a text without credentials. Time stamps are those of `time.perf_counter`.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from traces.errors import InputError
from validate.s3.body_check import ExpectedBody
from validate.s3.deadline import MOST_DOCUMENT_BYTES, begin_exchange, bound_exchanges
from validate.s3.reasons import reason, text_of, without

CHUNK_BYTES = 8 << 20
"""Bytes of a large object to read at a time."""

CONNECT_TIMEOUT_S = 5.0
_BUCKET_TIMEOUT_S = 30.0  # of requests that are not measured


@dataclass(frozen=True)
class Target:
    """The endpoint of a store and its credentials.

    Attributes:
        endpoint_url: None: that of the AWS configuration.
        profile, credentials_file: None: the default AWS chain.
        server_pids: the store's processes on this machine whose CPU time is measured.
        node_urls: the endpoints of all nodes, if the store has several; `endpoint_url` is one of them.
        server_version: the version according to the server's program; responses do not contain it.
        store: the name of the store's kind (`validate.lab.registry`), if it is known.
        lab: hosts, drives and shape of a store of the lab, as a Run records them.
        mount: a folder of a mounted file system that takes the place of an endpoint; None: requests of S3.
        device_pids: processes that stand for devices of the store, whose CPU time is neither its own nor other load.
    """

    endpoint_url: str | None = None
    profile: str | None = None
    credentials_file: Path | None = None
    server_pids: tuple[int, ...] = ()
    node_urls: tuple[str, ...] = ()
    server_version: str | None = None
    store: str | None = None
    lab: Mapping[str, Any] | None = None
    device_pids: tuple[int, ...] = ()
    mount: Path | None = None


class Response(NamedTuple):
    """The response to a request.

    Attributes:
        status: HTTP status; 0 if there was no response.
        transfer_bytes: payload bytes transferred.
        first_byte_s: arrival of the head of the response to a GET; NaN for other requests.
        error: None on success.
    """

    status: int
    transfer_bytes: int = 0
    first_byte_s: float = math.nan
    error: str | None = None


class CancellablePath(Protocol):
    """The requests of `DataPath` except LIST, as coroutines; cancelling one closes its connection."""

    def get(
        self, bucket: str, key: str, span: tuple[int, int] | None, expected: ExpectedBody | None = None
    ) -> Coroutine[Any, Any, Response]:
        """Read an object or a part of it."""

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Coroutine[Any, Any, Response]:
        """Write an object of one part."""

    def head(self, bucket: str, key: str, sizes: Collection[int] = ()) -> Coroutine[Any, Any, Response]:
        """Read an object's metadata."""

    def delete(self, bucket: str, key: str) -> Coroutine[Any, Any, Response]:
        """Delete an object."""


class Reached(Protocol):
    """What a replay reaches, thread-safe.

    Attributes:
        cancellable: the requests that can be cancelled; None if none can.
        facts: properties that affect the CPU time of both sides, such as ``name`` and ``version`` of a library.
    """

    cancellable: CancellablePath | None
    facts: dict[str, str]

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        """Write an object, by multipart upload if it has several parts; all but the last have the same size."""

    def head(self, bucket: str, key: str) -> Response:
        """Read an object's metadata."""


class DataPath(Reached, Protocol):
    """A client of some buckets; `facts` has ``payload_signature`` and ``checksum`` of writes."""

    def get(
        self, bucket: str, key: str, span: tuple[int, int] | None, expected: ExpectedBody | None = None
    ) -> Response:
        """Read an object, or its bytes from `span[0]` to `span[1]` (excluded); another body than expected fails."""

    def head(self, bucket: str, key: str, sizes: Collection[int] = ()) -> Response:
        """Read an object's metadata; a size that is none of `sizes` fails, if there are any."""

    def delete(self, bucket: str, key: str) -> Response:
        """Delete an object."""

    def list(self, bucket: str, prefix: str) -> Response:
        """List the first page of the keys that begin with `prefix`."""


class Account:
    """A target with credentials and settings from the AWS chain, and the client for buckets.

    Attributes:
        buckets: a boto3 client for requests that are not measured.
        endpoint_url: the actual endpoint.

    Raises:
        InputError: there are no credentials, or the profile or the endpoint is invalid.
    """

    def __init__(self, target: Target):
        _refuse_secrets(target.endpoint_url or "")
        core = botocore.session.Session(profile=target.profile)
        if target.credentials_file is not None:
            core.set_config_variable("credentials_file", str(target.credentials_file))
        try:
            self.session = boto3.Session(botocore_session=core)
            credentials = self.session.get_credentials()
            if credentials is None:
                raise InputError(
                    "no credentials found; name an AWS profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                )
            frozen = credentials.get_frozen_credentials()
            self._secrets = [s for s in (frozen.access_key, frozen.secret_key, frozen.token) if s]
            self.credentials = credentials
            self.region = self.session.region_name or "us-east-1"
            self.buckets = self.client(target.endpoint_url, pool=4, timeout_s=_BUCKET_TIMEOUT_S)
        except (BotoCoreError, ValueError) as error:
            raise error if isinstance(error, InputError) else InputError(str(error)) from error
        self.endpoint_url: str = self.buckets.meta.endpoint_url
        _refuse_secrets(self.endpoint_url)

    def client(
        self, endpoint_url: str | None, pool: int, timeout_s: float
    ) -> Any:  # boto3 creates the class at run time
        """Return a boto3 client that never retries, and whose exchanges take `timeout_s` at most."""
        config = Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=pool,
            connect_timeout=min(CONNECT_TIMEOUT_S, timeout_s),
            read_timeout=timeout_s,
            s3={"addressing_style": "path"},
        )
        client = self.session.client("s3", endpoint_url=endpoint_url, region_name=self.region, config=config)
        bound_exchanges(client._endpoint.http_session)
        client.meta.events.register("before-send.s3", partial(_begin, timeout_s))
        client.meta.events.register("before-sign.s3.DeleteObjects", _add_digest)
        return client

    def explain(self, error: Exception) -> str:
        """Return one line on an error, without credentials, signatures or the queries of URLs."""
        return self.clean(text_of(error))

    def clean(self, text: str) -> str:
        """Return the essential part of an error text or of an error response's body, without secrets."""
        text = reason(text)
        for secret in self._secrets:
            text = without(secret, text)
        return text


def _begin(limit_s: float, request: Any, **_: Any) -> None:
    """Begin an exchange; the length of an object is checked as it arrives, that of other answers is limited here."""
    begin_exchange(limit_s, math.inf if request.stream_output else MOST_DOCUMENT_BYTES)


def _refuse_secrets(endpoint_url: str) -> None:
    """Refuse an endpoint, from whatever source, whose URL has credentials or a query such as a signature."""
    parts = endpoint_url.partition("://")[2] or endpoint_url
    if "@" in parts:
        raise InputError("the endpoint URL contains credentials; use an AWS profile or AWS_* variables instead")
    if "?" in parts or "#" in parts:
        raise InputError("the endpoint URL has a query or fragment; give only scheme, host and port")


def _add_digest(request: Any, **_: Any) -> None:
    """Add the MD5 digest of the body, which AWS no longer needs and Swift's s3api (2.30) does."""
    request.headers["Content-MD5"] = base64.b64encode(
        hashlib.md5(request.data, usedforsecurity=False).digest()
    ).decode()
