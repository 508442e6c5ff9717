"""Where file operations are performed: a new folder of a mount, or keys of a gateway, which are removed afterwards."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from validate.lab.file_systems.file_system import FileSystem
from validate.s3.account import Account

GATEWAY_BUCKET = "lab"
"""The bucket of a gateway, which has the name of JuiceFS's volume."""


@dataclass
class Place:
    """Where the operations are performed.

    Attributes:
        folder: in the mount, the working folder of the operations, which so do not look up its own path; for a
            gateway, its name begins the keys.
        store: a client of the store below.
        gateway: a client of its gateway; None for a mount.
        made: files and folders that are removed at the end.
        descriptor: the file that an operation opened beforehand.
    """

    fs: FileSystem
    folder: Path
    store: Any
    gateway: Any = None
    made: list[Path] = field(default_factory=list)
    descriptor: int = -1
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def new(self) -> Path:
        """Return the path of a file that does not exist yet, in the folder of the operations."""
        path = Path(f"f{next(self._numbers)}")
        self.made.append(path)
        return path

    @property
    def last(self) -> Path:
        """The path returned last."""
        return self.made[-1]

    @property
    def key(self) -> str:
        """The same as the key of an object."""
        return f"{self.folder.name}-{self.last}"

    def close(self) -> None:
        """Close the file that was opened beforehand."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def remove(self) -> None:
        """Remove all that was made."""
        self.close()
        for path in reversed(self.made):
            if self.gateway is not None:
                self.gateway.delete_object(Bucket=GATEWAY_BUCKET, Key=f"{self.folder.name}-{path}")
            elif path.is_dir():
                for entry in path.iterdir():
                    entry.unlink()
                path.rmdir()
            else:
                path.unlink(missing_ok=True)


@contextmanager
def place_of(fs: FileSystem) -> Iterator[Place]:
    """Yield the place of operations on a file system; what they have made is removed at the end."""
    gateway = Account(fs.gateway_target).buckets if fs.form.gateway else None
    folder = fs.mount_point / f"anatomy-{secrets.token_hex(4)}"
    place = Place(fs, folder, Account(fs.store_target).buckets, gateway)
    if gateway is not None:
        try:
            yield place
        finally:
            place.remove()
        return
    folder.mkdir()
    try:
        with chdir(folder):
            try:
                yield place
            finally:
                place.remove()
    finally:
        folder.rmdir()
