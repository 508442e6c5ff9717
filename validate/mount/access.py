"""What a replay reaches: a store by S3, or a mount; with the buckets or folders that it makes there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from traces.errors import InputError
from validate.mount.contents import FileContents
from validate.mount.file_requests import FileRequests
from validate.mount.folders import Folders
from validate.mount.mount_path import MOUNT, MountPath, MountPoint
from validate.replay.bucket_record import BucketRecord
from validate.replay.buckets import Buckets, Payload
from validate.replay.plan import ReplayPlan
from validate.s3.account import Account, Reached, Target
from validate.s3.clients import connect
from validate.s3.requests import Call, caller

Access = Account | MountPoint


def access_to(target: Target, data_path: str) -> Access:
    """Return the access to a target by a data path.

    Raises:
        InputError: the target is none of the data path, there are no credentials, the endpoint is invalid, or there is
            no such folder.
    """
    if (data_path == MOUNT) != (target.mount is not None):
        raise InputError(f"data path {MOUNT!r} needs a mount, and a mount needs this data path")
    return Account(target) if target.mount is None else MountPoint(target.mount)


def places_of(access: Access, record: BucketRecord, plan: ReplayPlan) -> Buckets | Folders:
    """Return what takes the place of the buckets of a trace; nothing is made yet."""
    if isinstance(access, MountPoint):
        return Folders(access, record, plan.on_mount.folders, plan.options.limit_s)
    return Buckets(access, record)


def data_path_to(access: Access, plan: ReplayPlan, url: str, names: Iterable[str], pool: int) -> Reached:
    """Return a data path to an endpoint of what is reached, with up to `pool` connections."""
    if isinstance(access, MountPoint):
        return MountPath(access, plan.options.limit_s)
    options = plan.options
    return connect(access, options.data_path, url, names, pool, options.limit_s, options.multipart.parallel)


def payload_of(access: Access, plan: ReplayPlan, names: Iterable[str]) -> Payload | FileContents:
    """Return the contents of what a replay writes to the buckets that were created for it."""
    if isinstance(access, MountPoint):
        return FileContents()
    return Payload(plan.longest_piece_bytes, plan.options.multipart, names)


@contextmanager
def requests_to(
    plan: ReplayPlan, names: Mapping[str, str], payload: Payload | FileContents, stopped: threading.Event
) -> Iterator[Callable[[int], Call]]:
    """Yield a function that returns the call of a row; what calls have left open is closed at the end.

    Args:
        names: what was made for each bucket of the trace.
        stopped: when set, no call waits for another one any more.
    """
    if isinstance(payload, Payload):
        yield caller(plan, names, payload)
        return
    options = plan.options
    requests = FileRequests(plan.trace, plan.on_mount, names, payload, options.verifies, options.limit_s, stopped)
    with requests as call:
        yield call
