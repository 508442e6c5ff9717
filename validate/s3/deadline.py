"""A deadline for whole HTTP exchanges of botocore.

The timeouts of urllib3 are those of single reads, which a store that sends a byte now and then restarts each time. Here
each operation on a socket has only the time until the deadline of the exchange, which is that of its thread.
"""

from __future__ import annotations

import math
import socket
import ssl
import threading
import time
from typing import Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)

MOST_DOCUMENT_BYTES = 64 << 20
"""The most bytes of an answer that is read as a whole: a page of keys has 1.2 MB, or a multiple of that escaped."""


class _Limits(threading.local):
    """The limits of a thread's exchange: its end by `time.monotonic`, and how many bytes it may still receive."""

    ends_s = math.inf
    left_bytes = math.inf


_limits = _Limits()


def begin_exchange(limit_s: float, most_bytes: float = MOST_DOCUMENT_BYTES) -> None:
    """Limit the next exchange of this thread, from connecting to the end of the body, in seconds and bytes."""
    _limits.ends_s, _limits.left_bytes = time.monotonic() + limit_s, most_bytes


def bound_exchanges(http: Any) -> None:
    """Make a `botocore.httpsession.URLLib3Session` obey deadlines; call it before the first request."""
    http._pool_classes_by_scheme.update(http=_Pool, https=_TLSPool)  # the dict is shared with the session's managers


def _limit(connection: socket.socket) -> None:
    """Give the next operation on a socket the time that is left.

    Raises:
        TimeoutError: none is left.
    """
    if _limits.ends_s < math.inf:
        left_s = _limits.ends_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        connection.settimeout(left_s)


def _count(received_bytes: int) -> None:
    """Count bytes that were received.

    Raises:
        OSError: there are more than the exchange may have.
    """
    _limits.left_bytes -= received_bytes
    if _limits.left_bytes < 0:
        raise OSError("the answer is too long")


class _Socket(socket.socket):
    def recv_into(self, *arguments: Any) -> int:
        _limit(self)
        received = super().recv_into(*arguments)
        _count(received)
        return received

    def sendall(self, *arguments: Any) -> None:
        _limit(self)  # of all bytes: Python does not restart the timeout here
        return super().sendall(*arguments)


class _TLSSocket(ssl.SSLSocket):
    def read(self, *arguments: Any) -> Any:
        _limit(self)
        received = super().read(*arguments)
        _count(received if isinstance(received, int) else len(received))
        return received

    def send(self, *arguments: Any) -> int:
        _limit(self)
        return super().send(*arguments)


class _Connection(AWSHTTPConnection):
    def _new_conn(self) -> socket.socket:
        plain = super()._new_conn()
        timeout_s = plain.gettimeout()
        bounded = _Socket(plain.family, plain.type, plain.proto, fileno=plain.detach())
        bounded.settimeout(timeout_s)
        return bounded


class _TLSConnection(AWSHTTPSConnection):
    def connect(self) -> None:
        if self.ssl_context is not None:
            self.ssl_context.sslsocket_class = _TLSSocket
        super().connect()


class _Pool(AWSHTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(AWSHTTPSConnectionPool):
    ConnectionCls = _TLSConnection
