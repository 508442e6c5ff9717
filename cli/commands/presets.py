"""`tailcast presets`: the presets that specs may name, with their figures and sources."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.common import print_grid, print_json, stdout
from cli.options import JsonOption
from traces.errors import InputError


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Preset to describe in full (default: list all).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the presets of hosts and drives that specs may name.

    Example: tailcast presets
    """
    from cli.tables.spec.presets import preset_grids, preset_lines, values_grid
    from models.spec.preset_list import all_presets
    from traces.spec.suggestions import did_you_mean

    found = {preset.name: preset for preset in all_presets()}
    if name is not None and name not in found:
        raise InputError(f"{name}: no such preset; allowed are {', '.join(found)}{did_you_mean(name, found)}")
    if as_json:
        print_json({"presets": list(found.values())} if name is None else found[name])
        return
    if name is None:
        for grid in preset_grids(list(found.values())):
            print_grid(grid)
        return
    for line in preset_lines(found[name]):
        stdout.print(line, markup=False, soft_wrap=True)
    print_grid(values_grid(found[name]))
