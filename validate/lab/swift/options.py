"""Options of a Swift: those of its servers' configuration files, and of the rings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.errors import InputError
from validate.lab.options import check_replicas, check_servers, whole_numbers
from validate.lab.store import Form
from validate.lab.swift.program import SERVERS

_SERVERS = ("proxy", *SERVERS)
_PART_POWER, _MOST = 8, 16


class Rings(NamedTuple):
    """The rings of a store.

    Attributes:
        replicas: of objects; of databases as many, at most one on each host.
    """

    replicas: int
    part_power: int


def rings_of(form: Form, options: Mapping[str, str]) -> Rings:
    """Return the rings of a store: three replicas, or as many as there are drives, by default.

    Raises:
        InputError: an option is wrong.
    """
    defaults = {"replicas": min(3, form.drive_count), "part_power": _PART_POWER}
    numbers = whole_numbers(options, "ring", defaults, _MOST)
    check_replicas(numbers["replicas"], form.drive_count, "ring.replicas", "drives")
    return Rings(**numbers)


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
    check_servers(options, (*_SERVERS, "ring"), "Swift")
    rings_of(form, options)
