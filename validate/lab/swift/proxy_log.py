"""Takes what the proxies of a Swift of the lab log of their requests while a replay runs."""

from __future__ import annotations

import re
import time
from pathlib import Path

from traces.errors import InputError
from validate.s3.account import Target

_LATER_S = 0.5  # a request is logged when it is over
_ACCESS = re.compile(rb"^proxy-server: .* HTTP/1\.\d \d{3} ")
_TOKEN = re.compile(rb"AUTH_tk\S*")


class ProxyLog:
    """The lines that proxies add to their logs, from when it is made until its end.

    Raises:
        InputError: the store is none of the lab.
    """

    def __init__(self, target: Target):
        folder = None if target.credentials_file is None else target.credentials_file.parent
        logs = [] if folder is None else sorted(folder.glob("server-*-proxy.log"))
        if not logs:
            raise InputError("the proxies' logs are not known: the store is no Swift of the lab")
        self._begin = {log: log.stat().st_size for log in logs}
        self._lines: list[bytes] = []

    def end(self) -> None:
        """Take what is still to come."""
        time.sleep(_LATER_S)
        for log, begin in self._begin.items():
            with log.open("rb") as file:
                file.seek(begin)
                self._lines += [_TOKEN.sub(b"-", line) for line in file if _ACCESS.match(line)]

    def write(self, path: Path) -> None:
        """Write the lines of requests, without tokens."""
        path.write_bytes(b"".join(self._lines))
