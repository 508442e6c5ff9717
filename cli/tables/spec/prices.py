"""The catalogue of prices as tables, and sentences on which price is from where."""

from __future__ import annotations

from collections.abc import Sequence

from cli.tables.grid import Grid
from cli.words import number, size
from models.catalogue.entries import Catalogue, Entry
from models.shared.prices import PricedPart


def price_lines(parts: Sequence[PricedPart]) -> list[str]:
    """Say what each part of a store costs and what the price is from; without parts that cost nothing."""
    costly = [part for part in parts if part.amount and part.price.amount]
    if not costly:
        return []
    currency = next((part.currency for part in costly if part.currency), "")
    each = [f"{part.name} {number(part.price.amount)} ({', '.join(part.price.sources)})" for part in costly]
    shown = "; sources: tailcast presets --prices" if currency else ""
    return [f"Prices{f' in {currency}' if currency else ''}: {'; '.join(each)}{shown}."]


def catalogue_grid(catalogue: Catalogue) -> Grid:
    """Table of all entries."""
    rows = [
        _row(f"drive {name}", size(each.capacity), each)
        for name, entries in catalogue.drives.items()
        for each in entries
    ]
    rows += [
        _row(name, "", entry)
        for name, entry in (
            ("server", catalogue.server), ("core", catalogue.core), ("GB of memory", catalogue.memory_gb)
        )
        if entry is not None
    ]  # fmt: skip
    rows += [_row("interface", f"{each.bandwidth * 8e-9:g} Gbit/s", each) for each in catalogue.nics]
    columns = ["part", "size", f"price ({catalogue.currency})", "kind", "date", "source"]
    return Grid("Prices", columns, rows, labels=6, layout="rows")


def _row(part: str, measure: str, entry: Entry) -> list[str]:
    return [part, measure, number(entry.price), entry.kind, entry.date, entry.source]
