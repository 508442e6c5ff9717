"""The page on what is modelled and what is not, store by store, from the registry and the pages of the stores."""

from __future__ import annotations

import re
from pathlib import Path

from docs.generators.markdown import table
from models.store import MODULES, Store, store_named
from traces.operations import OPS

HEADING = "Not in the model"
"""Heading of the section of a store's page that is repeated here."""


def modelled_page(docs: Path) -> str:
    """Return the page; each store has a page in `docs` with a section `HEADING`.

    Raises:
        ValueError: a store has no page, or its page has no such section.
    """
    stores = {name: store_named(name) for name in MODULES}
    parts = [
        "# What is modelled, and what is not\n",
        "From the models, and from the pages of the stores. A failure is one that the command `failures` can stage.\n",
        table(
            ["store", "operations", "failures", "growth", "changes of a plan", "issues to a store below"],
            map(_row, stores.values()),
        ),
        "All stores have clients with timeouts, retries, hedged and tied requests, links, caches and background load. "
        "No model has the contents of objects, requests for authentication, or routers between hosts.\n",
    ]
    for name in stores:
        parts += [
            f"## {name}: not in the model\n",
            f"What it has: [{name}.md]({name}.md).\n",
            _section(docs / f"{name}.md"),
        ]
    return "\n".join(parts)


def _row(store: Store) -> list[str]:  # type: ignore[type-arg]
    served = [op for op in OPS if op in store.operations]
    has = [store.growth, store.remedies, store.issues]
    return [
        f"[{store.name}]({store.name}.md)",
        ", ".join(served),
        ", ".join(store.faults),
        *("yes" if each else "no" for each in has),
    ]


def _section(page: Path) -> str:
    text = page.read_text() if page.exists() else ""
    found = re.search(rf"^## {HEADING}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{page}: has no section '{HEADING}'")
    return found[1].strip() + "\n"
