"""Options of a Swift: those of its servers' configuration files, and of the rings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.errors import InputError
from traces.spec.suggestions import instead
from validate.lab.store import Form
from validate.lab.swift.program import SERVERS

_SERVERS = ("proxy", *SERVERS)
_RING = {"replicas": 3, "part_power": 8}


class Rings(NamedTuple):
    """The rings of a store.

    Attributes:
        replicas: of objects; of databases as many, at most one on each host.
    """

    replicas: int
    part_power: int


def of_server(options: Mapping[str, str], server: str) -> dict[str, str]:
    """Return the options of one server's configuration."""
    return {name[len(server) + 1 :]: value for name, value in options.items() if name.startswith(f"{server}.")}


def rings_of(form: Form, options: Mapping[str, str]) -> Rings:
    """Return the rings of a store: three replicas, or as many as there are drives, by default.

    Raises:
        InputError: an option is wrong.
    """
    given = of_server(options, "ring")
    numbers = {}
    for name, text in given.items():
        if name not in _RING:
            raise InputError(f"option ring.{name}: is not known; {instead(name, _RING)}")
        if not text.isdecimal() or not 1 <= int(text) <= 16:
            raise InputError(f"option ring.{name} is {text!r}; allowed are whole numbers from 1 to 16")
        numbers[name] = int(text)
    if numbers.get("replicas", 0) > form.drive_count:
        raise InputError(f"option ring.replicas is {numbers['replicas']}; there are {form.drive_count} drives")
    return Rings(numbers.get("replicas", min(3, form.drive_count)), numbers.get("part_power", _RING["part_power"]))


def check(form: Form, options: Mapping[str, str]) -> None:
    """Check form and options.

    Raises:
        InputError: one is wrong.
    """
    if form.set_size is not None:
        raise InputError("a Swift has no erasure sets: leave out their size")
    if form.gateways < 1:
        raise InputError("a Swift needs a proxy: give 1 gateway or more")
    if form.balancers:
        raise InputError("a Swift of the lab has no load balancer: clients send requests to its proxies")
    for name in options:
        server, dot, rest = name.partition(".")
        if server not in (*_SERVERS, "ring") or not (dot and rest):
            allowed = ", ".join(f"{one}.NAME" for one in (*_SERVERS, "ring"))
            raise InputError(f"option {name!r} is not one of a Swift; allowed are {allowed}")
    rings_of(form, options)
