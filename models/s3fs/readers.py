"""Reads the options of a mount of s3fs: a line of `/etc/fstab`, or the command (man page of s3fs 1.97)."""

from __future__ import annotations

import re

from models.site.reader import Facts, Found, Reader, SiteFile

_MIB = 1 << 20
_LINE = re.compile(r"^\s*(?!#)(?:\S*/)?(?:.*\bfuse\.s3fs\s+(?P<fstab>\S+).*|s3fs#\S+\s+\S+\s+fuse\s+(?P<old>\S+).*"
                   r"|.*\bs3fs\s+(?P<command>(?:\S+\s+)?(?:-o\s*\w|[/~.$]\S).*))$", re.MULTILINE)  # fmt: skip
_SIZES = {"multipart_size": "multipart-size", "max_dirty_data": "max-dirty-data"}
_COUNTS = {"parallel_count": "threads", "max_thread_count": "threads", "max_stat_cache_size": "stat-entries"}


def _mount(file: SiteFile) -> re.Match[str] | None:
    """Return the first mount: a command has options or, after the bucket, a mount point."""
    return _LINE.search(file.text.replace("\\\n", " "))


def read_options(file: SiteFile) -> Found:
    """Return the options that matter: parts, threads, dirty data, the cache of attributes, and TLS."""
    match = _mount(file)
    if match is None:
        raise ValueError("it has no mount of s3fs")
    text = match["fstab"] or match["old"] or match["command"]
    options = dict(re.findall(r"(?:^|[\s,])(?:-o\s*)?(\w+)=([^\s,]+)", re.sub("[\"']", "", text)))
    facts: Facts = {fact: f"{int(options[name]) * _MIB}B" for name, fact in _SIZES.items() if name in options}
    facts |= {fact: int(options[name]) for name, fact in _COUNTS.items() if name in options}
    if "stat_cache_expire" in options:
        facts["stat-expire"] = f"{int(options['stat_cache_expire'])}s"
    facts["tls"] = options.get("url", "https://").startswith("https:")
    return Found(facts)


READERS = (Reader("options of s3fs", lambda file: file.json is None and _mount(file) is not None, read_options),)
"""The reader of s3fs."""
