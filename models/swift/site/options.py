"""Reads the options of Swift's servers, `proxy-server.conf` and `object-server.conf`, and `diskusage` of recon.

Formats: etc/proxy-server.conf-sample, etc/object-server.conf-sample, swift/common/middleware/recon.py and
swift/cli/recon.py.
"""

from __future__ import annotations

import configparser
import re

from models.site.reader import Facts, Found, Reader, SiteFile
from models.site.uneven import mean_capacity

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


def read_disk_usage(file: SiteFile) -> Found:
    """Return drives, capacity and fill of one host, or of all hosts as `swift-recon` prints them.

    Raises:
        ValueError: no drive is mounted.
    """
    mounted = [each for each in file.items if str(each.get("mounted")) == "True" and each.get("size")]
    if not mounted:
        raise ValueError("no drive of it is mounted")
    facts, notes = mean_capacity([float(each["size"]) for each in mounted])
    fills = [100 * float(each["used"]) / float(each["size"]) for each in mounted]
    notes.append(f"drives are {min(fills):.0f} to {max(fills):.0f} % full")
    if missing := len(file.items) - len(mounted):
        notes.append(f"{missing} drives are not mounted; they are left out")
    return Found({**facts, "drives": len(mounted)}, tuple(notes))


def _has_section(file: SiteFile, name: str) -> bool:
    return file.json is None and bool(re.search(rf"^\s*\[{name}\]", file.text, re.MULTILINE))


READERS = (
    Reader("proxy-server.conf", lambda file: _has_section(file, "app:proxy-server"), read_proxy),
    Reader("object-server.conf", lambda file: _has_section(file, "app:object-server"), read_object_server),
    Reader(
        "diskusage of recon",
        lambda file: bool(file.items) and all({"device", "mounted", "size"} <= each.keys() for each in file.items),
        read_disk_usage,
    ),
)
"""The readers of options and fill."""
