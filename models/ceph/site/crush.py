"""Reads CRUSH rules and maps, and profiles of erasure codes.

Formats: src/crush/CrushWrapper.cc (dump), src/crush/CrushCompiler.cc (text of crushtool), and
src/mon/OSDMonitor.cc (osd erasure-code-profile get).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from models.ceph.mechanisms.redundancy import STRIPE_UNIT_BYTES
from models.ceph.site.osds import Osd, facts_of_osds
from models.site.reader import Facts, Found, Reader, SiteFile

_WEIGHT_UNIT = 1 << 16  # of weights in JSON
_DOMAINS = "host", "osd"
_UNIT = str(STRIPE_UNIT_BYTES)
_PAIR = re.compile(r"^\s*([a-z][\w-]*)=(\S*)\s*$", re.MULTILINE)
_BLOCK = re.compile(r"^(?P<type>\w+)\s+(?P<name>\S+)\s*\{(?P<body>[^}]*)\}", re.MULTILINE)
_DEVICE = re.compile(r"^device\s+(\d+)\s+(osd\.\d+)(?:\s+class\s+(\S+))?", re.MULTILINE)
_ITEM = re.compile(r"^\s*item\s+(\S+)\s+weight\s+([\d.]+)", re.MULTILINE)
_TAKE = re.compile(r"step\s+take\s+(\S+)(?:\s+class\s+(\S+))?")
_CHOOSE = re.compile(r"step\s+choose(?:leaf)?\s+(?:firstn|indep)\s+-?\d+\s+type\s+(\w+)")


class _Rule(NamedTuple):
    """A rule: its name, the device class that it takes (empty: all), and the type of each of its choices."""

    name: str
    device_class: str
    types: list[str]


def _of_rules(rules: Iterable[_Rule]) -> Found:
    """Return the failure domain of rules, if it is the same in all, and what a spec cannot express."""
    rules = [rule for rule in rules if rule.types]
    notes = [f"rule {rule.name} takes OSDs of class {rule.device_class}" for rule in rules if rule.device_class]
    for rule in rules:
        if len(rule.types) > 1:
            notes.append(f"rule {rule.name} has several on each {rule.types[0]}; a spec spreads them over OSDs")
        elif rule.types[-1] not in _DOMAINS:
            notes.append(f"rule {rule.name} has the failure domain {rule.types[-1]}; a spec spreads over hosts")
    domains = {rule.types[-1] if rule.types[-1] in _DOMAINS else "host" for rule in rules}
    if len(domains) > 1:
        notes.append("rules have different failure domains; ceph osd pool ls detail says which rule the data pool has")
    facts: Facts = {"failure-domain": domains.pop()} if len(domains) == 1 else {}
    return Found(facts, tuple(notes))


def _rule(data: Mapping[str, Any]) -> _Rule:
    steps = data["steps"]
    taken = [str(step.get("item_name", "")).partition("~")[2] for step in steps if step["op"] == "take"]
    types = [str(step["type"]) for step in steps if str(step["op"]).startswith("choose") and "type" in step]
    return _Rule(str(data["rule_name"]), next(filter(None, taken), ""), types)


def read_rules(file: SiteFile) -> Found:
    """Return the failure domain that `ceph osd crush rule dump` has."""
    return _of_rules([_rule(each) for each in file.items or [file.fields]])


def _of_map(osds: Sequence[Osd], rules: Iterable[_Rule]) -> Found:
    on_hosts, of_rules = facts_of_osds(osds), _of_rules(rules)
    return Found({**on_hosts.facts, **of_rules.facts}, (*on_hosts.notes, *of_rules.notes))


def read_map(file: SiteFile) -> Found:
    """Return the OSDs and the failure domain of `ceph osd crush dump`."""
    fields = file.fields
    classes = {int(each["id"]): str(each.get("class", "")) for each in fields["devices"]}
    buckets = [(str(each["name"]).partition("~")[0], each) for each in fields["buckets"] if each["type_name"] == "host"]
    osds = {
        int(item["id"]): _osd(name, classes, int(item["id"]), float(item["weight"]) / _WEIGHT_UNIT)
        for name, bucket in buckets
        for item in bucket["items"]
    }
    return _of_map(list(osds.values()), map(_rule, fields["rules"]))


def _osd(host: str, classes: Mapping[int, str], number: int, weight: float) -> Osd:
    return Osd(host, classes.get(number, ""), weight * 2**40, number=number, weight=weight)


def read_map_text(file: SiteFile) -> Found:
    """Return the OSDs and the failure domain of a map in the text of crushtool."""
    classes = {int(number): name for number, _, name in _DEVICE.findall(file.text)}
    blocks = list(_BLOCK.finditer(file.text))
    osds = [
        _osd(block["name"], classes, int(item.removeprefix("osd.")), float(weight))
        for block in blocks
        if block["type"] == "host"
        for item, weight in _ITEM.findall(block["body"])
    ]
    return _of_map(osds, _text_rules(blocks))


def _text_rules(blocks: Iterable[re.Match[str]]) -> Iterator[_Rule]:
    for block in blocks:
        if block["type"] == "rule":
            taken = [name for _, name in _TAKE.findall(block["body"]) if name]
            yield _Rule(block["name"], next(iter(taken), ""), _CHOOSE.findall(block["body"]))


def _profile(file: SiteFile) -> Mapping[str, str]:
    """Return the entries of a profile; empty: the file is none."""
    found = file.fields if file.fields else dict(_PAIR.findall(file.text))
    return {str(name): str(value) for name, value in found.items()} if {"k", "m", "plugin"} <= found.keys() else {}


def read_profile(file: SiteFile) -> Found:
    """Return the shards of an erasure code, and its failure domain."""
    profile = _profile(file)
    facts: Facts = {"protection": f"ec {int(profile['k'])}+{int(profile['m'])}"}
    domain = profile.get("crush-failure-domain", profile.get("ruleset-failure-domain", ""))
    notes = []
    if domain in _DOMAINS:
        facts["failure-domain"] = domain
    elif domain:
        notes.append(f"its failure domain is {domain}; a spec spreads over hosts")
    if profile["plugin"] in ("lrc", "shec", "clay"):
        notes.append(f"repairs by the plugin {profile['plugin']} read less than those of the model")
    if (unit := profile.get("stripe_unit", _UNIT)) not in (_UNIT, "4K", "4k"):
        notes.append(f"its stripe unit is {unit}; the model has {_UNIT} bytes")
    return Found(facts, tuple(notes))


READERS = (
    Reader("ceph osd erasure-code-profile get", lambda file: bool(_profile(file)), read_profile,
           frozenset({"protection"})),
    Reader("ceph osd crush dump", lambda file: {"devices", "buckets", "rules"} <= file.fields.keys(), read_map),
    Reader(
        "ceph osd crush rule dump",
        lambda file: any({"rule_name", "steps"} <= each.keys() for each in (*file.items, file.fields)),
        read_rules,
    ),
    Reader("map of crushtool", lambda file: bool(_DEVICE.search(file.text) and _ITEM.search(file.text)), read_map_text),
)  # fmt: skip
"""The readers of CRUSH and of erasure codes."""
