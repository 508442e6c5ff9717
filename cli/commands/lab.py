"""`tailcast lab`: real stores on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands import lab_campaign
from cli.common import print_json, say, stderr
from cli.options import FiguresOption, FormatOption, JsonOption, PageOption
from cli.tables.measured.lab import lab_lines
from traces.errors import InputError
from validate.lab import lab
from validate.lab.fault_text import parse_lab_fault
from validate.lab.registry import STORES, kind_of
from validate.lab.staging import end as end_faults
from validate.lab.staging import in_force
from validate.lab.store import PROFILE, Form, Store, StoreKind

app = typer.Typer(
    help="Start and stop a real store on loopback, or in a box of shaped drives and links.", no_args_is_help=True
)


_FIRST = next(iter(STORES))

NameArgument = Annotated[str, typer.Argument(metavar="STORE", help=f"The store: {', '.join(STORES)}.")]

StartedArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STORE",
        help=f"The store: {', '.join(STORES)} (default: the one that is up).",
        show_default=False,
    ),
]


@app.command()
def up(
    name: NameArgument = _FIRST,
    hosts: Annotated[
        int | None,
        typer.Option(min=1, help="Number of hosts, a server each (default: that of the store's usual form)."),
    ] = None,
    drives: Annotated[
        int | None, typer.Option(min=1, help="Number of drives per host (default: that of the store's usual form).")
    ] = None,
    set_size: Annotated[
        int | None, typer.Option("--set-size", min=1, help="Drives of an erasure set (default: the store chooses).")
    ] = None,
    gateways: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of gateways (proxies) that take the requests, each a host of its own, of a store that has "
            "them (default: one).",
        ),
    ] = None,
    balancer: Annotated[
        bool, typer.Option("--balancer", help="A load balancer (HAProxy) before the gateways, on a host of its own.")
    ] = False,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="SERVER.NAME=VALUE",
            help="Option of the store's own configuration, such as proxy.concurrent_gets=true; repeatable.",
        ),
    ] = None,
    shape: Annotated[
        Path | None,
        typer.Option(
            metavar="SHAPE.yaml",
            help="Service times of the drives, and rate and delay of the links, of a box with a network of its own; "
            "needs root (default: plain folders on loopback).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the drives' service times; needs --shape.")] = 0,
    json: JsonOption = False,
) -> None:
    """Start the store; harmless when it is up.

    Installs the server where it is missing. Starts again what has died of several processes.

    Example: tailcast lab up minio --hosts 4 --drives 2 --shape examples/lab/hdd.yaml
    """
    form = _form(kind_of(name), drives, hosts, set_size, gateways)._replace(balancers=int(balancer))
    given = dict(_option(text) for text in options or ())
    read = None
    if shape is not None:
        from validate.lab.box.shape import read_shape

        read = read_shape(shape)
    elif seed:
        raise InputError("--seed is for the drives of a box; add --shape")
    store_before = lab.status(name)
    already = store_before is not None and store_before.ready
    with _lines(f"{name}: starting") as progress:
        store = lab.up(name, form, progress, read, seed, given)
    end_faults(store, lambda fault: fault.effect == "killed")  # its servers run again
    _print(store, "is already up" if already else "is up", json)


@app.command()
def down(name: StartedArgument = None, json: JsonOption = False) -> None:
    """Stop the store and remove its data.

    Example: tailcast lab down minio
    """
    name = name or _started()
    left = lab.is_left(name)
    stopped = lab.down(name)
    if json:
        print_json({"name": name, "up": False, "stopped": stopped})
    else:
        say(
            f"{name} is down"
            if stopped
            else f"{name} was not up" + ("; what was left of it is removed" if left else "")
        )


@app.command()
def status(name: StartedArgument = None, json: JsonOption = False) -> None:
    """Say whether the store is up, and where.

    Example: tailcast lab status minio
    """
    name = name or _started()
    store = lab.status(name)
    if store is not None:
        _print(store, "is up", json)
    elif json:
        print_json({"name": name, "up": False})
    else:
        say(
            f"{name} is down"
            + (f"; 'tailcast lab down {name}' removes what is left of it" if lab.is_left(name) else "")
        )


@app.command()
def fault(
    faults: Annotated[
        list[str],
        typer.Argument(
            metavar="FAULT",
            help="PART NUMBER EFFECT [at TIME] [for TIME], such as 'drive 3 x5 at 10s for 20s', 'drive 3 frozen' (or "
            "errors, full), 'link 2 cut', 'link 2 10%' (or a rate), 'host 1 killed' (or paused, restarted); "
            "numbers are those of lab status, times are from now on. 'end' ends all faults.",
            show_default=False,
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Stage faults on the drives, links and hosts of the running store, and record them in Runs of that time.

    Faults with a duration are ended here, also by Ctrl-C; others stay until 'lab fault end' or 'lab down'.
    For times from the start of a replay: replay --fault.

    Example: tailcast lab fault 'drive 3 x5 for 20s'
    """
    from validate.lab import fault_schedule, staging

    parsed = [] if [text.strip().lower() for text in faults] == ["end"] else [parse_lab_fault(text) for text in faults]
    store = lab.running()
    if store is None:
        raise InputError("no store of the lab is running; start one with 'tailcast lab up'")
    if not parsed:
        ended = staging.end(store)
        say("\n".join(f"ended: {fault.what}" for fault in ended) or "no fault was in force")
    else:
        fault_schedule.stage(store, parsed, say)
    if json:
        print_json({"faults": [staged.to_json() for staged in staging.in_force(store)]})


