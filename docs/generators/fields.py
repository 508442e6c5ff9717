"""Pages of the reference of fields: every field of every store, from the models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from cli.quantities import quantity
from docs.generators.markdown import code, table
from models.spec.explained import Explained, explained
from models.spec.field_paths import paths_of
from models.store import MODULES, spec_class
from traces.operations import OPS

FOLDER = "reference/fields"
OPERATION = "OP"
"""Stands for the name of an operation in a path."""

Fields = dict[str, tuple[Explained, ...]]
"""Descriptions by path, with `OPERATION` for any operation; several if kinds of a section differ."""


def general_path(path: str) -> str:
    """Return a path with `OPERATION` in place of an operation's name."""
    return ".".join(OPERATION if part in OPS else part for part in path.split("."))


def field_pages() -> dict[str, str]:
    """Return the pages by path: an index, the fields that all stores have in common, and one page for each store."""
    stores = {name: _fields_of(name) for name in MODULES}
    first, *others = stores.values()
    common = {path: each for path, each in first.items() if all(_same(other.get(path), each) for other in others)}
    own = {name: {path: each for path, each in fields.items() if path not in common} for name, fields in stores.items()}
    return {
        f"{FOLDER}/index.md": _index({name: len(fields) for name, fields in own.items()}, len(common)),
        f"{FOLDER}/common.md": _page("Fields of all stores", common),
        **{f"{FOLDER}/{name}.md": _page(f"Fields of {name}", fields) for name, fields in own.items()},
    }


def _fields_of(store: str) -> Fields:
    model = spec_class(store)
    fields: Fields = {}
    for path in paths_of(model):
        general = general_path(path)
        if general not in fields:
            fields[general] = tuple(replace(each, store="") for each in explained(store, model, path))
    return fields


def _same(some: Iterable[Explained] | None, others: Iterable[Explained]) -> bool:
    """Return whether two fields have the same descriptions, whatever operation stands for all."""
    return some is not None and [replace(each, path="") for each in some] == [replace(each, path="") for each in others]


def _index(own: dict[str, int], common: int) -> str:
    rows = [["[all stores](common.md)", str(common)], *([f"[{name}]({name}.md)", str(n)] for name, n in own.items())]
    return (
        "# All fields\n\n"
        "Each field of a spec with its type, unit, default, limits, range in real stores, and source.\n"
        "`tailcast explain PATH --store NAME` prints one of them. "
        "A thing has one name in the specs of all stores; a former name is refused with the present one. "
        "A *drive* is a piece of hardware of a host, and is counted; "
        "a *device* of a Ceph spec is what a drive can do.\n\n"
        f"In paths, `{OPERATION}` stands for any operation, such as `GET`. "
        "A store below another one has its own fields, with `below.` before them.\n\n"
        + table(["fields of", "number"], rows)
    )


def _page(title: str, fields: Fields) -> str:
    parts = [f"# {title}\n"]
    sections: dict[str, list[Explained]] = defaultdict(list)
    for section, paths in groupby(fields, key=lambda path: path.partition(".")[0]):
        sections[section] += [replace(each, path=path) for path in paths for each in fields[path]]
    for section, each in sections.items():
        parts += [
            f"## {section}\n",
            table(["field", "type and unit", "default", "allowed; plausible", "meaning"], map(_row, each)),
        ]
    return "\n".join(parts)


def _row(field: Explained) -> list[str]:
    kind = f" ({' or '.join(field.kinds)})" if field.kinds else ""
    default = "required" if field.is_required else "" if field.default == {} else quantity(field.default, field.unit)
    source = f"{field.meaning} Source of the default: {field.source}." if field.source else field.meaning
    presets = f" Presets: {', '.join(field.presets)}." if field.presets else ""
    of_type = f"{field.type}; bare: {field.unit}" if field.unit else field.type
    limits = "; ".join(filter(None, [field.allowed, _range(field)]))
    return [code(field.path) + kind, of_type, default, limits, source + presets]


def _range(field: Explained) -> str:
    ends = [quantity(end, field.unit) for end in (field.low, field.high) if end is not None]
    if len(ends) == 1:
        return f"at most {ends[0]}" if field.low is None else f"at least {ends[0]}"
    return " to ".join(ends)
