"""Takes what the RADOS gateways of the lab log of their operations while a replay runs."""

from __future__ import annotations

import time
from pathlib import Path

from traces.errors import InputError
from validate.s3.account import Target

_LATER_S = 1.0  # an operation is logged when it is over


class OpsLog:
    """The entries that gateways add to their operations logs, from when it is made until its end.

    Raises:
        InputError: the store is none of the lab.
    """

    def __init__(self, target: Target):
        folder = None if target.credentials_file is None else target.credentials_file.parent
        logs = [] if folder is None else sorted(folder.glob("rgw-ops-*.log"))
        if not logs:
            raise InputError("the gateways' operations logs are not known: the store is no Ceph of the lab")
        self._begin = {log: log.stat().st_size for log in logs}
        self._entries: list[bytes] = []

    def end(self) -> None:
        """Take what is still to come."""
        time.sleep(_LATER_S)
        for log, begin in self._begin.items():
            with log.open("rb") as file:
                file.seek(begin)
                self._entries.append(file.read())

    def write(self, path: Path) -> None:
        """Write the entries, JSON objects that contain no signature."""
        path.write_bytes(b"\n".join(self._entries))
