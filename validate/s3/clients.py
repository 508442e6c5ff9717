"""The data paths (client libraries) by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traces.errors import InputError
from traces.operations import ops_that
from validate.mount.mount_path import MOUNT, unsendable_path
from validate.s3.account import Account, DataPath
from validate.s3.boto3_client import Boto3Path
from validate.s3.obstore_client import ObstorePath

DATA_PATHS = ("obstore", "boto3")


def connect(
    account: Account,
    data_path: str,
    endpoint_url: str,
    buckets: Iterable[str],
    pool: int,
    timeout_s: float,
    parallel: int = 1,
) -> DataPath:
    """Return a data path (one of `DATA_PATHS`) to the buckets with up to `pool` connections; sends no request yet.

    Args:
        parallel: number of parts of a multipart upload that are sent at the same time.

    Raises:
        InputError: there is no data path of that name.
    """
    if data_path == "obstore":
        return ObstorePath(account, endpoint_url, buckets, pool, timeout_s, parallel)
    if data_path == "boto3":
        return Boto3Path(account, endpoint_url, pool, timeout_s, parallel)
    raise InputError(f"data path {data_path!r} is unknown; allowed are {', '.join(DATA_PATHS)}")


def unsendable(data_path: str, op: str, key: str) -> str | None:
    """Return why a data path cannot request a key literally, or None if it can.

    Clients and proxies resolve dot segments, so that ``../other/key`` would be an object of another bucket. obstore
    treats keys as paths: it drops slashes at the ends, and refuses empty segments and control characters.
    """
    if data_path == MOUNT:
        return unsendable_path(op, key)
    if op not in ops_that("names_object"):
        return None
    segments = key.split("/")
    if "." in segments or ".." in segments:
        return "keys with the segments '.' or '..' are not sent, as they could become objects of other buckets"
    if data_path == "obstore" and ("" in segments or re.search(r"[\x00-\x1f\x7f]", key)):
        return "obstore refuses keys with empty segments or control characters; the data path boto3 takes them"
    return None


def uncancellable(data_path: str, ops: Iterable[str], in_parts: bool) -> str | None:
    """Return why requests of these operations cannot be cancelled on a data path, or None if all of them can.

    Args:
        in_parts: whether any object is uploaded in parts.
    """
    if data_path != "obstore":
        return f"{data_path} cannot cancel a request"
    if "LIST" in ops:
        return "a LIST cannot be cancelled"
    return "a multipart upload cannot be cancelled" if in_parts and "PUT" in ops else None
