"""The files of a Run's folder: their names, their digests, and the facts in ``run.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traces.errors import InputError
from traces.provenance import stamped

INFO_FILE = "run.json"
RUN_FILES = (
    INFO_FILE,
    *(f"{name}.parquet" for name in ("requests", "stations", "critical_path", "trace", "drive_accesses")),
    "server_trace.jsonl",
)
"""The files of a Run; others in its folder are the user's."""

_FILES = "files"  # the field with the digests

_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("buckets", "client_policies", "cpu", "created_buckets", "data_path", "endpoint", "engine", "environment"),
        (dict,),
    ),
    **dict.fromkeys(
        ("floor", "lab", "origin", "pacing", "pinning", "schedule", "spec", "tailcast", "versions", "warm_up", _FILES),
        (dict,),
    ),
    **dict.fromkeys(("faults", "lab_faults", "left_behind", "parts", "unissued"), (list,)),
    **dict.fromkeys(("max_in_flight", "nodes", "preload_objects", "processes", "seed", "without_latency"), (int,)),
    **dict.fromkeys(("speed", "timeout_s", "zero_at"), (int, float)),
    **dict.fromkeys(("kind", "no_response_after", "spec_hash", "started_at"), (str,)),
    "aborted": (bool,),
}
"""The type of each known fact; each may be null."""

_OF_NUMBERS = ("cpu", "floor", "schedule")
"""Facts that are mappings of numbers."""

_NAMES = {
    dict: "a mapping",
    list: "a list",
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
}


def write_info(folder: Path, info: Mapping[str, Any]) -> None:
    """Write ``run.json`` with the digests of all other files, which have to be there already."""
    digests = {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.name != INFO_FILE}
    text = json.dumps(stamped(dict(info)) | {_FILES: digests}, indent=1, sort_keys=True)
    (folder / INFO_FILE).write_text(text + "\n")


def read_info(folder: Path) -> dict[str, Any]:
    """Read ``run.json``, and check the files against their digests; a Run of an earlier version has none.

    Raises:
        InputError: the file is missing or cannot be read, a fact has a wrong type, or another file has changed.
    """
    path = folder / INFO_FILE
    try:
        info = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"{folder}: not a Run: it has no {INFO_FILE}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path}: is not JSON that can be read: nested too deep, or a number too long") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not isinstance(info, dict):
        raise InputError(f"{path}: not a Run: the field kind is missing")
    for name, value in info.items():
        _check_type(f"{path}: {name}", value, _TYPES.get(name, (object,)))
        for key, each in value.items() if name in _OF_NUMBERS and value else ():
            _check_type(f"{path}: {name}.{key}", each, (int, float))
    for name, digest in (info.pop(_FILES, None) or {}).items():
        _check_file(folder / Path(str(name)).name, digest)
    return info


def _check_type(where: str, value: Any, types: tuple[type, ...]) -> None:
    if value is not None and not isinstance(value, types):
        raise InputError(f"{where} is {_short(value)}; {_NAMES[types[-1]]} is needed")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_file(path: Path, digest: Any) -> None:
    try:
        found = _digest(path)
    except FileNotFoundError:
        return  # a Run may be without its trace; one without its requests is refused when they are read
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if found != digest:
        raise InputError(f"{path}: has changed since the Run was written: its SHA-256 is not the one in {INFO_FILE}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
