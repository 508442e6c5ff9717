"""Reads what a MinIO cluster is: `mc admin info` (text and JSON), MINIO_* environments, and docker-compose files.

Formats: madmin-go (info-commands.go: InfoMessage), and docs of MINIO_VOLUMES and MINIO_STORAGE_CLASS_STANDARD.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from models.minio.site import kubernetes
from models.minio.site.kubernetes import release_of
from models.minio.site.volumes import arguments, commands, expanded_by_shell, pools_of, with_further
from models.site.reader import Facts, Found, Reader, SiteFile
from models.site.uneven import even_hosts, mean_capacity
from traces.errors import InputError
from traces.spec.spec_file import parsed_yaml

_VARIABLE = re.compile(r"^\s*(?:export\s+)?(MINIO_[A-Z_]+)=(.*)$", re.MULTILINE)
_STORAGE_CLASS = re.compile(r"^\s*(?:#.*)?storage_class\b.*\bstandard=\"?EC:(\d+)", re.MULTILINE)
_OFFLINE = "{} drives are offline; the spec has them, as in a healthy cluster"
_NODES = "MINIO_DISTRIBUTED_NODES"
_VOLUMES = "MINIO_VOLUMES", "MINIO_ENDPOINTS", "MINIO_ARGS"


def read_info(file: SiteFile) -> Found:
    """Return what `mc admin info` says: pools with hosts and drives, erasure sets, release, capacity."""
    info = file.fields.get("info") or file.fields
    servers, backend = info["servers"], info.get("backend", {})
    pools: dict[int, Counter[str]] = {}
    unplaced: Counter[str] = Counter()  # drives that are offline, before December 2023
    sizes = []
    offline = drives_offline = 0
    for server in servers:
        drives = server.get("drives") or server.get("disks") or ()
        offline += server.get("state") != "online"
        for drive in drives:
            pool = int(drive.get("pool_index", 0))
            (unplaced if pool < 0 else pools.setdefault(pool, Counter()))[str(server["endpoint"])] += 1
            sizes += [float(drive["totalspace"])] if drive.get("totalspace") else []
            drives_offline += drive.get("state") == "offline"
    left_out = _placed(unplaced, pools)
    facts, notes = with_further([even_hosts([*counts.values()]) for _, counts in sorted(pools.items())])
    notes += left_out
    of_capacity, about = mean_capacity(sizes)
    facts |= of_capacity
    notes += about
    if drives_offline:
        notes.append(_OFFLINE.format(drives_offline))
    if offline:
        notes.append(f"{offline} of {len(servers)} servers are offline; those without drives are left out")
    if per_set := backend.get("totalDrivesPerSet"):
        facts["set-size"] = int(per_set[0])
    if "standardSCParity" in backend:
        facts["parity"] = int(backend["standardSCParity"])
    releases = sorted({str(server.get("version", ""))[:10] for server in servers})
    if re.fullmatch(r"\d{4}-\d\d-\d\d", releases[-1]):
        facts["release"] = releases[-1]
    if len(releases) > 1:
        notes.append(f"servers have the releases {', '.join(releases)}; the newest is used")
    objects = int((info.get("objects") or {}).get("count") or 0)
    return Found({**facts, **({"objects": objects} if objects else {})}, tuple(notes))


def _placed(drives: Counter[str], pools: dict[int, Counter[str]]) -> list[str]:
    """Add drives of no known pool to that of their server, or to the only one; return a note on those left out."""
    left_out = 0
    for server, count in drives.items():
        own = [servers for servers in pools.values() if server in servers] or list(pools.values())
        if len(own) == 1:
            own[0][server] += count
        else:
            left_out += count
    return [f"{left_out} drives that are offline are left out, as their pool is not said"] if left_out else []


_SERVER_LINE = re.compile(r"^\s*[●•]\s+(\S+)\s*$", re.MULTILINE)
_DRIVES_LINE = re.compile(r"^\s*Drives:\s+(\d+)/(\d+) OK", re.MULTILINE)


def read_info_text(file: SiteFile) -> Found:
    """Return what `mc admin info` says as text: hosts and drives, and of newer releases erasure sets and parity.

    Raises:
        ValueError: it has no drives.
    """
    first, *servers = _SERVER_LINE.split(file.text)
    texts = servers[1::2] or [first]
    pools: dict[str, list[int]] = {}
    known = set(re.findall(r"^\s*Pool:\s+(\d+)\s*$", file.text, re.MULTILINE)) or {"1"}
    unplaced = offline = 0
    for text in texts:
        pool = re.search(r"^\s*Pool:\s+(\d+)\s*$", text, re.MULTILINE)
        if several := re.search(r"^\s*Pool:\s+(\d+(?:,\s*\d+)+)\s*$", text, re.MULTILINE):
            raise ValueError(f"a server is in several pools ({several[1]}); the JSON of the command says which drives")
        if pool is None and len(known) > 1:
            unplaced += 1
        elif drives := _DRIVES_LINE.search(text):
            pools.setdefault(pool[1] if pool else next(iter(known)), []).append(int(drives[2]))
            offline += int(drives[2]) - int(drives[1])
    if not any(sum(counts) for counts in pools.values()):
        raise ValueError("it says of no server which drives it has")
    numbered = sorted(pools.items(), key=lambda each: int(each[0]))
    facts, notes = with_further([even_hosts([count for count in counts if count]) for _, counts in numbered])
    if offline:
        notes.append(_OFFLINE.format(offline))
    if unplaced:
        notes.append(f"{unplaced} servers that are offline are left out, as their pool is not said")
    if per_set := re.search(r"(?:(?:Drives|Disks) per erasure set|Erasure stripe size):\s+(\d+)", file.text):
        facts["set-size"] = int(per_set[1])
    elif row := re.search(r"^\s*\u2502\s*1st\s*\u2502[^\u2502]*\u2502\s*(\d+)\s*\u2502", file.text, re.MULTILINE):
        facts["set-size"] = int(row[1])
    if parity := re.search(r"drives? online,.*\bEC:(\d+)", file.text):
        facts["parity"] = int(parity[1])
    releases = sorted(
        {found[:10] for found in re.findall(r"^\s*Version:\s+(\d{4}-\d\d-\d\d)T", file.text, re.MULTILINE)}
    )
    if releases:
        facts["release"] = releases[-1]
    if len(releases) > 1:
        notes.append(f"servers have the releases {', '.join(releases)}; the newest is used")
    if objects := re.search(r"([\d,]+) Objects\b", file.text):
        facts |= {"objects": count} if (count := int(objects[1].replace(",", ""))) else {}
    return Found(facts, tuple(notes))


def _facts(volumes: Sequence[str], variables: Mapping[str, str]) -> Found:
    facts: Facts = {}
    notes: list[str] = []
    if volumes:
        facts, notes = with_further(list(pools_of(volumes)))
    if match := re.fullmatch(r"EC:(\d+)", variables.get("MINIO_STORAGE_CLASS_STANDARD", "")):
        facts["parity"] = int(match[1])
    if (size := variables.get("MINIO_ERASURE_SET_DRIVE_COUNT", "")).isdigit():
        facts["set-size"] = int(size)
    if not facts:
        raise ValueError("it has neither volumes nor a storage class")
    return Found(facts, tuple(notes))


def read_environment(file: SiteFile) -> Found:
    """Return what a file with MINIO_* variables says, such as /etc/default/minio."""
    variables = {name: value.split(" #")[0].strip().strip("\"'") for name, value in _VARIABLE.findall(file.text)}
    volumes = next((variables[name] for name in _VOLUMES if name in variables), "")
    return _facts([each for each in volumes.split() if not each.startswith("-")], variables)


def read_config(file: SiteFile) -> Found:
    """Return the parity in what `mc admin config get` or `config export` says."""
    (parity,) = _STORAGE_CLASS.findall(file.text)[:1]
    return Found({"parity": int(parity)})


def read_command(file: SiteFile) -> Found:
    """Return what the command line of a server says, such as that of a systemd unit: its volumes."""
    found = [arguments(command.split()) for command in commands(file.text)]
    volumes = max(found, key=len)
    if not volumes:
        raise ValueError("its command names no volumes; those of a variable are in the environment, /etc/default/minio")
    return _facts([each for volume in volumes for each in expanded_by_shell(volume)], {})


def _services(file: SiteFile) -> list[Mapping[str, Any]]:
    """Return the services of a docker-compose file that are MinIO servers."""
    try:
        data = parsed_yaml(file.text, file.name)
    except InputError:
        return []
    services = data.get("services") if isinstance(data, Mapping) else None
    found = [each for each in services.values() if isinstance(each, Mapping)] if isinstance(services, Mapping) else []
    minio = [each for each in found if re.search(r"\bminio\b", str(each.get("image", "")))]
    return [each for each in minio if _arguments(each) or _NODES in _environment(each)]


def _environment(service: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a service."""
    found = service.get("environment") or {}
    pairs = found.items() if isinstance(found, Mapping) else (str(each).partition("=")[::2] for each in found)
    return {str(name): str(value) for name, value in pairs}


