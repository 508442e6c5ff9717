"""What a replay reaches: a store by S3, or a mount; with the buckets or folders that it makes there."""

from __future__ import annotations

from collections.abc import Iterable

from traces.errors import InputError
from validate.mount.folders import Folders
from validate.mount.mount_path import MOUNT, MountPath, MountPoint
from validate.replay.bucket_record import BucketRecord
from validate.replay.buckets import Buckets
from validate.replay.plan import ReplayPlan
from validate.s3.account import Account, DataPath, Target
from validate.s3.clients import connect

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
        return Folders(access, record, plan.written)
    return Buckets(access, record)


def data_path_to(access: Access, plan: ReplayPlan, url: str, names: Iterable[str], pool: int) -> DataPath:
    """Return a data path to an endpoint of what is reached, with up to `pool` connections."""
    if isinstance(access, MountPoint):
        return MountPath(access)
    options = plan.options
    return connect(access, options.data_path, url, names, pool, options.limit_s, options.multipart.parallel)
