"""`tailcast presets`: the presets that specs may name, with their figures and sources."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import JsonOption
from traces.errors import InputError


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Preset to describe in full (default: list all).")
    ] = None,
    prices: Annotated[
        bool, typer.Option("--prices", help="Print the catalogue of prices instead, with sources.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the presets of hosts and drives that specs may name.

    Example: tailcast presets
    """
    from cli.present import Answer, Outputs, present
    from cli.tables.spec.presets import preset_grids, preset_lines, values_grid
    from cli.tables.spec.prices import catalogue_grid
    from models.basis.preset_list import all_presets
    from models.catalogue.entries import SHIPPED, Catalogue, completed
    from traces.spec.suggestions import did_you_mean

    if prices:
        if name is not None:
            raise InputError(f"{name}: prices are printed of all parts; leave the name out")
        catalogue = Catalogue.model_validate(completed(SHIPPED))
        present(Answer(catalogue.model_dump(), lambda: [catalogue_grid(catalogue)]), Outputs(as_json))
        return
    found = {preset.name: preset for preset in all_presets()}
    if name is not None and name not in found:
        raise InputError(f"{name}: no such preset; allowed are {', '.join(found)}{did_you_mean(name, found)}")
    if name is None:
        answer = Answer({"presets": list(found.values())}, lambda: preset_grids(list(found.values())))
    else:
        one = found[name]
        answer = Answer(one, lambda: [*preset_lines(one), values_grid(one)])
    present(answer, Outputs(as_json))
