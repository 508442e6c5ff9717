"""Outputs that exist: a command checks them before its work, and overwrites them only with --force."""

from __future__ import annotations

from pathlib import Path

from traces.errors import InputError

_PAGES = ".html", ".htm"


def check_run_output(path: Path | None, force: bool) -> None:
    """Check before long work whether a Run can be written to a folder; None: nothing is written.

    Raises:
        InputError: the path is something other than a Run, even with `force`; it is a Run, without `force`; or its
            parent is missing or not writable.
    """
    if path is None:
        return
    from traces.tables import check_folder

    check_folder(path)
    if (path / "run.json").is_file() and not force:
        raise InputError(f"{path}: exists and is a Run; --force overwrites it")


def check_file_output(path: Path | None, force: bool) -> None:
    """Check before long work whether a file can be written; None: nothing is written.

    Raises:
        InputError: the path is a folder, or without `force`, a file.
    """
    if path is None:
        return
    if path.is_dir():
        what = "a Run" if (path / "run.json").is_file() else "a folder"
        raise InputError(f"{path}: is {what}; name a file to write")
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force overwrites it")


def check_page_output(path: Path | None) -> None:
    """Check whether a page can be written: an earlier page is overwritten, any other file is not.

    Raises:
        InputError: the path is a folder, or a file whose name does not end like that of a page.
    """
    if path is not None and path.exists() and (path.is_dir() or path.suffix.lower() not in _PAGES):
        raise InputError(f"{path}: exists and is not a page; name a file that ends in .html")
