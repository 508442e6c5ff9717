"""`tailcast lab spec`: the spec of the store that is up, on the machine that it shares with its clients."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.init import FilesOption, write_spec
from cli.common import say
from cli.options import ForceOption
from cli.outputs import check_file_output
from cli.parse.option import fact_of
from models.site.common import WORKLOAD
from models.site.gathered import facts_of, read_files
from models.site.hardware.readers import READERS
from models.site.known import Known, given
from models.site.setup import Site
from models.store import store_named
from traces.errors import InputError
from validate.lab import lab
from validate.lab.registry import kind_of
from validate.lab.store import Store


def command(
    size: Annotated[str, typer.Option(metavar="SIZE", help="Size of an object.")] = "64KiB",
    mix: Annotated[str, typer.Option(metavar="OP=WEIGHT,...", help="Operations and their weights.")] = "GET=70,PUT=30",
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="Requests that arrive each second (default: 100/s, an open loop).")
    ] = None,
    clients: Annotated[
        str | None, typer.Option(metavar="N", help="Clients of a closed loop, instead of a rate (default: none).")
    ] = None,
    keys: Annotated[str, typer.Option(metavar="N", help="Objects that requests name.")] = "1000",
    files: FilesOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the spec to this file (default: stdout).")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the spec of the store that is up, whose hosts and clients share the cores of this machine.

    Example: tailcast lab spec --size 64KiB --clients 4 --from drive.json -o lab.yaml
    """
    check_file_output(out, force)
    if rate is not None and clients is not None:
        raise InputError("--rate is of an open loop and --clients of a closed one; give one")
    store = lab.running()
    if store is None:
        raise InputError("lab spec: no store is up; start one with: tailcast lab up")
    setup = store_named(store.name).setup
    if setup is None or setup.one_machine is None:
        raise InputError(f"store {store.name}: its model does not have hosts and clients on the same cores")
    if store.box is not None:
        raise InputError(
            "lab spec: the store is in a box, whose links and drives are those of its shape; see docs/lab.md"
        )
    texts = {"size": size, "mix": mix, "rate": rate, "clients": clients, "keys": keys}
    if clients is None and rate is None:
        texts["rate"] = "100/s"
    kinds = {question.name: question.kind for question in WORKLOAD}
    workload = {
        name: given(fact_of(f"--{name}", text, kinds[name])) for name, text in texts.items() if text is not None
    }
    read = read_files(files or [], (*setup.readers, *READERS))
    for each in read:
        say(f"{each.name} is {each.kind}: {', '.join(each.found.facts) or 'nothing that the spec needs'}")
    facts = {**facts_of(read), **facts_of_store(store), **workload}
    facts.setdefault("objects", workload["keys"])
    write_spec(store.name, setup.one_machine(Site(setup.questions, facts)), [], out)


def facts_of_store(store: Store) -> dict[str, Known]:
    """Return what is known of a store of the lab: its hosts and drives, and the cores of the machine."""
    origin = "the lab"
    facts = {
        "hosts": store.form.hosts,
        "drives": store.form.drives,
        "drive": "nvme",
        "nic": "100Gbit/s",
        "cores": len(os.sched_getaffinity(0)),
        **kind_of(store.name).site(store),
    }
    return {name: Known(value, f"given: {origin}") for name, value in facts.items()}
