"""Clients of a store for the data path: one request a call, no retries, the first byte stamped.

Every call returns an `Answer`; what goes wrong is in it, as a status and a text that holds no credentials. Time stamps
are those of `time.perf_counter`.
"""

from __future__ import annotations

import html
import importlib.metadata
import math
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import boto3
import botocore.session
import obstore
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.httpsession import URLLib3Session
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.store import S3Store

from traces.errors import InputError

DATA_PATHS = ("obstore", "boto3")
LIST_PAGE = 1000
"""A LIST asks for one page of this many keys, the most that S3 gives at once."""

CONNECT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Target:
    """Where requests go and by whose right.

    Attributes:
        endpoint_url: None: as the AWS configuration says.
        profile, credentials_file: None: the usual AWS chain.
        server_pid: the store's process, where it runs on this machine and its CPU time is wanted.
    """

    endpoint_url: str | None = None
    profile: str | None = None
    credentials_file: Path | None = None
    server_pid: int | None = None


class Answer(NamedTuple):
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


class DataPath(Protocol):
    """A client of some buckets, for use by many threads at once."""

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Answer:
        """Read an object, or of it the bytes from `span[0]` up to but not including `span[1]`."""

    def put(self, bucket: str, key: str, body: memoryview) -> Answer:
        """Write an object in one piece."""

    def head(self, bucket: str, key: str) -> Answer:
        """Ask for an object's metadata."""

    def delete(self, bucket: str, key: str) -> Answer:
        """Delete an object."""

    def list(self, bucket: str, prefix: str) -> Answer:
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
            raise InputError("the endpoint URL holds credentials; give them by --profile or AWS_* variables instead")
        core = botocore.session.Session(profile=target.profile)
        if target.credentials_file is not None:
            core.set_config_variable("credentials_file", str(target.credentials_file))
        try:
            self.session = boto3.Session(botocore_session=core)
            credentials = self.session.get_credentials()
            if credentials is None:
                raise InputError(
                    "no credentials found; give --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
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


def connect(account: Account, data_path: str, buckets: Iterable[str], pool: int, timeout_s: float) -> DataPath:
    """A data path of that name (one of `DATA_PATHS`) to the buckets, with up to `pool` connections.

    Raises:
        InputError: there is no data path of that name.
    """
    if data_path == "obstore":
        return _Obstore(account, buckets, pool, timeout_s)
    if data_path == "boto3":
        return _Boto3(account, pool, timeout_s)
    raise InputError(f"data path {data_path!r} is unknown; allowed are {', '.join(DATA_PATHS)}")


def data_path_facts(data_path: str) -> dict[str, str]:
    """What of a data path costs CPU on both sides: its version, how payload is signed and summed."""
    checksum = {"obstore": "none", "boto3": "crc32"}[data_path]
    return {"name": data_path, "version": importlib.metadata.version(data_path), "checksum": checksum,
            "payload_signature": "sha256"}  # fmt: skip


def unsendable(data_path: str, op: str, key: str) -> str | None:
    """Why a data path cannot ask for a key exactly as it is written; None where it can.

    obstore takes keys as paths: it drops slashes at the ends, and refuses empty and dot segments and
    control characters.
    """
    if data_path != "obstore" or op == "LIST":
        return None
    if any(part in ("", ".", "..") for part in key.split("/")) or re.search(r"[\x00-\x1f\x7f]", key):
        return "obstore takes no keys with empty or dot segments, or control characters"
    return None


class _Obstore:
    """obstore: a Rust client; the interpreter lock is free while a request is under way.

    It lists only by prefixes that end in a slash, so LIST is a request of our own, signed by botocore.
    """

    def __init__(self, account: Account, buckets: Iterable[str], pool: int, timeout_s: float):
        self._account = account
        bundle = os.environ.get("AWS_CA_BUNDLE")
        secure = account.endpoint_url.startswith("https:")
        connect_s = min(CONNECT_TIMEOUT_S, timeout_s)
        settings: dict[str, Any] = {"verify": bundle or True, "timeout": (connect_s, timeout_s)}
        self._http = URLLib3Session(max_pool_connections=pool, **settings)
        options: dict[str, Any] = {"root_certificate": Path(bundle).read_bytes()} if secure and bundle else {}
        options |= {
            "allow_http": True,
            "timeout": timedelta(seconds=timeout_s),
            "connect_timeout": timedelta(seconds=connect_s),
            "pool_max_idle_per_host": str(pool),
        }
        self._stores = {
            bucket: S3Store(
                bucket,
                # Both names of the endpoint: AWS_ENDPOINT_URL_S3 would otherwise win over what was asked for.
                endpoint=account.endpoint_url,
                aws_endpoint_url_s3=account.endpoint_url,
                region=account.region,
                virtual_hosted_style_request=False,
                disable_bulk_delete=True,
                credential_provider=Boto3CredentialProvider(account.session),
                client_options=options,  # type: ignore[arg-type]
                retry_config={"max_retries": 0},
            )
            for bucket in buckets
        }

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Answer:
        status, first_byte_s = 0, math.nan
        try:
            result = obstore.get(self._stores[bucket], key, options={"range": span} if span else None)
            status, first_byte_s = 206 if span else 200, time.perf_counter()
            return Answer(status, len(result.bytes()), first_byte_s)
        except Exception as error:  # obstore raises its own, OSError and ValueError
            return self._failed(error, status, first_byte_s)

    def put(self, bucket: str, key: str, body: memoryview) -> Answer:
        return self._done(lambda s: obstore.put(s, key, body, use_multipart=False), bucket, 200, len(body))

    def head(self, bucket: str, key: str) -> Answer:
        return self._done(lambda s: obstore.head(s, key), bucket, 200)

    def delete(self, bucket: str, key: str) -> Answer:
        return self._done(lambda s: obstore.delete(s, key), bucket, 204)

    def list(self, bucket: str, prefix: str) -> Answer:
        account = self._account
        asked = {"list-type": "2", "max-keys": str(LIST_PAGE), "prefix": prefix}
        request = AWSRequest("GET", f"{account.endpoint_url}/{bucket}", params=asked)
        try:
            S3SigV4Auth(account.credentials.get_frozen_credentials(), "s3", account.region).add_auth(request)
            response = self._http.send(request.prepare())
            error = None if response.status_code == 200 else account.clean(response.text)
            return Answer(response.status_code, error=error)
        except BotoCoreError as error:
            return self._failed(error)

    def _done(self, call: Callable[[S3Store], object], bucket: str, status: int, moved: int = 0) -> Answer:
        """obstore does not tell which 2xx it got: the answer has the one S3 gives."""
        try:
            call(self._stores[bucket])
            return Answer(status, moved)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception, status: int = 0, first_byte_s: float = math.nan) -> Answer:
        said = re.search(r"status code: (\d{3})", str(error))
        return Answer(int(said[1]) if said else status, 0, first_byte_s, self._account.explain(error))