@app.command()
def install(name: NameArgument = _FIRST, json: JsonOption = False) -> None:
    """Install the store's server, unless it is there.

    Example: tailcast lab install minio
    """
    kind = kind_of(name)
    with _lines(f"{name}: installing") as progress:
        program = kind.find() or kind.install(progress)
    if json:
        print_json({"name": name, "binary": str(program), "version": kind.version(program)})
    else:
        say(f"{name} is installed: {program}")


@app.command()
def anatomy(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a Run that has accesses of drives.", show_default=False)
    ],
    metadata: Annotated[
        bool, typer.Option("--metadata", help="Show metadata operations as steps, such as rename and mkdir.")
    ] = False,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    json: JsonOption = False,
) -> None:
    """Print which accesses each operation makes on the drives, of which size, and in which order.

    Complete for a Run of one client on a store in a box.

    Example: tailcast lab anatomy run --report anatomy.html
    """
    from cli.common import print_grid
    from cli.figures.figure_files import PageFiles
    from cli.pages.anatomy import write_anatomy_page
    from cli.tables.measured.anatomy import loads_grid, note, patterns_grid
    from sim.json_form import to_json
    from traces.run import Run
    from validate.lab.box.anatomy import anatomy

    pages = PageFiles(report, figures_to, figure_format)
    found = anatomy(Run.read(run), metadata)
    if json:
        print_json(to_json(found))
    else:
        for grid in [loads_grid(found), *map(patterns_grid, found.operations)]:
            print_grid(grid)
        say(note(found))
    pages.write(lambda path: write_anatomy_page(found, path, run.name))


app.command("campaign")(lab_campaign.command)


def _started() -> str:
    """Return the store that is up, or else of which something is left; the first one of all if there is none."""
    store = lab.running()
    return store.name if store is not None else next(filter(lab.is_left, STORES), _FIRST)


def _form(kind: StoreKind, drives: int | None, hosts: int | None, set_size: int | None, gateways: int | None) -> Form:
    """Return the requested form; without hosts and drives, the first of the store's usual ones."""
    form = next(iter(kind.forms.values()))
    if drives is not None or hosts is not None:
        form = form._replace(drives=drives or 1, hosts=hosts or 1)
    return form._replace(set_size=set_size, gateways=form.gateways if gateways is None else gateways)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.strip() and equals):
        raise InputError(f"--option {text!r}: is not SERVER.NAME=VALUE, such as proxy.concurrent_gets=true")
    return name.strip(), value.strip()


def _facts(store: Store) -> dict[str, Any]:
    return {
        "name": store.name,
        "up": True,
        "endpoint_url": store.endpoint_url,
        **store.facts,
        "pid": store.entrances[0].pid,
        "nodes": [
            {
                "host": i,
                "endpoint_url": n.endpoint_url,
                "pid": n.pid,
                "up": n.alive,
                **({"role": store.form.role(i)} if store.form.gateways else {}),
            }
            for i, n in enumerate(store.nodes)
        ],
        "faults": [fault.to_json() for fault in in_force(store)],
        "version": store.version,
        "profile": PROFILE,
        "credentials_file": str(store.credentials_file),
    }


def _print(store: Store, state: str, json: bool) -> None:
    if json:
        print_json(_facts(store))
        return
    say(f"{store.name} {state}: {store.form}")
    for line in lab_lines(store, in_force(store)):
        say(line)
    say(f"credentials: AWS_SHARED_CREDENTIALS_FILE={store.credentials_file} AWS_PROFILE={PROFILE}")


@contextmanager
def _lines(what: str) -> Iterator[Callable[[str], None]]:
    """The newest line of something that takes its time, on stderr."""
    with stderr.status(what) as shown:
        yield lambda line: shown.update(f"{what}: {line}")
