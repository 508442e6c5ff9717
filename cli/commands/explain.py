"""`tailcast explain`: what a field of a spec means, its unit, default, source and range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption
from traces.errors import InputError

_NAMED = 3  # stores in an error that several have


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
    if len(words) > 1 and store is None and "." not in words[0]:
        raise InputError(
            f"{words[0]}: no such store; allowed are {', '.join(names())}{did_you_mean(words[0], names())}"
        )
    if len(words) > 1:
        raise InputError(f"{' '.join(words)}: one path is allowed")
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
    if path in names() or path.endswith((".yaml", ".yml")):
        what = "a store" if path in names() else "a spec"
        raise InputError(
            f"{path}: {what}, but PATH is that of a field: give `tailcast explain network.latency --store {path}`, or "
            f"`tailcast explain --store {path}` for the sections"
        )
    found: list[Explained] = []
    errors: dict[str, str] = {}
    for name, form in forms.items():
        try:
            found += explained(name, form, path)
        except InputError as error:
            errors[name] = str(error)
    if not found:
        raise InputError(_not_found(path, errors))

    def shown() -> list[str]:
        lines: list[str] = []
        for number, each in enumerate(found):
            same = number and explained_lines(each)[1:] == explained_lines(found[number - 1])[1:]
            lines += [""] if number else []
            lines += [*explained_lines(each)[:1], "  (the same)"] if same else explained_lines(each)
        return lines

    present(Answer({"fields": found}, shown), Outputs(as_json))


def _not_found(path: str, errors: Mapping[str, str]) -> str:
    """Return the message of one store, or of several what most of those say that know part of the path."""
    if len(errors) == 1:
        return next(iter(errors.values()))
    telling = Counter(error for error in errors.values() if error != f"{path}: no such field")
    if not telling:
        return f"{path}: no store has such a field; `tailcast explain --store NAME` lists the sections of one"
    message, count = telling.most_common(1)[0]
    stores = [name for name, error in errors.items() if error == message]
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    return f"{message} ({', '.join(stores[:_NAMED])}{more})"
