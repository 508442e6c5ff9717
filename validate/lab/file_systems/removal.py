"""Removes all that there is of file systems on this machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from validate.lab.folder import lab_folder
from validate.lab.mounts import end_all

FOLDER = "file-systems"


def folder_of(name: str) -> Path:
    """Return the folder of a file system of the lab."""
    return lab_folder() / FOLDER / name


def remove(name: str) -> None:
    """End the processes of a file system, unmount it, and remove its folder; what it has in its store stays.

    Raises:
        InputError: something of it stays.
    """
    end_all(folder_of(name))
    shutil.rmtree(folder_of(name), ignore_errors=True)


def remove_those_on(store: str) -> None:
    """Remove the file systems that stand on a store, whose data are removed.

    Raises:
        InputError: something of one stays.
    """
    for path in lab_folder().glob(f"{FOLDER}/*/state.json"):
        try:
            below = json.loads(path.read_text())["store"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if below == store:
            remove(path.parent.name)
