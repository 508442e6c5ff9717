"""Options of stores of the lab, by the server that they are of: ``SERVER.NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traces.errors import InputError
from traces.spec.suggestions import instead


def options_of(options: Mapping[str, str], server: str) -> dict[str, str]:
    """Return the options of one server, by their names without it."""
    return {name[len(server) + 1 :]: value for name, value in options.items() if name.startswith(f"{server}.")}


def check_servers(options: Mapping[str, str], servers: Sequence[str], title: str) -> None:
    """Check that all options are of known servers.

    Raises:
        InputError: one is not, or has no name.
    """
    for name in options:
        server, dot, rest = name.partition(".")
        if server not in servers or not (dot and rest):
            allowed = ", ".join(f"{one}.NAME" for one in servers)
            raise InputError(f"option {name!r} is not one of a {title}; allowed are {allowed}")


def whole_numbers(
    options: Mapping[str, str], server: str, defaults: Mapping[str, int], most: int | None = None
) -> dict[str, int]:
    """Return the options of a server that has only whole numbers from 1, with the defaults of others.

    Args:
        defaults: of all options.
        most: greatest number; None: no limit.

    Raises:
        InputError: an option is not known, or its value is wrong.
    """
    found = dict(defaults)
    for name, text in options_of(options, server).items():
        if name not in defaults:
            raise InputError(f"option {server}.{name}: is not known; {instead(name, defaults)}")
        if not text.isdecimal() or int(text) < 1 or (most is not None and int(text) > most):
            limit = "" if most is None else f" to {most}"
            raise InputError(f"option {server}.{name} is {text!r}; allowed are whole numbers from 1{limit}")
        found[name] = int(text)
    return found


def check_replicas(replicas: int, drives: int, option: str, part: str) -> None:
    """Check that there are enough drives.

    Args:
        part: what there is one of on each drive, in the plural.

    Raises:
        InputError: there are fewer than replicas.
    """
    if replicas > drives:
        raise InputError(f"option {option} is {replicas}; there are {drives} {part}")
