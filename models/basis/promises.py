"""What the objects of a spec survive, and whether it keeps its promise, with those of the specs below it."""

from __future__ import annotations

from models.durability.kept import Breach, Kept, kept
from models.store import Spec, levels, store_named


def kept_of(spec: Spec) -> dict[str, Kept]:
    """Return what each level of a spec keeps, by path; nothing of a store whose model does not say it."""
    found = {}
    for path, each in levels(spec).items():
        durability = store_named(each.store).durability
        if durability is not None:
            found[path] = kept(durability(each), each.promise)
    return found


def breaches(spec: Spec) -> list[tuple[str, Breach]]:
    """Return what is not kept of the promises of a spec, and of those below it, each with its path.

    A promise of a store whose model does not say how objects are kept is not kept.
    """
    found = []
    for path, each in levels(spec).items():
        where = f"{path}.promise" if path else "promise"
        durability = store_named(each.store).durability
        if each.promise is None:
            continue
        if durability is None:
            found.append((where, Breach("store", f"the model of {each.store} does not say what survives")))
        else:
            found += [(f"{where}.{breach.clause}", breach) for breach in kept(durability(each), each.promise).breaches]
    return found
