"""The data paths by name: which client library issues the requests."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traces.errors import InputError
from validate.s3.account import Account, DataPath
from validate.s3.boto3_client import Boto3Path
from validate.s3.obstore_client import ObstorePath

DATA_PATHS = ("obstore", "boto3")


def connect(
    account: Account, data_path: str, endpoint_url: str, buckets: Iterable[str], pool: int, timeout_s: float
) -> DataPath:
    """A data path of that name (one of `DATA_PATHS`) to the buckets, with up to `pool` connections; asks nothing yet.

    Raises:
        InputError: there is no data path of that name.
    """
    if data_path == "obstore":
        return ObstorePath(account, endpoint_url, buckets, pool, timeout_s)
    if data_path == "boto3":
        return Boto3Path(account, endpoint_url, pool, timeout_s)
    raise InputError(f"data path {data_path!r} is unknown; allowed are {', '.join(DATA_PATHS)}")


def unsendable(data_path: str, op: str, key: str) -> str | None:
    """Why a data path cannot ask for a key exactly as it is written; None where it can.

    obstore takes keys as paths: it drops slashes at the ends, and refuses empty and dot segments and
    control characters.
    """
    if data_path != "obstore" or op == "LIST":
        return None
    if any(part in ("", ".", "..") for part in key.split("/")) or re.search(r"[\x00-\x1f\x7f]", key):
        return "obstore takes no keys with empty or dot segments, or control characters"
    return None


def uncancellable(data_path: str, ops: Iterable[str], in_parts: bool) -> str | None:
    """Why requests of these operations cannot be taken back on a data path; None where all of them can.

    Args:
        in_parts: whether any object is uploaded in parts.
    """
    if data_path != "obstore":
        return f"{data_path} cannot take a request back"
    if "LIST" in ops:
        return "a LIST cannot be taken back"
    return "an upload in parts cannot be taken back" if in_parts and "PUT" in ops else None
