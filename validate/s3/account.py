"""What it takes to speak S3: the target, its credentials, an answer, and what every client library must do.

A call of a `DataPath` is one attempt: nothing is retried, the first byte is stamped. It returns a `Response`; what
goes wrong is in it, as a status and a text that holds no credentials. Time stamps are those of `time.perf_counter`.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from traces.errors import InputError

LIST_PAGE = 1000
"""A LIST asks for one page of this many keys, the most that S3 gives at once."""

PARTS_AT_ONCE = 10
"""Parts of an object that are under way at a time, as many as aws-cli sends (max_concurrent_requests)."""

CHUNK_BYTES = 8 << 20
"""What is read of a large object at a time."""

CONNECT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Target:
    """Where requests go and by whose right.

    Attributes:
        endpoint_url: None: as the AWS configuration says.
        profile, credentials_file: None: the usual AWS chain.
        server_pids: the store's processes, where they run on this machine and their CPU time is wanted.
        node_urls: the endpoints of all nodes, where the store has several; `endpoint_url` is one of them.
        server_version: as the server's program says; no answer tells it.
        store: the name of the store's kind (`validate.lab.registry`), where it is known.
    """

    endpoint_url: str | None = None
    profile: str | None = None
    credentials_file: Path | None = None
    server_pids: tuple[int, ...] = ()
    node_urls: tuple[str, ...] = ()
    server_version: str | None = None
    store: str | None = None


class Response(NamedTuple):
    """What became of a request.

    Attributes:
        status: of HTTP; 0 where no answer came.
        transfer_bytes: payload moved.
        first_byte_s: when the head of the answer to a GET was there; NaN for any other request.
        error: None where it went well.
    """

    status: int
    transfer_bytes: int = 0
    first_byte_s: float = math.nan
    error: str | None = None


class CancellablePath(Protocol):
    """A client's requests as coroutines; cancelling one closes its connection. As of `DataPath`, without LIST."""

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Coroutine[Any, Any, Response]:
        """Read an object or a part of it."""

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Coroutine[Any, Any, Response]:
        """Write an object of one part."""

    def head(self, bucket: str, key: str) -> Coroutine[Any, Any, Response]:
        """Ask for an object's metadata."""

    def delete(self, bucket: str, key: str) -> Coroutine[Any, Any, Response]:
        """Delete an object."""


class DataPath(Protocol):
    """A client of some buckets, for use by many threads at once.

    Attributes:
        cancellable: the requests that can be taken back; None where the library cannot do that.
        facts: what of it costs CPU on both sides: ``name`` and ``version`` of the library, ``payload_signature`` and
            ``checksum`` of what it writes.
    """

    cancellable: CancellablePath | None
    facts: dict[str, str]

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Response:
        """Read an object, or of it the bytes from `span[0]` up to but not including `span[1]`."""

    def put(self, bucket: str, key: str, parts: Sequence[memoryview]) -> Response:
        """Write an object, by a multipart upload where it has several parts; all but the last are of one size."""

    def head(self, bucket: str, key: str) -> Response:
        """Ask for an object's metadata."""

    def delete(self, bucket: str, key: str) -> Response:
        """Delete an object."""

    def list(self, bucket: str, prefix: str) -> Response:
        """Ask for the first page of the keys that begin with `prefix`."""


class Account:
    """A target with its credentials and settings found by the AWS chain, and the client for buckets.

    Attributes:
        buckets: a boto3 client, for all that is not measured.
        endpoint_url: where requests really go.

    Raises:
        InputError: there are no credentials, the profile or the endpoint is wrong.
    """

    def __init__(self, target: Target):
        if "@" in (target.endpoint_url or ""):
            raise InputError(
                "the endpoint URL holds credentials; give them by an AWS profile or AWS_* variables instead"
            )
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
    ) -> Any:  # boto3 makes the class when it runs
        """A boto3 client that never retries."""
        config = Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=pool,
            connect_timeout=min(CONNECT_TIMEOUT_S, timeout_s),
            read_timeout=timeout_s,
            s3={"addressing_style": "path"},
        )
        return self.session.client("s3", endpoint_url=endpoint_url, region_name=self.region, config=config)

    def explain(self, error: Exception) -> str:
        """One line on what went wrong, without credentials, signatures or the queries of URLs."""
        return self.clean(_client_error(error) if isinstance(error, ClientError) else str(error))

    def clean(self, text: str) -> str:
        """The telling part of an error text or an error answer's body, with the secrets blotted out."""
        text = _reason(text)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _client_error(error: ClientError) -> str:
    said = error.response.get("Error", {})
    return f"{said.get('Code', 'error')}: {said.get('Message', '')}".rstrip(": ")


def _reason(text: str) -> str:
    """The telling part of a client library's error text: S3's own code, else HTTP's status, else the transport's."""
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
