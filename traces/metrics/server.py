"""Reads metrics from the HTTP API of a Prometheus, or of a store that has the same API."""

from __future__ import annotations

import base64
import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence

from traces.errors import InputError
from traces.metrics.files import joined, series_of
from traces.metrics.series import Series

_TIMEOUT_S = 60
_NAMES_EACH = 20  # of metrics in a query: a response stays small, and progress is shown


class Server:
    """A Prometheus.

    Attributes:
        url: of its API, without user and password.
    """

    def __init__(self, url: str, token: str | None = None):
        """Take the URL, such as ``http://prometheus:9090``; user and password in it are sent by basic authentication.

        Args:
            url: of the server, with the path below which its API is.
            token: sent as bearer; None: none.

        Raises:
            InputError: it is no URL.
        """
        try:
            parts = urllib.parse.urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise InputError(f"URL {_without_user(url)!r}: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise InputError(f"URL {_without_user(url)!r}: is no URL, such as http://prometheus:9090")
        place = f"[{host}]" if ":" in host else host
        self.url = f"{parts.scheme}://{place}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if parts.username:
            user = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._headers = {"Authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}

    def read(
        self,
        names: Sequence[str],
        start_s: float,
        end_s: float,
        matchers: str = "",
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> list[Series]:
        """Return the samples of metrics in a window, as they were taken.

        Args:
            names: of the metrics.
            start_s, end_s: of the window, in s since 1970.
            matchers: of labels, such as ``job="minio"``; empty: all series.
            progress: called with the fraction done.

        Raises:
            InputError: the server cannot be reached, or refuses the query.
        """
        found: list[Series] = []
        ordered = sorted(set(names))
        for place in range(0, len(ordered), _NAMES_EACH):
            some = "|".join(re.escape(name) for name in ordered[place : place + _NAMES_EACH])
            selector = f'{{__name__=~"{some}"{"," if matchers else ""}{matchers}}}'
            seconds = max(1, round(end_s - start_s))
            # A selector of a range, not query_range, whose samples are interpolated to a grid of times.
            found += self._get("query", {"query": f"{selector}[{seconds}s]", "time": f"{end_s:.3f}"})
            progress(min(1.0, (place + _NAMES_EACH) / len(ordered)))
        return joined(found)

    def _get(self, what: str, query: dict[str, str]) -> list[Series]:
        body = urllib.parse.urlencode(query).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{what}", body, self._headers)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
                return list(series_of(json.load(response)))
        except urllib.error.HTTPError as error:
            raise InputError(f"{self.url}: refuses the query: {_reason(error)}") from error
        except urllib.error.URLError as error:
            raise InputError(f"{self.url}: cannot be reached: {error.reason}") from error
        except (OSError, http.client.HTTPException) as error:
            raise InputError(f"{self.url}: cannot be reached: {error}") from error
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise InputError(f"{self.url}: is no Prometheus: {error}") from error


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return f"{error.code} {json.load(error)['error']}"
    except (ValueError, TypeError, LookupError, OSError):
        return f"{error.code} {error.reason}"


def _without_user(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)
