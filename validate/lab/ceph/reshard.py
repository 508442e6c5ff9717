"""Reshards the index of a bucket of a Ceph of the lab while a replay runs."""

from __future__ import annotations

import subprocess
import threading
import time

from traces.errors import InputError
from validate.lab.ceph import configuration, program
from validate.lab.store import Store
from validate.s3.account import Account

_RESPONDS_WITHIN_S = 30.0
_BLOCKED = "tenant:"
"""First word of the line that ``radosgw-admin`` prints when writes are blocked and the copy begins."""


def newest_bucket(store: Store) -> str:
    """Return the name of the bucket of a store that was created last."""
    buckets = Account(store.target).client(store.endpoint_url, 1, _RESPONDS_WITHIN_S).list_buckets()["Buckets"]
    return str(max(buckets, key=lambda each: each["CreationDate"])["Name"])


class ReshardAt:
    """A manual reshard (``radosgw-admin bucket reshard``) of the newest bucket, some time after the start of a replay.

    Args:
        at_s: time of the command from the start of the replay's loop; it begins the copy about a second later.
        shards: number of shards afterwards.

    Attributes:
        problems: what went wrong.
    """

    staged = True

    def __init__(self, store: Store, at_s: float, shards: int):
        self._store, self._at_s, self._shards = store, at_s, shards
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._copy_at = self._ended_at = 0.0
        self.problems: list[str] = []

    def begin(self, zero_s: float) -> None:
        """Begin with the loop, whose start is `zero_s` by `time.perf_counter`."""
        self._thread = threading.Thread(target=self._wait_and_reshard, args=(zero_s + self._at_s,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait for the end of the reshard if it has begun."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def facts(self, zero_at: float, end_at: float) -> dict[str, object]:
        """Return the reshard as a Run records it: `lab_faults`, and `faults` in the words of a spec."""
        if not zero_at <= self._copy_at < end_at:
            return {}
        at_s, until_s = self._copy_at - zero_at, self._ended_at - zero_at
        event = {"kind": "reshard", "at": at_s, "shards": self._shards}
        staged = {"fault": f"bucket resharded to {self._shards} shards", "at": at_s, "until": until_s}
        return {"lab_faults": [staged], "faults": [event]}

    def _wait_and_reshard(self, at_s: float) -> None:
        if self._stopped.wait(max(0.0, at_s - time.perf_counter())):
            return
        try:
            self._reshard()
        except (InputError, OSError) as error:
            self.problems.append(str(error))

    def _reshard(self) -> None:
        command = ["radosgw-admin", "-c", str(configuration.ceph_conf(self._store)), "bucket", "reshard"]
        command += [f"--bucket={newest_bucket(self._store)}", f"--num-shards={self._shards}"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=program.PROGRAMS.environment()
        )
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if line.startswith(_BLOCKED):
                self._copy_at = time.time()
        said = process.stderr.read().strip()
        failed = process.wait() != 0
        self._ended_at = time.time()
        if failed or not self._copy_at:
            raise InputError(f"Ceph: radosgw-admin bucket reshard: {said or 'no message'}")
