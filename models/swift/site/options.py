"""Reads the options of Swift's servers, `proxy-server.conf` and `object-server.conf`.

Formats: etc/proxy-server.conf-sample and etc/object-server.conf-sample.
"""

from __future__ import annotations

import configparser
import re

from models.site.reader import Facts, Found, Reader, SiteFile

_TIMES = {"node_timeout": "node-timeout", "conn_timeout": "conn-timeout", "concurrency_timeout": "concurrency-timeout"}
_TRUE = "true", "1", "yes", "on", "t", "y"


def _options(file: SiteFile) -> configparser.ConfigParser:
    """Return the sections of a configuration file.

    Raises:
        ValueError: it is broken.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=False, inline_comment_prefixes=("#", ";"))
    try:
        parser.read_string(file.text)
    except configparser.Error as error:
        raise ValueError(" ".join(str(error).split())) from error
    return parser


def _seconds(text: str) -> str:
    return f"{float(text.removesuffix('s')):g}s"


def read_proxy(file: SiteFile) -> Found:
    """Return what a proxy's options say: timeouts, and whether GETs of replicas are concurrent."""
    options = _options(file)
    app = dict(options["app:proxy-server"])
    facts: Facts = {fact: _seconds(app[name]) for name, fact in _TIMES.items() if name in app}
    if "concurrent_gets" in app:
        facts["concurrent-gets"] = app["concurrent_gets"].lower() in _TRUE
    notes = [
        f"[{section}] has options of a storage policy, which the spec leaves out"
        for section in options.sections()
        if section.startswith("proxy-server:policy:")
    ]
    return Found(facts, tuple(notes))


def read_object_server(file: SiteFile) -> Found:
    """Return what an object server's options say: the servers of each drive."""
    servers = _options(file).defaults().get("servers_per_port")
    return Found({} if servers is None else {"servers-per-port": int(servers)})


def _has_section(file: SiteFile, name: str) -> bool:
    return file.json is None and bool(re.search(rf"^\s*\[{name}\]", file.text, re.MULTILINE))


READERS = (
    Reader("proxy-server.conf", lambda file: _has_section(file, "app:proxy-server"), read_proxy),
    Reader("object-server.conf", lambda file: _has_section(file, "app:object-server"), read_object_server),
)
"""The readers of options."""