def _arguments(service: Mapping[str, Any]) -> list[str]:
    """Return the volumes of a service's command."""
    command = service.get("command") or ()
    words = command.split() if isinstance(command, str) else [str(each) for each in command]
    return arguments(words[words.index("server") + 1 :]) if "server" in words else []


def read_compose(file: SiteFile) -> Found:
    """Return what the MinIO services of a docker-compose file say."""
    services = _services(file)
    variables: dict[str, str] = {}
    for service in services:
        variables |= _environment(service)
    lines = {tuple(_arguments(service)) for service in services}
    if _NODES in variables:  # of Bitnami's image, without the scheme
        lines.add(tuple(f"http://{each.removeprefix('http://')}" for each in re.split("[, ]+", variables[_NODES])))
    found = _facts(max(lines, key=len), variables)
    notes = ["its services are taken as hosts of their own"] if len(services) > 1 else []
    return Found({**found.facts, **release_of(str(services[0]["image"]))}, (*found.notes, *notes))


def _is_info(file: SiteFile) -> bool:
    info = file.fields.get("info", file.fields)
    return isinstance(info, Mapping) and isinstance(info.get("servers"), list)


READERS = (
    Reader("mc admin info --json", _is_info, read_info),
    Reader(
        "mc admin info",
        lambda file: bool(_SERVER_LINE.search(file.text)) and bool(_DRIVES_LINE.search(file.text)),
        read_info_text,
    ),
    Reader("docker-compose", lambda file: bool(_services(file)), read_compose),
    *kubernetes.READERS,
    Reader("mc admin config get", lambda file: bool(_STORAGE_CLASS.search(file.text)), read_config),
    Reader("environment of MinIO", lambda file: bool(_VARIABLE.search(file.text)), read_environment),
    Reader("command line of MinIO", lambda file: bool(commands(file.text)), read_command),
)
"""The readers of MinIO."""
