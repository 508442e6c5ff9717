"""Reads what a SeaweedFS is: docker-compose files and command lines of `weed`, charts, and lists of `weed shell`.

Options: weed/command/master.go, volume.go, server.go and filer.go; values of the chart: k8s/charts/seaweedfs of
seaweedfs/seaweedfs; resources: seaweedfs/seaweedfs-operator; lists: weed/shell/command_volume_list.go. A replication
such as 010 has one more copy on another rack: the digits count copies on other data centers, racks and hosts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from models.site.kubernetes import chart_values, quantity
from models.site.reader import Facts, Found, Reader, SiteFile
from traces.errors import InputError
from traces.spec.spec_file import parsed_yaml

_OPTION = re.compile(r"""(?:^|\s)-{1,2}(?P<name>[\w.]+)(?:=|\s+)(?P<value>"[^"]*"|'[^']*'|[^\s-]\S*)""")
_PROCESSES = re.compile(r"^\s*\* (?:filers|masters|volume servers) \d+", re.MULTILINE)
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
            if name in options and (copies := _copies(options[name])):
                facts["replicas"] = copies
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


def _copies(replication: object) -> int | None:
    """Return the copies of a replication such as 010; None: it is none."""
    text = str(replication).zfill(3)
    return 1 + sum(map(int, text)) if re.fullmatch(r"[0-9]{3}", text) else None


def _charts(file: SiteFile) -> Iterator[Mapping[str, Any]]:
    """Yield what the chart or a resource of the operator says: parts of the store by their names."""
    if "seaweed" not in file.text.lower():
        return
    for values in (*chart_values(file.documents), *(each.get("spec") for each in file.documents)):
        if isinstance(values, Mapping) and all(isinstance(values.get(part), Mapping) for part in ("master", "volume")):
            yield values


def read_chart(file: SiteFile) -> Found:
    """Return volume servers, their drives and copies.

    Raises:
        ValueError: it says none of them.
    """
    values = next(_charts(file))
    volume, master, general = values["volume"], values["master"], values.get("global") or {}
    folders = volume.get("dataDirs") or ()
    drives = len(folders) or int(values.get("volumeServerDiskCount") or 0)
    replication = general.get("replicationPlacement", general.get("replicationPlacment"))  # renamed in 2024
    if replication is None or not general.get("enableReplication", True):
        replication = master.get("defaultReplication")
    facts: Facts = {"hosts": int(volume["replicas"])} if str(volume.get("replicas")).isdigit() else {}
    facts |= {"drives": drives} if drives else {}
    facts |= {"replicas": copies} if replication is not None and (copies := _copies(replication)) else {}
    of_folder = folders[0] if folders else {}
    size = of_folder.get("size", (volume.get("requests") or {}).get("storage"))
    if size is not None:
        facts["drive.capacity"] = f"{round(quantity(size) / 1e9)}GB"
    if not facts:
        raise ValueError("it has no volume server, and no option that a spec has")
    return Found(facts, ("its volume servers are taken as hosts of their own",))


def read_volumes(file: SiteFile) -> Found:
    """Return what `volume.list` says: hosts, objects as a client has stored them, and copies of a volume.

    Raises:
        ValueError: no volume server is in it.
    """
    nodes = dict.fromkeys(re.findall(r"^\s*DataNode\s+(\S+?)(?::\d+)?\s+\w+\(volume:", file.text, re.MULTILINE))
    if not nodes:
        raise ValueError("it has no volume server")
    facts: Facts = {"hosts": len(nodes)}
    notes = []
    volumes = {each["id"]: each for each in _VOLUME.finditer(file.text)}
    files = sum(int(each["files"]) - int(each["deleted"] or 0) for each in volumes.values())
    if files > 0:
        facts["objects"] = files
        notes.append("its files are taken as objects, although a large object has one for each of its chunks")
    listed, stated = (
        len(_VOLUME.findall(file.text)),
        sum(map(int, re.findall(r"\(volume:(\d+)/", _topology(file.text)))),
    )
    if listed < stated:
        notes.append(f"it lists {listed} of {stated} volumes, so there are more objects")
    if coded := len(set(re.findall(r"^\s*ec volume id:(\d+)", file.text, re.MULTILINE))):
        notes.append(f"{coded} volumes are erasure-coded, whose objects are left out")
    placements = Counter(each["placement"] or "0" for each in volumes.values())
    if placements:
        (placement, _), *others = placements.most_common()
        facts |= {"replicas": copies} if (copies := _copies(placement)) else {}
        notes += [f"{count} of {len(volumes)} volumes have the replication {each.zfill(3)}" for each, count in others]
    return Found(facts, tuple(notes))


def _topology(text: str) -> str:
    """Return the line with the numbers of volumes of all servers."""
    return next((line for line in text.splitlines() if line.startswith("Topology ")), "")


_VOLUME = re.compile(
    r"^\s*volume id:(?P<id>\d+)\s+size:\d+.*?\bfile_count:(?P<files>\d+)(?:\s+delete_count:(?P<deleted>\d+))?"
    r"(?:.*?\breplica_placement:(?P<placement>\d+))?.*$",
    re.MULTILINE,
)


def read_processes(file: SiteFile) -> Found:
    """Return the hosts of the volume servers in `cluster.ps`.

    Raises:
        ValueError: no volume server is in it.
    """
    _, _, rows = file.text.partition("* volume servers ")
    hosts = dict.fromkeys(re.findall(r"^\s+\* ([\w.-]+):\d+", rows.partition("\n* ")[0], re.MULTILINE))
    if not hosts:
        raise ValueError("it lists no volume servers; volume.list does")
    return Found({"hosts": len(hosts)})


READERS = (
    Reader("docker-compose of SeaweedFS", lambda file: bool(_compose(file)), lambda file: _found(_compose(file))),
    Reader("definition of SeaweedFS", lambda file: any(_charts(file)), read_chart),
    Reader("volume.list of weed shell", lambda file: "Topology volumeSizeLimit:" in file.text, read_volumes),
    Reader("cluster.ps of weed shell", lambda file: bool(_PROCESSES.search(file.text)), read_processes),
    Reader("command line of weed", lambda file: bool(_lines(file)), lambda file: _found(_lines(file))),
)
"""The readers of SeaweedFS."""
