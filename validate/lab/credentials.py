"""The credentials of what the lab starts: a file that only its owner can read, with one profile."""

from __future__ import annotations

import configparser
import os
import secrets
from pathlib import Path
from typing import NamedTuple

PROFILE = "tailcast-lab"
"""The profile in the credentials file of a store or a gateway."""


class Credentials(NamedTuple):
    """What requests are signed with."""

    access_key: str
    secret_key: str


def credentials_in(path: Path) -> Credentials:
    """Return what a file of AWS's form holds."""
    file = configparser.RawConfigParser()
    file.read(path)
    return Credentials(file[PROFILE]["aws_access_key_id"], file[PROFILE]["aws_secret_access_key"])


def write_credentials(folder: Path, with_account: bool = False) -> None:
    """Write new credentials.

    Args:
        with_account: whether the access key has the form ``account:user``.
    """
    credentials = os.open(folder / "credentials", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    access_key = f"tc{':' if with_account else '-'}{secrets.token_hex(8)}"
    with os.fdopen(credentials, "w") as file:
        keys = f"aws_access_key_id = {access_key}\naws_secret_access_key = {secrets.token_urlsafe(30)}\n"
        file.write(f"[{PROFILE}]\n{keys}")
