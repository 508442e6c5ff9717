"""Records of the buckets and folders that replays made, so that what a killed one left can be found and removed.

A record is a file of JSON lines in the state folder: the target, then each bucket before it is made. The process of the
replay holds a lock on it, which ends with the process, however it ends. When the buckets are removed, so is the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from traces.errors import InputError
from validate.mount.folders import remove_tree
from validate.s3.account import Account, Target
from validate.state import state_folder

_NAME = re.compile(r"tailcast-[0-9a-f]{16}-\d+")
"""The names of buckets that replays make; no other bucket is ever removed."""


class BucketRecord:
    """The record of the replay of this process.

    Attributes:
        path: its file.
        done: whether the buckets are removed or are to be kept, so that the record is removed at the end.
    """

    def __init__(self, path: Path, file: Any):
        self.path, self._file, self.done = path, file, False

    def add(self, bucket: str) -> None:
        """Record a bucket that is about to be made."""
        self._write({"bucket": bucket})

    def withdraw(self, bucket: str) -> None:
        """Record that a bucket was not made by this replay."""
        self._write({"withdrawn": bucket})

    def _write(self, line: Mapping[str, object]) -> None:
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.path, error) from error


@contextmanager
def recorded(target: Target, endpoint_url: str) -> Iterator[BucketRecord]:
    """Record the buckets that are made in this context.

    Raises:
        InputError: the state folder cannot be written; nothing has been made then.
    """
    path = _folder() / f"{secrets.token_hex(8)}.jsonl"
    known = {
        "endpoint_url": endpoint_url,
        "profile": target.profile,
        "credentials_file": target.credentials_file,
        "mount": target.mount,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb", buffering=0)
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        record = BucketRecord(path, file)
        record._write({name: value and str(value) for name, value in known.items()})
        try:
            yield record
        finally:
            if record.done:
                path.unlink(missing_ok=True)


def _folder() -> Path:
    return state_folder() / "replays"


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path}: the names of buckets cannot be recorded: {error.strerror}; name another folder in TAILCAST_STATE"
    )


@dataclass(frozen=True)
class CleanUp:
    """What was done about one record.

    Attributes:
        removed: the buckets, or paths of folders, that are gone now, with the number of objects that were in each.
        left: a line for each bucket, or for the whole record, that could not be cleaned up, with the reason.
    """

    removed: dict[str, int]
    left: list[str]


def clean_up(endpoint_url: str | None = None, profile: str | None = None) -> Iterator[CleanUp]:
    """Remove the buckets of replays that did not, with all objects in them; yield the result for each record.

    Args:
        endpoint_url: only buckets on this store; None: on all.
        profile: AWS profile to use (default: that of the replay).
    """
    for path in sorted(_folder().glob("*.jsonl")):
        with path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield CleanUp({}, [f"{path}: its replay is running; its buckets are left alone"])
                continue
            known, names = _read(file.read())
            if endpoint_url is not None and known.get("endpoint_url") != endpoint_url.rstrip("/"):
                continue
            done = _cleaned_up(path, known, names, profile)
            if not done.left:
                path.unlink()
            yield done


def _read(text: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the target and the buckets of a record; a line that was not finished names a bucket that was not made."""
    lines = []
    for line in text.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    known, *buckets = lines or [{}]
    names = {line["bucket"] for line in buckets if "bucket" in line}
    names -= {line["withdrawn"] for line in buckets if "withdrawn" in line}
    return known, sorted(name for name in names if _NAME.fullmatch(name))


def _cleaned_up(path: Path, known: dict[str, Any], names: list[str], profile: str | None) -> CleanUp:
    if not names:
        return CleanUp({}, [])
    if (mount := known.get("mount")) is not None:
        return _removed_folders(path, Path(mount), names)
    file = known.get("credentials_file")
    try:
        account = Account(Target(known["endpoint_url"], profile or known.get("profile"), file and Path(file)))
    except InputError as error:
        return CleanUp({}, [f"{known['endpoint_url']}: {', '.join(names)}: {error}; {_forget(path)}"])
    removed, left = {}, []
    for name in names:
        try:
            removed[name] = empty_and_delete(account, name)
        except (BotoCoreError, ClientError, InputError) as error:
            reason = account.explain(error)
            left.append(f"bucket {name} could not be removed: {account.endpoint_url}: {reason}; {_forget(path)}")
    return CleanUp(removed, left)


def _removed_folders(path: Path, mount: Path, names: list[str]) -> CleanUp:
    """Remove the folders of a replay on a mount; one that is not there may be of a mount that is not in place."""
    removed, left = {}, []
    for name in names:
        try:
            removed[str(mount / name)] = remove_tree(mount, name)
        except OSError as error:
            left.append(
                f"folder {mount / name} could not be removed: {error.strerror or error}; {_forget(path, 'mount')}"
            )
    return CleanUp(removed, left)


def _forget(path: Path, what: str = "store") -> str:
    return f"if that {what} no longer exists, delete {path}"


def empty_and_delete(account: Account, name: str) -> int:
    """Delete all objects and unfinished uploads of a bucket, and the bucket; return how many objects there were.

    Raises:
        BotoCoreError, ClientError: the store refuses or does not respond.
        InputError: the store says that it deletes objects, but does not.
    """
    count, before = 0, None
    try:
        while found := account.buckets.list_objects_v2(Bucket=name).get("Contents"):
            if found[0]["Key"] == before:
                raise InputError("its objects cannot be deleted")
            before = found[0]["Key"]
            delete_objects(account, name, [each["Key"] for each in found])
            count += len(found)
        for upload in account.buckets.list_multipart_uploads(Bucket=name).get("Uploads", ()):
            account.buckets.abort_multipart_upload(Bucket=name, Key=upload["Key"], UploadId=upload["UploadId"])
        account.buckets.delete_bucket(Bucket=name)
    except ClientError as error:
        if not is_absent(error):
            raise
    return count


def delete_objects(account: Account, name: str, keys: list[str]) -> None:
    """Delete up to 1,000 objects of a bucket.

    Raises:
        BotoCoreError, ClientError: the store refuses or does not respond.
        InputError: the store refuses single objects.
    """
    batch: Any = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
    errors = account.buckets.delete_objects(Bucket=name, Delete=batch).get("Errors", ())
    for error in errors:
        raise InputError(f"{len(errors)} objects cannot be deleted: {error.get('Code')}: {error.get('Message')}")


def is_absent(error: ClientError) -> bool:
    """Whether an error says that a bucket does not exist."""
    return error.response.get("Error", {}).get("Code") in ("NoSuchBucket", "404")
