"""Access to S3: the target, its credentials, responses, and the interface of client libraries.

A call of a `DataPath` is one attempt, without retries, with a time stamp of the first byte. It returns a `Response`,
which has the errors as a status and a text without credentials. Time stamps are those of `time.perf_counter`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError

from traces.errors import InputError

LIST_PAGE = 1000
"""The number of keys that a LIST requests: one page, the maximum of S3."""

CHUNK_BYTES = 8 << 20
"""Bytes of a large object to read at a time."""

CONNECT_TIMEOUT_S = 5.0

_SHORTEST_SECRET = 8  # characters; a shorter key may be part of an ordinary word


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

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Coroutine[Any, Any, Response]:
        """Read an object or a part of it."""

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Coroutine[Any, Any, Response]:
        """Write an object of one part."""

    def head(self, bucket: str, key: str) -> Coroutine[Any, Any, Response]:
        """Read an object's metadata."""

    def delete(self, bucket: str, key: str) -> Coroutine[Any, Any, Response]:
        """Delete an object."""


class DataPath(Protocol):
    """A client of some buckets, thread-safe.

    Attributes:
        cancellable: the requests that can be cancelled; None if the library cannot cancel.
        facts: properties that affect the CPU time of both sides: ``name`` and ``version`` of the library,
            ``payload_signature`` and ``checksum`` of writes.
    """

    cancellable: CancellablePath | None
    facts: dict[str, str]

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Response:
        """Read an object, or its bytes from `span[0]` to `span[1]` (excluded)."""

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        """Write an object, by multipart upload if it has several parts; all but the last have the same size."""

    def head(self, bucket: str, key: str) -> Response:
        """Read an object's metadata."""

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
        if "@" in (target.endpoint_url or ""):
            raise InputError("the endpoint URL contains credentials; use an AWS profile or AWS_* variables instead")
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
            self.buckets = self.client(target.endpoint_url, pool=4, timeout_s=30.0)
        except (BotoCoreError, ValueError) as error:
            raise error if isinstance(error, InputError) else InputError(str(error)) from error
        self.endpoint_url: str = self.buckets.meta.endpoint_url

    def client(
        self, endpoint_url: str | None, pool: int, timeout_s: float
    ) -> Any:  # boto3 creates the class at run time
        """Return a boto3 client that never retries."""
        config = Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=pool,
            connect_timeout=min(CONNECT_TIMEOUT_S, timeout_s),
            read_timeout=timeout_s,
            s3={"addressing_style": "path"},
        )
        client = self.session.client("s3", endpoint_url=endpoint_url, region_name=self.region, config=config)
        client.meta.events.register("before-sign.s3.DeleteObjects", _add_digest)
        return client

    def explain(self, error: Exception) -> str:
        """Return one line on an error, without credentials, signatures or the queries of URLs."""
        if isinstance(error, EndpointConnectionError):
            return self.clean(_connection_error(error))
        return self.clean(_client_error(error) if isinstance(error, ClientError) else str(error))

    def clean(self, text: str) -> str:
        """Return the essential part of an error text or of an error response's body, without secrets."""
        text = _reason(text)
        for secret in self._secrets:
            text = _without(secret, text)
        return text


def _add_digest(request: Any, **_: Any) -> None:
    """Add the MD5 digest of the body, which AWS no longer needs and Swift's s3api (2.30) does."""
    request.headers["Content-MD5"] = base64.b64encode(
        hashlib.md5(request.data, usedforsecurity=False).digest()
    ).decode()


def _without(secret: str, text: str) -> str:
    """Replace a secret; one as short as an ordinary word only where it stands alone, or it would garble the text."""
    pattern = re.escape(secret)
    if len(secret) < _SHORTEST_SECRET:
        pattern = rf"(?<![\w']){pattern}(?![\w'])"
    return re.sub(pattern, "***", text)


def _client_error(error: ClientError) -> str:
    said = error.response.get("Error", {})
    return f"{said.get('Code', 'error')}: {said.get('Message', '')}".rstrip(": ")


def _connection_error(error: EndpointConnectionError) -> str:
    cause = re.search(r"\[Errno -?\d+\] ([^'\")]*)", str(error.kwargs.get("error", "")))
    return f"{error}: {cause[1]}" if cause else str(error)


def _reason(text: str) -> str:
    """Return the essential part of an error text: the S3 error code, else the HTTP status, else the transport error."""
    code = re.search(r"<Code>(.*?)</Code>", text)
    if code:
        message = re.search(r"<Message>(.*?)</Message>", text, re.DOTALL)
        return f"{code[1]}: {html.unescape(message[1])}" if message else code[1]
    status = re.search(r"status code: (\d{3} [A-Za-z ]+)", text)
    if status:
        return status[1].strip()
    system = re.search(r'message: "([^"]+)"', text)
    if system:
        return system[1]
    if "TimedOut" in text or "kind: Timeout" in text:
        return "timed out"
    line = next(iter(text.splitlines()), "") or "error"
    return re.sub(r"\?[^\s\"']*", "", line)
