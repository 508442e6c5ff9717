"""Records what a MinIO server tells of its requests while a replay runs, as ``mc admin trace --json`` would.

The trace is a stream of JSON over HTTP, of the admin API (``/minio/admin/v3/trace``, minio/cmd/admin-router.go), that
needs the right ``admin:ServerTrace``. It costs the server CPU for each request. What comes is kept as it is and read
only afterwards, so that the client is not measured reading it.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest

from traces.errors import InputError
from validate.s3.account import Account, Target

_PATH = "/minio/admin/v3/trace"
_KINDS = {"s3": "true", "internal": "false", "storage": "false", "os": "false", "err": "false", "threshold": "0s"}
_LATER_S = 1.0  # a request is told of when it is over; the server says something at least every half second
_SILENCE_S = 5.0


class AdminTrace:
    """A server's trace while it is recorded, and after.

    Raises:
        InputError: the server refuses, or is no MinIO.
    """

    def __init__(self, target: Target):
        account = Account(target)
        request = AWSRequest("GET", f"{account.endpoint_url}{_PATH}", params=_KINDS)
        S3SigV4Auth(account.credentials.get_frozen_credentials(), "s3", account.region).add_auth(request)
        signed = request.prepare()
        try:
            requested = urllib.request.Request(signed.url, headers=dict(signed.headers.items()))
            self._stream = urllib.request.urlopen(requested, timeout=_SILENCE_S)
        except OSError as error:
            raise InputError(f"the server's trace cannot be had: {account.explain(error)}") from error
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - has no name: it holds signatures
        self._ends_s = float("inf")
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        try:
            while time.monotonic() < self._ends_s and (chunk := self._stream.read1(1 << 16)):
                self._kept.write(chunk)
        except (OSError, HTTPException):
            pass  # the server is gone; what it told until then counts

    def end(self) -> None:
        """Take what is still to come, and hang up."""
        self._ends_s = time.monotonic() + _LATER_S
        self._thread.join()
        self._stream.close()

    def write(self, path: Path) -> None:
        """Write what was told, a line for each request, without credentials and signatures."""
        self._kept.seek(0)
        with path.open("w") as lines:
            for line in self._kept:
                if line.strip() and line.endswith(b"\n"):
                    lines.write(json.dumps(_as_mc(json.loads(line))) + "\n")


def _as_mc(told: dict[str, Any]) -> dict[str, Any]:
    """What of an entry is of use, with mc's names (its own are madmin-go's, of v3 at least)."""
    http = told.get("http") or {}
    calls = http.get("stats") or {}
    return {
        "time": told["time"],
        "host": told.get("nodename", ""),
        "api": told["funcname"],
        "path": told["path"],
        "statusCode": (http.get("response") or {}).get("statuscode", 0),
        "callStats": {
            "rx": calls.get("inputbytes", 0),
            "tx": calls.get("outputbytes", 0),
            "duration": told["dur"],
            "timeToFirstByte": calls.get("timetofirstbyte", 0),
        },
    }
