"""Errors of client libraries and stores as one line: the reason, without secrets, URLs' paths and what varies."""

from __future__ import annotations

import html
import re

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    ResponseStreamingError,
)

LONGEST_REASON = 300
"""Characters of a reason that are kept; a Run has one for each failed request."""

_SHORTEST_SECRET = 8  # characters; a shorter key may be part of an ordinary word


def text_of(error: Exception) -> str:
    """Return the text of an error of boto3, botocore or another library; `reason` shortens it."""
    if isinstance(error, EndpointConnectionError):
        cause = re.search(r"\[Errno -?\d+\] ([^'\")]*)", str(error.kwargs.get("error", "")))
        return f"{error}: {cause[1]}" if cause else str(error)
    if isinstance(error, ReadTimeoutError | ConnectTimeoutError):
        return "timed out"
    if isinstance(error, ConnectionClosedError):
        return "the connection was closed before a response"
    if isinstance(error, ResponseStreamingError):
        return "the connection was closed in the body"
    return _client_error(error) if isinstance(error, ClientError) else str(error)


def _client_error(error: ClientError) -> str:
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if 300 <= status < 400:
        return redirect(headers.get("location", ""))
    said = error.response.get("Error", {})
    return f"{said.get('Code', 'error')}: {said.get('Message', '')}".rstrip(": ")


def redirect(location: str) -> str:
    """Return the reason for a redirect, which is not followed: another host may be another store."""
    to = re.match(r"[a-z]+://[^/?#]*", location, re.IGNORECASE)
    return f"redirected{f' to {to[0]}' if to else ''}, which is not followed"


def reason(text: str) -> str:
    """Return the essential part of an error text or of an error response's body.

    That is the S3 error code, else the HTTP status, else the transport error. Paths and queries of URLs are removed,
    so that requests that fail in the same way have the same reason.
    """
    return _essential(text)[:LONGEST_REASON]


def _essential(text: str) -> str:
    code = re.search(r"<Code>(.*?)</Code>", text)
    if code:
        message = re.search(r"<Message>(.*?)</Message>", text, re.DOTALL)
        return _plain(f"{code[1]}: {html.unescape(message[1])}" if message else code[1])
    status = re.search(r"status code: (\d{3} [A-Za-z ]+)", text)
    if status:
        return status[1].strip()
    system = re.search(r'message: "([^"]+)"', text)
    if system:
        return system[1]
    if "TimedOut" in text or "kind: Timeout" in text or "timed out" in text:
        return "timed out"
    return _plain(next(iter(text.splitlines()), "") or "error")


def _plain(line: str) -> str:
    """Return a line without credentials, paths and queries of URLs, and without the time that a request took."""
    line = re.sub(r"^Generic S3 error: (Error performing [A-Z]+ \S+ in \S+ - )?", "", line)
    line = re.sub(r"(?<=://)[^/@\s\"']*@", "", " ".join(line.split()))
    line = re.sub(r"(\b[a-z]+://[^/?\s\"']+)[/?][^\s\"']*", r"\1", line)
    line = re.sub(r"\?[^\s\"']*", "", line)
    return re.sub(r" in \d[\d.]*[µnm]?s\b", "", line)


def without(secret: str, text: str) -> str:
    """Replace a secret; one as short as an ordinary word only where it stands alone, or it would garble the text."""
    pattern = re.escape(secret)
    if len(secret) < _SHORTEST_SECRET:
        pattern = rf"(?<![\w']){pattern}(?![\w'])"
    return re.sub(pattern, "***", text)
