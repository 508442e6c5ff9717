"""Options of a Ceph: those of its daemons, and of the pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.errors import InputError
from traces.spec.suggestions import instead
from validate.lab.store import Form

DAEMONS = ("global", "mon", "mgr", "osd", "rgw")
"""What options are of, besides pools; ``global`` is of all daemons."""

_POOLS = {"replicas": 3, "pg_num": 64}


class Pools(NamedTuple):
    """The pools of a store.

    Attributes:
        replicas: of all pools.
        pg_num: placement groups of the pool with the data of objects.
        by_host: whether replicas are on different hosts, otherwise on different OSDs.
    """

    replicas: int
    pg_num: int
    by_host: bool


def of_daemon(options: Mapping[str, str], daemon: str) -> dict[str, str]:
    """Return the options of one kind of daemon."""
    return {name[len(daemon) + 1 :]: value for name, value in options.items() if name.startswith(f"{daemon}.")}


def pools_of(form: Form, options: Mapping[str, str]) -> Pools:
    """Return the pools of a store: three replicas, or as many as there are OSDs, by default.

    Raises:
        InputError: an option is wrong.
    """
    numbers = {"replicas": min(3, form.drive_count), "pg_num": _POOLS["pg_num"]}
    for name, text in of_daemon(options, "pool").items():
        if name not in _POOLS:
            raise InputError(f"option pool.{name}: is not known; {instead(name, _POOLS)}")
        if not text.isdecimal() or int(text) < 1:
            raise InputError(f"option pool.{name} is {text!r}; allowed are whole numbers from 1")
        numbers[name] = int(text)
    if numbers["replicas"] > form.drive_count:
        raise InputError(f"option pool.replicas is {numbers['replicas']}; there are {form.drive_count} OSDs")
    return Pools(**numbers, by_host=form.hosts >= numbers["replicas"])


def check(form: Form, options: Mapping[str, str]) -> None:
    """Check form and options.

    Raises:
        InputError: one is wrong.
    """
    if form.set_size is not None:
        raise InputError("a Ceph has no erasure sets: leave out their size")
    if form.gateways < 1:
        raise InputError("a Ceph needs a RADOS gateway: give 1 gateway or more")
    for name in options:
        daemon, dot, rest = name.partition(".")
        if daemon not in (*DAEMONS, "pool") or not (dot and rest):
            allowed = ", ".join(f"{one}.NAME" for one in (*DAEMONS, "pool"))
            raise InputError(f"option {name!r} is not one of a Ceph; allowed are {allowed}")
    pools_of(form, options)
