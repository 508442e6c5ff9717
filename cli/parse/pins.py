"""Values of specs of stores as text: ``STORE.PATH=VALUE``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from traces.errors import InputError
from traces.spec.suggestions import instead


def parse_pins(texts: Sequence[str], stores: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the assignments of a repeatable option by store.

    Raises:
        InputError: one of them names no store, or has another form.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        store, dot, assignment = text.partition(".")
        path, equals, _ = assignment.partition("=")
        if not dot or not equals or not path:
            raise InputError(f"--pin {text}: write it like STORE.hosts.nic=10Gbit/s")
        if store not in stores:
            raise InputError(f"--pin {text}: {store!r} is not among the stores; {instead(store, list(stores))}")
        found[store] = (*found.get(store, ()), assignment)
    return found
