"""Form and options of a Garage: those of `garage.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from traces.errors import InputError
from validate.lab.options import check_replicas, check_servers, options_of
from validate.lab.store import Form

_NODES = "node"
_COPIES = "replication_factor"
_OWN = (
    "admin", "bootstrap_peers", "data_dir", "metadata_dir", "rpc_bind_addr", "rpc_public_addr", "rpc_secret",
    "rpc_secret_file", "s3_api",
)  # fmt: skip
_NAME = re.compile(r"[a-z0-9_]+")


def options_of_nodes(form: Form, options: Mapping[str, str]) -> dict[str, bool | int | str]:
    """Return the options of `garage.toml`: three copies, or as many as there are hosts, by default.

    Raises:
        InputError: an option is wrong.
    """
    given: dict[str, bool | int | str] = {_COPIES: min(3, form.hosts)}
    for name, text in options_of(options, _NODES).items():
        if name in _OWN:
            raise InputError(f"option {_NODES}.{name}: the lab sets it; leave it out")
        if not _NAME.fullmatch(name):
            raise InputError(f"option {_NODES}.{name}: is no name of garage.toml; such as {_NODES}.data_fsync")
        given[name] = text == "true" if text in ("true", "false") else int(text) if text.isdecimal() else text
    copies = given[_COPIES]
    if isinstance(copies, bool) or not isinstance(copies, int) or copies < 1:
        raise InputError(
            f"option {_NODES}.{_COPIES} is {options[f'{_NODES}.{_COPIES}']!r}; allowed are whole numbers from 1"
        )
    check_replicas(copies, form.hosts, f"{_NODES}.{_COPIES}", "hosts")
    return given


def check(form: Form, options: Mapping[str, str]) -> None:
    """Check form and options.

    Raises:
        InputError: one is wrong.
    """
    if form.set_size is not None:
        raise InputError("a Garage has no erasure sets: leave out their size")
    if form.gateways or form.monitors:
        raise InputError("a Garage of the lab has no gateways: its hosts take requests")
    if form.balancers:
        raise InputError("a Garage of the lab has no load balancer: clients send requests to its hosts")
    check_servers(options, (_NODES,), "Garage")
    options_of_nodes(form, options)
