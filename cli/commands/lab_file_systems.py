"""File systems on a store of the lab, for the commands of `tailcast lab`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_grid, print_json, say, stderr
from cli.options import ForceOption, JsonOption
from traces.errors import InputError
from validate.lab import lab
from validate.lab.credentials import PROFILE
from validate.lab.file_systems import lifecycle
from validate.lab.file_systems.file_system import GATEWAY, FileSystem, FileSystemForm
from validate.lab.file_systems.registry import FILE_SYSTEMS, kind_of
from validate.lab.store import Progress, Store


def divided(name: str, options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of a file system, and those of the store below."""
    servers = kind_of(name).servers
    own = {option: value for option, value in options.items() if option.partition(".")[0] in servers}
    return own, {option: value for option, value in options.items() if option not in own}


def refuse_for_store(name: str, form: FileSystemForm, on: str | None) -> None:
    """Check that no option of file systems is given for a store.

    Raises:
        InputError: one is.
    """
    if form != FileSystemForm() or on is not None:
        options = "--on, --gateway, --meta, --record and delays"
        raise InputError(f"{options} are options of {' and '.join(FILE_SYSTEMS)}; {name} is a store")


def up(
    name: str, store: Store, form: FileSystemForm, options: Mapping[str, str], progress: Progress
) -> tuple[FileSystem, bool]:
    """Start a file system; return it, and whether it was up already."""
    before = lifecycle.status(name)
    already = before is not None and before.alive
    return lifecycle.up(name, store, form, options, progress), already


def install(name: str, progress: Progress) -> dict[str, object]:
    """Install a file system, unless it is there; return its program and version."""
    kind = kind_of(name)
    program = kind.find() or kind.install(progress)
    return {"name": name, "binary": str(program), "version": kind.version(program)}


def down(name: str, json: bool) -> None:
    """Stop a file system, and say so."""
    left = lifecycle.is_left(name)
    stopped = lifecycle.down(name)
    if json:
        print_json({"name": name, "up": False, "stopped": stopped})
    else:
        say(f"{name} is down" if stopped else f"{name} was not up" + ("; what was left of it is removed" * left))


def show(name: str, json: bool) -> None:
    """Say whether a file system is up, and where."""
    fs = lifecycle.status(name)
    if fs is not None:
        print_file_system(fs, "is up" if fs.alive else "has died", json)
    elif json:
        print_json({"name": name, "up": False})
    else:
        left = f"; 'tailcast lab down {name}' removes what is left of it"
        say(f"{name} is down" + left * lifecycle.is_left(name))


def print_file_system(fs: FileSystem, state: str, json: bool) -> None:
    """Print where a file system is, what it stands on, and its servers."""
    running = fs.running
    if json:
        print_json(_facts(fs))
        return
    meta = f", metadata in {fs.form.meta}" if fs.form.meta else ""
    say(f"{fs.name} {state}: {fs.version}")
    say(f"{'gateway ' + fs.url(GATEWAY) if fs.form.gateway else f'mount {fs.mount_point}'}{meta}")
    store = lab.status(fs.store)
    gone = "" if store is not None and store.endpoint_url == fs.store_url else ", which is not up"
    say(f"on {fs.store}, {fs.store_url}{gone}, bucket {fs.bucket}")
    say(f"servers: {', '.join(f'{server} (PID {pids[0]})' for server, pids in sorted(running.items()))}")
    if fs.form.gateway:
        say(f"credentials: AWS_SHARED_CREDENTIALS_FILE={fs.credentials_file} AWS_PROFILE={PROFILE}")


def _facts(fs: FileSystem) -> dict[str, object]:
    store = lab.status(fs.store)
    return {
        **fs.facts,
        "up": fs.alive,
        "mount_point": None if fs.form.gateway else str(fs.mount_point),
        "endpoint_url": fs.url(GATEWAY) if fs.form.gateway else None,
        "credentials_file": str(fs.credentials_file) if fs.form.gateway else None,
        "profile": PROFILE,
        "store_url": fs.store_url,
        "store_up": store is not None and store.endpoint_url == fs.store_url,
        "bucket": fs.bucket,
        "servers": {server: list(pids) for server, pids in sorted(fs.running.items())},
    }


def anatomy_command(
    only: Annotated[
        str, typer.Option("--only", metavar="TEXT", help="Operations whose name has this text (default: all).")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.csv", help="Write the table as CSV (default: none).")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Print which requests reach the store, and which Redis, for each file operation of the file system that is up.

    It must have been started with --record, or a delay. Each operation is performed alone, two or three times, on new
    files, which are removed afterwards.

    Example: tailcast lab file-anatomy --only rename
    """
    from cli.tables.measured.file_anatomy import file_anatomy_grid
    from sim.json_form import to_json
    from validate.lab.file_systems.anatomy import file_anatomy, write_csv

    if out is not None and out.exists() and not force:
        raise InputError(f"{out} exists; add --force to overwrite it")
    fs = lifecycle.running()
    if fs is None:
        names = ", ".join(FILE_SYSTEMS)
        raise InputError(f"no file system of the lab is up; start one of {names} with 'tailcast lab up NAME --record'")
    if not fs.form.recorded:
        raise InputError(f"{fs.name} is up without recorders; first stop it, and start it with --record")
    with stderr.status(fs.name) as shown:
        found = file_anatomy(fs, only, lambda line: shown.update(f"{fs.name}: {line}"))
    if json:
        print_json({**fs.facts, "operations": to_json(found)})
    else:
        print_grid(file_anatomy_grid(found))
    if out is not None:
        write_csv(found, out)
