"""`tailcast explain`: what a field of a spec means, its unit, default, source and range."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption
from traces.errors import InputError


def command(
    asked: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STORE] [PATH]",
            help="Name of a store, for its fields only; path of a field such as hosts.cpu.GET, or its end. Without a "
            "path, the sections of a spec are listed.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="NAME|SPEC.yaml", help="Store, or a spec of it (default: all stores)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a field of a spec: meaning, unit, default and its source, allowed and plausible values.

    Example: tailcast explain minio drives.count
    """
    from cli.present import Answer, Outputs, present
    from cli.tables.spec.explained import explained_lines
    from models.spec.explained import Explained, explained
    from models.spec.field_paths import Form
    from models.store import load_spec, names, spec_class
    from traces.spec.suggestions import did_you_mean

    words = list(asked or ())
    if store is None and words and words[0] in names():
        store = words.pop(0)
    if len(words) > 1:
        raise InputError(f"{' '.join(words)}: one path is needed, after a store ({', '.join(names())}) or not")
    path = words[0] if words else ""
    forms: dict[str, Form] = {}
    if store is None:
        forms = {name: spec_class(name) for name in names()}
    elif store in names():
        forms = {store: spec_class(store)}
    elif store.endswith((".yaml", ".yml")) or Path(store).exists():
        spec = load_spec(Path(store))
        forms = {spec.store: spec}
    else:
        raise InputError(
            f"--store {store}: no such store; allowed are {', '.join(names())}, or a spec{did_you_mean(store, names())}"
        )
    found: list[Explained] = []
    errors: list[str] = []
    for name, form in forms.items():
        try:
            found += explained(name, form, path)
        except InputError as error:
            errors.append(f"{name}: {error}" if len(forms) > 1 else str(error))
    if not found:
        raise InputError("; ".join(errors))

    def shown() -> list[str]:
        lines: list[str] = []
        for number, each in enumerate(found):
            same = number and explained_lines(each)[1:] == explained_lines(found[number - 1])[1:]
            lines += [""] if number else []
            lines += [*explained_lines(each)[:1], "  (the same)"] if same else explained_lines(each)
        return lines

    present(Answer({"fields": found}, shown), Outputs(as_json))
