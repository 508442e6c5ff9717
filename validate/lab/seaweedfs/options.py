"""Form and options of a SeaweedFS: those of its programs, and of the copies of volumes."""

from __future__ import annotations

from collections.abc import Mapping

from traces.errors import InputError
from traces.spec.suggestions import instead
from validate.lab.options import check_replicas, check_servers, options_of, whole_numbers
from validate.lab.store import Form

SERVERS = ("master", "volume", "filer", "s3")
"""Commands of the program whose options can be given."""
_VOLUMES = ("copies", "fsync")
_FSYNC = "volumes.fsync"
_OWN = {
    "master": ("ip", "ip.bind", "mdir", "port", "port.grpc", "defaultReplication"),
    "volume": ("ip", "ip.bind", "dir", "master", "mserver", "port", "port.grpc"),
    "filer": ("ip", "ip.bind", "master", "port", "port.grpc", "defaultStoreDir", "localSocket", "s3"),
    "s3": ("config", "filer", "ip.bind", "localFilerSocket", "localSocket", "port", "port.grpc"),
}


def copies_of(form: Form, options: Mapping[str, str]) -> int:
    """Return the number of copies of a volume: three, or as many as there are hosts, by default.

    Raises:
        InputError: an option is wrong.
    """
    of_volumes = options_of(options, "volumes")
    for name in of_volumes:
        if name not in _VOLUMES:
            raise InputError(f"option volumes.{name}: is not known; {instead(name, _VOLUMES)}")
    others = {name: value for name, value in options.items() if name != _FSYNC}
    numbers = whole_numbers(others, "volumes", {"copies": min(3, form.hosts)})
    check_replicas(numbers["copies"], form.hosts, "volumes.copies", "hosts")
    return numbers["copies"]


def is_synced(options: Mapping[str, str]) -> bool:
    """Return whether chunks are synced, which they are not by default.

    Raises:
        InputError: the option is wrong.
    """
    text = options.get(_FSYNC, "false")
    if text not in ("true", "false"):
        raise InputError(f"option {_FSYNC} is {text!r}; allowed are true and false")
    return text == "true"


def check(form: Form, options: Mapping[str, str]) -> None:
    """Check form and options.

    Raises:
        InputError: one is wrong.
    """
    if form.set_size is not None:
        raise InputError("a SeaweedFS of the lab has no erasure sets: leave out their size")
    if form.gateways < 1:
        raise InputError("a SeaweedFS needs a filer with an S3 gateway: give 1 gateway or more")
    if form.monitors != 1:
        raise InputError(f"a SeaweedFS of the lab has one master, not {form.monitors}")
    if form.balancers:
        raise InputError("a SeaweedFS of the lab has no load balancer: clients send requests to its gateways")
    check_servers(options, (*SERVERS, "volumes"), "SeaweedFS")
    for server, own in _OWN.items():
        for name in own:
            if name in options_of(options, server):
                raise InputError(f"option {server}.{name}: the lab sets it; leave it out")
    copies_of(form, options)
    is_synced(options)
