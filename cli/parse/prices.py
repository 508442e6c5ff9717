"""The catalogue of prices that an option names, in the mapping of a spec or of another file with prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from models.basis.described import DescribedSpec
from models.below.lifted import BELOW
from models.catalogue.entries import SHIPPED, Catalogue, completed
from models.store import spec_of
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, validated

NONE = "none"

Described = TypeVar("Described", bound=DescribedSpec)


def catalogue_of(option: str) -> str | Mapping[str, Any] | None:
    """Return the catalogue that an option names, as a spec has it; None: none.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    if option in (SHIPPED, NONE):
        return None if option == NONE else SHIPPED
    path = Path(option)
    if not path.is_file() and not path.suffix:
        raise InputError(f"--prices: {option!r} is no file; allowed are a YAML file, 'shipped' and 'none'")
    data = load_mapping(path)
    validated(Catalogue, completed(data), option)
    return data


def pricing(option: str | None) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return what puts the catalogue of an option into a mapping, and into that of the store below.

    Without the option, that of tailcast is put into a mapping without any prices.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    catalogue = SHIPPED if option is None else catalogue_of(option)

    def priced(data: Mapping[str, Any]) -> Mapping[str, Any]:
        if catalogue is None or (option is None and _has_prices(data)):
            return data
        return _with_catalogue(data, catalogue)

    return priced


def described_with_prices(read: Described, option: str | None) -> Described:
    """Return a described spec with the catalogue of an option.

    Raises:
        InputError: the file is missing, or an entry is wrong.
    """
    whole = pricing(option)(read.whole)
    return read if whole is read.whole else replace(read, whole=whole, spec=spec_of(whole, read.source))


def _has_prices(data: Mapping[str, Any]) -> bool:
    below = data.get(BELOW)
    return data.get("prices") is not None or (isinstance(below, Mapping) and _has_prices(below))


def _with_catalogue(data: Mapping[str, Any], catalogue: str | Mapping[str, Any]) -> Mapping[str, Any]:
    given, below = data.get("prices"), data.get(BELOW)
    found = {**data, "prices": {"catalogue": catalogue, **(given if isinstance(given, Mapping) else {})}}
    return {**found, BELOW: _with_catalogue(below, catalogue)} if isinstance(below, Mapping) else found
