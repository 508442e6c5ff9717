"""Reads `lscpu -J` of util-linux: the logical cores of a host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.site.reader import Facts, Found, Reader, SiteFile


def _fields(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each entry; newer releases nest them."""
    for entry in entries:
        yield str(entry["field"]).strip(" :"), str(entry.get("data") or "")
        yield from _fields(entry.get("children") or ())


def read(file: SiteFile) -> Found:
    """Return the number of cores; hyper-threads count, as they do in the CPU times of models."""
    fields = dict(_fields(file.fields["lscpu"]))
    cores, threads = int(fields["CPU(s)"]), fields.get("Thread(s) per core", "1")
    facts: Facts = {"cores": cores}
    if threads.isdigit() and int(threads) > 1:
        facts["threads-per-core"] = int(threads)
    return Found(facts)


LSCPU = Reader("lscpu -J", lambda file: isinstance(file.fields.get("lscpu"), list), read)
"""The reader."""
