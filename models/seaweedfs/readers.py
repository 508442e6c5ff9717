"""Reads what a SeaweedFS is: docker-compose files and command lines of `weed`.

Options: weed/command/master.go, volume.go, server.go and filer.go. A replication such as 010 has one more copy on
another rack: the digits count copies on other data centers, racks and hosts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from models.site.reader import Facts, Found, Reader, SiteFile
from traces.errors import InputError
from traces.spec.spec_file import parsed_yaml

_OPTION = re.compile(r"""(?:^|\s)-{1,2}(?P<name>[\w.]+)(?:=|\s+)(?P<value>"[^"]*"|'[^']*'|[^\s-]\S*)""")
_WEED = re.compile(r"\bweed\s+(?:-\S+\s+)*(?P<command>(?:master|volume|server|filer|mini)\b.*)$", re.MULTILINE)


def _compose(file: SiteFile) -> list[str]:
    """Return the commands of the SeaweedFS services of a docker-compose file."""
    if "seaweedfs" not in file.text or "services" not in file.text:
        return []
    try:
        data = parsed_yaml(file.text, file.name)
    except InputError:
        return []
    services = data.get("services") if isinstance(data, Mapping) else None
    found = [each for each in services.values() if isinstance(each, Mapping)] if isinstance(services, Mapping) else []
    commands = [each.get("command") for each in found if "seaweedfs" in str(each.get("image", ""))]
    return [each if isinstance(each, str) else " ".join(map(str, each)) for each in commands if each]


def _lines(file: SiteFile) -> list[str]:
    """Return the commands of a text, such as of systemd units."""
    return [match["command"] for match in _WEED.finditer(file.text.replace("\\\n", " "))]


def _found(commands: Sequence[str]) -> Found:
    facts: Facts = {}
    servers = 0
    for command in commands:
        verb = command.split()[0].lower()
        options = {match["name"]: match["value"].strip("\"'") for match in _OPTION.finditer(command)}
        for name in ("defaultReplication", "master.defaultReplication"):
            if re.fullmatch(r"[0-9]{3}", copies := options.get(name, "")):
                facts["replicas"] = 1 + sum(map(int, copies))
        if "maxMB" in options or "filer.maxMB" in options:
            facts["chunk-size"] = int(options.get("maxMB", options.get("filer.maxMB", "4"))) << 20
        if verb in ("volume", "server"):
            servers += 1
            facts["drives"] = len(options.get("dir", "/data").split(","))
    if servers:
        facts["hosts"] = servers
    if not facts:
        raise ValueError("it has no volume server, and no option that a spec has")
    notes = ["its volume servers are taken as hosts of their own"] if servers > 1 else []
    return Found(facts, tuple(notes))


READERS = (
    Reader("docker-compose of SeaweedFS", lambda file: bool(_compose(file)), lambda file: _found(_compose(file))),
    Reader("command line of weed", lambda file: bool(_lines(file)), lambda file: _found(_lines(file))),
)
"""The readers of SeaweedFS."""
