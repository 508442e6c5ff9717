"""The store below a layer in a new spec: that of a spec file, without its workload."""

from __future__ import annotations

from models.site.kinds import SPEC
from models.site.known import Known, Tree, derived, with_origin
from models.site.setup import Question, Site

BELOW_QUESTION = Question("below", "Spec file of the store below, such as one that this command wrote", SPEC)


def below(site: Site, machines: Known | None) -> Tree:
    """Return the sections of the store below, which has no workload of its own.

    Args:
        site: what is known.
        machines: number of its client machines, which are the mounts; None: the layer does not let it be given.
    """
    data = {name: value for name, value in site["below"].value.items() if name != "workload"}
    tree = dict(with_origin(data, "given: the spec of the store below"))
    client = tree.get("client", {})
    if isinstance(client, Known):
        return tree
    kept = {name: part for name, part in client.items() if name != "machines"}
    if machines is not None:
        kept["machines"] = derived(machines.value, "the machines with a mount")
    return {**tree, "client": kept}
