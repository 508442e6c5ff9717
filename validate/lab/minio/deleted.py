"""What a MinIO of the lab has deleted, but not yet removed from its drives."""

from __future__ import annotations

import shutil

from validate.lab.store import Store


def discard(store: Store) -> None:
    """Remove deleted objects from the drives, which MinIO puts aside for a cleaner that comes every five minutes."""
    for host in range(store.form.hosts):
        for drive in range(store.form.drives):
            for deleted in store.contents(host, drive).glob(".minio.sys/tmp/.trash/*"):
                shutil.rmtree(deleted, ignore_errors=True)