class _Boto3:
    """boto3: what most Python programs use; several times the CPU per request, under the interpreter lock."""

    def __init__(self, account: Account, pool: int, timeout_s: float):
        self._explain = account.explain
        self._client = account.client(account.endpoint_url, pool, timeout_s)

    def get(self, bucket: str, key: str, span: tuple[int, int] | None) -> Answer:
        status, first_byte_s = 0, math.nan
        try:
            ranged: Any = {"Range": f"bytes={span[0]}-{span[1] - 1}"} if span else {}
            result = self._client.get_object(Bucket=bucket, Key=key, **ranged)
            status, first_byte_s = _status(result), time.perf_counter()
            return Answer(status, len(result["Body"].read()), first_byte_s)
        except (BotoCoreError, ClientError) as error:
            return self._failed(error, status, first_byte_s)

    def put(self, bucket: str, key: str, body: memoryview) -> Answer:
        return self._done(lambda: self._client.put_object(Bucket=bucket, Key=key, Body=bytes(body)), len(body))

    def head(self, bucket: str, key: str) -> Answer:
        return self._done(lambda: self._client.head_object(Bucket=bucket, Key=key))

    def delete(self, bucket: str, key: str) -> Answer:
        return self._done(lambda: self._client.delete_object(Bucket=bucket, Key=key))

    def list(self, bucket: str, prefix: str) -> Answer:
        return self._done(lambda: self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=LIST_PAGE))

    def _done(self, call: Callable[[], Any], moved: int = 0) -> Answer:
        try:
            return Answer(_status(call()), moved)
        except (BotoCoreError, ClientError) as error:
            return self._failed(error)

    def _failed(self, error: Exception, status: int = 0, first_byte_s: float = math.nan) -> Answer:
        status = _status(error.response) if isinstance(error, ClientError) else status
        return Answer(status, 0, first_byte_s, self._explain(error))


def _status(response: Any) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


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
