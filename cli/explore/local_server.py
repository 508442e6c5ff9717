"""A web server for pages on this machine only, which refuses other hosts' names and origins."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from traces.errors import InputError

ADDRESS = "127.0.0.1"
_NAMES = (ADDRESS, "localhost")


def dash() -> Any:
    """Import the package dash.

    Raises:
        InputError: it is not installed.
    """
    from traces.without_pandas import do_with_pandas

    do_with_pandas()  # plotly looks for it
    try:
        import dash as package
    except ImportError as error:
        raise InputError("this page needs the package dash: pip install 'tailcast[explore]'") from error
    return package


def guard(server: Any, port: int) -> None:
    """Make a Flask application refuse (403) what does not come from its own page.

    A page of another site could otherwise reach it by a name that resolves to this address (DNS rebinding), or by a
    request across origins.
    """
    from flask import abort, request

    allowed = {f"{name}:{port}" for name in _NAMES}

    @server.before_request  # type: ignore[untyped-decorator]
    def refuse_others() -> None:
        origin = request.headers.get("Origin")
        if request.host not in allowed or (origin is not None and urlsplit(origin).netloc not in allowed):
            abort(403)


def serve(application: Any, port: int, ready: Callable[[str], None]) -> None:
    """Serve a Flask application until Ctrl-C.

    Args:
        application: the application, without a guard.
        port: on this machine; 0: any free one.
        ready: called with the address of the page when it answers.

    Raises:
        InputError: the port is in use, or needs other rights.
    """
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, port))
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror}; 0 takes any free one") from error
        listening.listen()
        chosen = listening.getsockname()[1]
        guard(application, chosen)
        server = make_server(ADDRESS, chosen, application, threaded=True, fd=listening.fileno())
        ready(f"http://{ADDRESS}:{chosen}/")
        try:
            server.serve_forever()
        finally:
            server.server_close()
