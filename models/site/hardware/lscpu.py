"""Reads `lscpu` of util-linux, JSON or text: the logical cores of a host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.site.reader import Facts, Found, Reader, SiteFile

_ROW = re.compile(r"^\s*([A-Z][^:\n]*):\s+(\S.*?)\s*$", re.MULTILINE)


def _fields(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each entry; newer releases nest them."""
    for entry in entries:
        yield str(entry["field"]).strip(" :"), str(entry.get("data") or "")
        yield from _fields(entry.get("children") or ())


def read(file: SiteFile) -> Found:
    """Return the number of cores; hyper-threads count, as they do in the CPU times of models."""
    fields = dict(_fields(file.fields["lscpu"]) if file.fields else _ROW.findall(file.text))
    cores, threads = int(fields["CPU(s)"]), fields.get("Thread(s) per core", "1")
    facts: Facts = {"cores": cores}
    if threads.isdigit() and int(threads) > 1:
        facts["threads-per-core"] = int(threads)
    return Found(facts)


LSCPU = Reader(
    "lscpu",
    lambda file: (
        isinstance(file.fields.get("lscpu"), list)
        if file.fields
        else {"CPU(s)", "Architecture"} <= dict(_ROW.findall(file.text)).keys()
    ),
    read,
)
"""The reader."""
