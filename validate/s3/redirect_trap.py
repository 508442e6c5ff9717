"""A trap for redirects to other hosts, which obstore would follow, and count another store's answers as this one's.

It is an HTTP proxy of this process for all hosts but the endpoint's, so it receives only requests that were redirected,
and refuses them.
"""

from __future__ import annotations

import http.server
import threading
import urllib.request
from functools import cache
from typing import Any
from urllib.parse import urlsplit

MISDIRECTED = 421


class RedirectTrap:
    """The trap, listening on loopback.

    Attributes:
        url: its address, to be given as a proxy.
        target: scheme, host and port to which a request was redirected last; empty: none was.
    """

    def __init__(self) -> None:
        self.target = ""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, name="redirect trap", daemon=True).start()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        trap = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def refuse(self) -> None:
                parts = urlsplit(self.path)
                host = f"https://{self.path}" if self.command == "CONNECT" else f"{parts.scheme}://{parts.netloc}"
                trap.target = host
                self.send_error(MISDIRECTED)

            do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = do_CONNECT = refuse  # noqa: N815

            def log_message(self, format: str, *arguments: Any) -> None:
                """Write nothing on stderr."""

        return Handler


@cache
def trap_of(endpoint_url: str) -> RedirectTrap | None:
    """Return the trap of an endpoint; None if it is reached by a proxy of the environment, which must stay."""
    parts = urlsplit(endpoint_url)
    proxied = urllib.request.getproxies().get(parts.scheme)
    if proxied and not urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    return RedirectTrap()
