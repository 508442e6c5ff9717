"""The file systems that the lab can start, by the name that the specs of their models have."""

from __future__ import annotations

from collections.abc import Mapping

from traces.errors import InputError
from traces.spec.suggestions import instead
from validate.lab.file_systems.file_system import FileSystemForm, FileSystemKind
from validate.lab.file_systems.juicefs import JuiceFs
from validate.lab.file_systems.s3fs import S3fs
from validate.lab.options import check_servers

_KINDS: tuple[FileSystemKind, ...] = (JuiceFs(), S3fs())

FILE_SYSTEMS = {kind.name: kind for kind in _KINDS}


def kind_of(name: str) -> FileSystemKind:
    """Return the kind of file system with that name.

    Raises:
        InputError: the lab has none.
    """
    if name not in FILE_SYSTEMS:
        raise InputError(f"file system: the lab cannot start {name!r}; {instead(name, FILE_SYSTEMS)}")
    return FILE_SYSTEMS[name]


def checked(kind: FileSystemKind, form: FileSystemForm, options: Mapping[str, str]) -> FileSystemForm:
    """Return the form with the default for metadata.

    Raises:
        InputError: the kind cannot have the form or an option.
    """
    if form.gateway and not kind.has_gateway:
        raise InputError(f"{kind.title} has no gateway: leave it out")
    if form.meta and form.meta not in kind.metas:
        allowed = f"allowed are {', '.join(kind.metas)}" if kind.metas else "it keeps them in the store: leave it out"
        raise InputError(f"{kind.title} cannot keep its metadata in {form.meta!r}; {allowed}")
    check_servers(options, kind.servers, kind.title)
    meta = form.meta or next(iter(kind.metas), "")
    if form.metadata_delay_s and meta != "redis":
        raise InputError("a delay of metadata is one of the rounds to Redis; this file system has none")
    return form._replace(meta=meta, recorded=form.recorded or bool(form.store_delay_s or form.metadata_delay_s))
