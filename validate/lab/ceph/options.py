"""Options of a Ceph: those of its daemons, and of the pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from traces.errors import InputError
from validate.lab.options import check_replicas, check_servers, options_of, whole_numbers
from validate.lab.store import Form

DAEMONS = ("global", "mon", "mgr", "osd", "rgw")
"""What options are of, besides pools and the gateways' frontends; ``global`` is of all daemons."""

_NODELAY = "tcp_nodelay"

_PG_NUM = 64


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


def pools_of(form: Form, options: Mapping[str, str]) -> Pools:
    """Return the pools of a store: three replicas, or as many as there are OSDs, by default.

    Raises:
        InputError: an option is wrong.
    """
    numbers = whole_numbers(options, "pool", {"replicas": min(3, form.drive_count), "pg_num": _PG_NUM})
    check_replicas(numbers["replicas"], form.drive_count, "pool.replicas", "OSDs")
    return Pools(**numbers, by_host=form.hosts >= numbers["replicas"])


def frontend_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the gateways' frontend (beast): small segments are sent at once by default.

    So a small GET takes no 40 ms, as behind HAProxy or with clients that read at once; Ceph's own default is
    ``frontend.tcp_nodelay=0``.
    """
    return {_NODELAY: "1"} | options_of(options, "frontend")


def sends_at_once(options: Mapping[str, str]) -> bool:
    """Whether gateways send small segments at once."""
    return frontend_of(options)[_NODELAY] == "1"


def check(form: Form, options: Mapping[str, str]) -> None:
    """Check form and options.

    Raises:
        InputError: one is wrong.
    """
    if form.set_size is not None:
        raise InputError("a Ceph has no erasure sets: leave out their size")
    if form.gateways < 1:
        raise InputError("a Ceph needs a RADOS gateway: give 1 gateway or more")
    check_servers(options, (*DAEMONS, "frontend", "pool"), "Ceph")
    frontend = frontend_of(options)
    if "endpoint" in options_of(options, "frontend"):
        raise InputError("option frontend.endpoint: is that of the gateway's host; leave it out")
    if frontend[_NODELAY] not in ("0", "1"):
        raise InputError(f"option frontend.{_NODELAY} is {frontend[_NODELAY]!r}; allowed are 0, 1")
    pools_of(form, options)
