"""Reads the options and the release of a Ceph cluster: `ceph config dump`, `ceph.conf`, and `ceph versions`.

Formats: src/mon/ConfigMonitor.cc (config dump), src/common/ConfUtils.cc (ceph.conf), src/mon/Monitor.cc (versions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from models.ceph.mechanisms.releases import RELEASES
from models.site.reader import Facts, Found, Reader, SiteFile
from traces.spec.units import binary_size

_HEADER = re.compile(r"^\s*WHO\s+MASK\s+LEVEL\s+OPTION\s+VALUE", re.MULTILINE)
_SECTION = re.compile(r"^\s*\[\s*(global|mon|mgr|osd|client|mds)[^\]]*\]", re.MULTILINE)
_RELEASE = re.compile(r"ceph version [^\s\"]+ \([^)]*\) (\w+) \(")
_COUNTS = {"osd_op_num_shards": "osd-shards", "osd_op_num_threads_per_shard": "osd-threads-per-shard"}
_OF_KIND = "_hdd", "_ssd"  # options that hold for one kind of drives
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class _Option(NamedTuple):
    """An option: its section, such as `osd` or `osd.3`, the mask of hosts or classes, name and value."""

    section: str
    mask: str
    name: str
    value: str


def _facts(options: list[_Option]) -> Found:
    """Return the options that matter: memory and threads of OSDs, the gateways' front end, and the balancer.

    Those of single hosts, daemons or classes are left out.
    """
    general = {each.name: each.value for each in options if _is_general(each)}
    facts: Facts = {}
    if "osd_memory_target" in general:
        facts["memory"] = binary_size(_bytes(general["osd_memory_target"]))
    facts |= {fact: int(general[name]) for name, fact in _COUNTS.items() if name in general}
    if "mgr/balancer/upmap_max_deviation" in general:
        facts["upmap-max-deviation"] = int(general["mgr/balancer/upmap_max_deviation"])
    if frontends := [each.value for each in options if each.name == "rgw_frontends"]:
        facts |= {"frontend": match[0] if (match := re.search("beast|civetweb", frontends[0])) else "beast"}
        facts["tcp-nodelay"] = bool(re.search(r"\btcp_nodelay=(1|true)", frontends[0]))
    if "mgr/balancer/active" in general:
        facts["balancer"] = general["mgr/balancer/active"] == "true"
    single = {each.name for each in options if not _is_general(each)} - general.keys()
    notes = [
        f"{name} differs between OSDs; it is left out" for name in sorted(single & {"osd_memory_target", *_COUNTS})
    ]
    of_kind = sorted(each for each in general if each.removesuffix("_hdd").removesuffix("_ssd") in _COUNTS)
    notes += [f"{name} is left out; it holds for one kind of drives" for name in of_kind if name.endswith(_OF_KIND)]
    return Found(facts, tuple(notes))


def _is_general(option: _Option) -> bool:
    return option.section in ("global", "osd", "mgr") and not option.mask


def _bytes(text: str) -> int:
    """Return a size as Ceph's options have it: bytes, or with a binary prefix."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{text!r} is no size")
    return int(float(match[1]) * 2 ** _POWERS[match[2].upper()])


def read_config(file: SiteFile) -> Found:
    """Return what `ceph config dump` says in JSON."""
    return _facts(
        [_Option(str(each["section"]), each.get("mask") or "", each["name"], str(each["value"])) for each in file.items]
    )


def read_config_text(file: SiteFile) -> Found:
    """Return what `ceph config dump` says as text: the cells are in the columns of its header."""
    lines = file.text.expandtabs().splitlines()
    start = next(number for number, line in enumerate(lines) if _HEADER.match(line))
    options = []
    for line in lines[start + 1 :]:
        # The column of masks is empty but for few options, and the last may have a mark of a default.
        match = re.match(
            r"\s*(\S+)\s+(?:((?:host|class|rack|root)[:=]\S+)\s+)?(?:basic|advanced|dev|unknown)\s+(\S+)\s+(.+?)"
            r"(?:\s{2,}\*)?\s*$",
            line,
        )
        options += [_Option(match[1], match[2] or "", match[3], match[4])] if match else []
    return _facts(options)


def read_conf(file: SiteFile) -> Found:
    """Return what `ceph.conf` says; in names of options, blanks and hyphens are as underscores."""
    return _facts(list(_assignments(file.text)))


def _assignments(text: str) -> Iterator[_Option]:
    section = "global"
    for line in text.splitlines():
        if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            section = header[1]
        elif match := re.match(r"\s*([A-Za-z][\w /-]*?)\s*=\s*([^#;]*)", line):
            yield _Option(section, "", re.sub(r"[ -]", "_", match[1]), match[2].strip().strip("\"'"))


def read_versions(file: SiteFile) -> Found:
    """Return the release of most OSDs in `ceph versions`, or that of `ceph -v`.

    Raises:
        ValueError: its release has no model.
    """
    of_osds = file.fields.get("osd") or file.fields.get("overall") or {file.text: 1}
    counts: dict[str, int] = {}
    for text, number in of_osds.items():
        if match := _RELEASE.search(text):
            counts[match[1]] = counts.get(match[1], 0) + int(number)
    (release, _), *others = sorted(counts.items(), key=lambda each: -each[1])
    if release not in RELEASES:
        raise ValueError(f"the release {release} has no model; those that have one are {', '.join(RELEASES)}")
    notes = [f"{number} OSDs have the release {name}; that of most is used" for name, number in others]
    return Found({"release": release}, tuple(notes))


def _has_versions(file: SiteFile) -> bool:
    overall = file.fields.get("overall")
    if isinstance(overall, Mapping):
        return any(_RELEASE.search(str(each)) for each in overall)
    return file.json is None and bool(re.match(r"\s*ceph version ", file.text)) and bool(_RELEASE.search(file.text))


READERS = (
    Reader(
        "ceph config dump -f json",
        lambda file: bool(file.items) and all({"section", "name", "value"} <= each.keys() for each in file.items),
        read_config,
    ),
    Reader("ceph config dump", lambda file: bool(_HEADER.search(file.text)), read_config_text),
    Reader("ceph versions", _has_versions, read_versions),
    Reader(
        "ceph.conf",
        lambda file: (
            file.json is None
            and bool(_SECTION.search(file.text))
            and bool(re.search(r"\bfsid\s*=|\bmon[ _]host\s*=|\bosd[ _]\w+[\w ]*=", file.text))
        ),
        read_conf,
    ),
)
"""The readers of options and releases."""
