"""Outputs: a command checks them before its work, overwrites them only with --force, and alone.

A command that is to write a path locks a file next to it, so that a second one for the same path fails at once, not
after its work. The lock ends with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

from traces.errors import InputError
from traces.interrupts import deferred_stops

_PAGES = ".html", ".htm"

_claims: dict[Path, ExitStack] = {}


def release_outputs() -> None:
    """End the locks of all outputs of this process, at the end of a command."""
    while _claims:
        _claims.popitem()[1].close()


def _claim(path: Path) -> None:
    """Lock a path that is to be written; a folder in which no lock can be made cannot be written either.

    Raises:
        InputError: another process has locked it.
    """
    path = path.resolve()
    if path not in _claims:
        with deferred_stops():  # which would leave the file of the lock
            _lock(path)


def _lock(path: Path) -> None:
    lock = path.with_name(f".{path.name}.lock")
    while True:
        try:
            handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        except OSError:
            return
        with ExitStack() as stack:
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(f"{path}: another command is writing it; name another path") from error
            except OSError:
                return  # a file system without locks
            if _is_at(handle, lock):
                stack.callback(lock.unlink, missing_ok=True)
                _claims[path] = stack.pop_all()
                return


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open file still has its path: its last owner removes it."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def check_run_output(path: Path | None, force: bool) -> None:
    """Check before long work whether a Run can be written to a folder; None: nothing is written.

    Raises:
        InputError: the path is something other than a Run, even with `force`; it is a Run, without `force`; its parent
            is missing or not writable; or another command is writing it.
    """
    if path is None:
        return
    from traces.tables import check_folder

    _claim(path)  # first: another command may be about to finish it
    check_folder(path)
    if (path / "run.json").is_file() and not force:
        raise InputError(f"{path}: exists and is a Run; --force overwrites it")


def check_file_output(path: Path | None, force: bool) -> None:
    """Check before long work whether a file can be written; None: nothing is written.

    Raises:
        InputError: the path is a folder or a device; without `force`, a file; or another command is writing it.
    """
    if path is None:
        return
    if path.is_dir():
        what = "a Run" if (path / "run.json").is_file() else "a folder"
        raise InputError(f"{path}: is {what}; name a file to write")
    from traces.tables import check_regular

    check_regular(path)
    _claim(path)  # first: another command may be about to finish it
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force overwrites it")


def check_page_output(path: Path | None) -> None:
    """Check whether a page can be written: an earlier page is overwritten, any other file is not.

    Raises:
        InputError: the path is a folder, or a file whose name does not end like that of a page.
    """
    if path is not None and path.exists() and (path.is_dir() or path.suffix.lower() not in _PAGES):
        raise InputError(f"{path}: exists and is not a page; name a file that ends in .html")


def check_kept_output(path: Path | None) -> None:
    """Check whether a command may keep its results in a folder, for itself alone; None: they are not kept.

    Raises:
        InputError: another command is using it.
    """
    if path is not None:
        _claim(path)
