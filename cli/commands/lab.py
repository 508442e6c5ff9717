"""`tailcast lab`: real stores on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands import lab_campaign, lab_file_systems, lab_spec
from cli.common import print_json, say, stderr
from cli.options import FiguresOption, FormatOption, JsonOption, PageOption, duration
from cli.tables.measured.lab import lab_lines
from traces.errors import InputError
from validate.lab import lab
from validate.lab.credentials import PROFILE
from validate.lab.fault_text import parse_lab_fault
from validate.lab.file_systems import lifecycle
from validate.lab.file_systems.file_system import FileSystemForm
from validate.lab.file_systems.registry import FILE_SYSTEMS
from validate.lab.registry import STORES, kind_of
from validate.lab.staging import end as end_faults
from validate.lab.staging import in_force
from validate.lab.store import Form, Store, StoreKind

app = typer.Typer(
    help="Start and stop a real store on loopback, or in a box of shaped drives and links.", no_args_is_help=True
)


_FIRST = next(iter(STORES))

_NAMES = f"The store: {', '.join(STORES)}; or a file system on one: {', '.join(FILE_SYSTEMS)}"

NameArgument = Annotated[str, typer.Argument(metavar="STORE", help=f"{_NAMES}.")]

StartedArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STORE",
        help=f"{_NAMES} (default: what is up, a file system first).",
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
    on: Annotated[
        str | None,
        typer.Option(
            "--on", metavar="STORE", help="Store below a file system (default: the one that is up, else the first)."
        ),
    ] = None,
    gateway: Annotated[
        bool, typer.Option("--gateway", help="The S3 gateway of a file system that has one, instead of a mount.")
    ] = False,
    meta: Annotated[
        str,
        typer.Option("--meta", help="Where the file system keeps its metadata: redis or sqlite (default: redis)."),
    ] = "",
    record: Annotated[
        bool, typer.Option("--record", help="Record what a file system requests of the store and of Redis.")
    ] = False,
    store_delay: Annotated[
        float,
        typer.Option(
            "--store-delay",
            metavar="TIME",
            parser=duration,
            show_default=False,
            help="Added to each request of a file system to the store; records, too (default: 0).",
        ),
    ] = 0.0,
    redis_delay: Annotated[
        float,
        typer.Option(
            "--redis-delay",
            metavar="TIME",
            parser=duration,
            show_default=False,
            help="Added to each round of a file system to Redis; records, too (default: 0).",
        ),
    ] = 0.0,
    json: JsonOption = False,
) -> None:
    """Start the store, or a file system on the one that is up; harmless when it is up.

    Installs the server where it is missing. Starts again what has died of several processes. Without a store that is
    up, a file system starts that of --on, with the options of stores.

    Example: tailcast lab up minio --hosts 4 --drives 2 --shape examples/lab/hdd.yaml
    """
    given = dict(_option(text) for text in options or ())
    fs_form = FileSystemForm(gateway, meta, record, store_delay, redis_delay)
    wanted = partial(_up_store, drives, hosts, set_size, gateways, balancer, shape, seed)
    if name not in FILE_SYSTEMS:
        lab_file_systems.refuse_for_store(name, fs_form, on)
        _print(*wanted(name, given), json)
        return
    own, of_store = lab_file_systems.divided(name, given)
    about_store = [drives, hosts, set_size, gateways, shape, on, balancer or None, seed or None, *of_store]
    store = lab.running()
    if store is None or not store.ready or any(value is not None for value in about_store):
        store, _ = wanted(on or (store.name if store is not None else _FIRST), of_store)
    with _lines(f"{name}: starting") as progress:
        fs, already = lab_file_systems.up(name, store, fs_form, own, progress)
    lab_file_systems.print_file_system(fs, "is already up" if already else "is up", json)


def _up_store(
    drives: int | None,
    hosts: int | None,
    set_size: int | None,
    gateways: int | None,
    balancer: bool,
    shape: Path | None,
    seed: int,
    name: str,
    options: dict[str, str],
) -> tuple[Store, str]:
    """Start a store; return it, and whether it is up already in words."""
    form = _form(kind_of(name), drives, hosts, set_size, gateways)._replace(balancers=int(balancer))
    read = None
    if shape is not None:
        from validate.lab.box.shape import read_shape

        read = read_shape(shape)
    elif seed:
        raise InputError("--seed is for the drives of a box; add --shape")
    store_before = lab.status(name)
    already = store_before is not None and store_before.ready
    with _lines(f"{name}: starting") as progress:
        store = lab.up(name, form, progress, read, seed, options)
    end_faults(store, lambda fault: fault.effect == "killed")  # its servers run again
    return store, "is already up" if already else "is up"


@app.command()
def down(name: StartedArgument = None, json: JsonOption = False) -> None:
    """Stop the store and remove its data, also file systems on it; or stop a file system and remove its data.

    Example: tailcast lab down minio
    """
    name = name or _started()
    if name in FILE_SYSTEMS:
        lab_file_systems.down(name, json)
        return
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
    """Say whether the store or file system is up, and where.

    Example: tailcast lab status minio
    """
    name = name or _started()
    if name in FILE_SYSTEMS:
        lab_file_systems.show(name, json)
        return
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
def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="STORE", help=f"{_NAMES} (default: the first of them).", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Install the server of one or several stores and file systems, unless it is there.

    Example: tailcast lab install juicefs s3fs
    """
    found = []
    for name in names or [_FIRST]:
        with _lines(f"{name}: installing") as progress:
            if name in FILE_SYSTEMS:
                found.append(lab_file_systems.install(name, progress))
                continue
            kind = kind_of(name)
            program = kind.find() or kind.install(progress)
            found.append({"name": name, "binary": str(program), "version": kind.version(program)})
    if json:
        print_json(found[0] if len(found) == 1 else {"installed": found})
    else:
        for each in found:
            say(f"{each['name']} is installed: {each['binary']}")


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
    from cli.pages.anatomy import anatomy_page
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
    pages.write(lambda: anatomy_page(found, run.name))


app.command("file-anatomy")(lab_file_systems.anatomy_command)
app.command("campaign")(lab_campaign.command)
app.command("spec")(lab_spec.command)


def _started() -> str:
    """Return what is up, a file system before its store, or else of which something is left; the first if none is."""
    if (fs := lifecycle.running()) is not None:
        return fs.name
    if (left := next(filter(lifecycle.is_left, FILE_SYSTEMS), None)) is not None:
        return left
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
