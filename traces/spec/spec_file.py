"""YAML input: load files, apply overrides, validate into models, and report each mistake in one line."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from traces.errors import InputError
from traces.spec.renamed_fields import present_name, present_path
from traces.spec.suggestions import close_names, instead
from traces.spec.text_file import text_of
from traces.workload.loops import check_group, dropped

Model = TypeVar("Model", bound=BaseModel)


class BareKind:
    """Annotates a union discriminated by ``kind``: a bare name such as ``zipf`` is short for ``{kind: zipf}``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: {"kind": value} if isinstance(value, str) else value, handler(source)
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": "string"}]}


class _Constructor(yaml.constructor.SafeConstructor):
    """Constructs mappings, and rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is given twice", key.start_mark)
                keys.add(key.value)
        return super().construct_mapping(node, deep)


class _Loader(_Constructor, yaml.SafeLoader):
    """The loader whose messages say what is wrong."""


class _FastLoader(_Constructor, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same with the parser of libyaml, if PyYAML has it: ten times as fast."""


for _loader in (_Loader, _FastLoader):  # 1e6 is a number
    _loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
    )


_KINDS = {list: "a list", str: "a text", int: "a number", float: "a number"}


def load_mapping(path: Path) -> dict[str, Any]:
    """Load a YAML file that contains a mapping.

    Raises:
        InputError: the file is missing, is invalid YAML (the message names the line) or contains something else.
    """
    data = parsed_yaml(text_of(path), str(path))
    if not isinstance(data, dict):
        content = "is empty" if data is None else f"contains {_KINDS.get(type(data), 'one value')}"
        raise InputError(f"{path}: {content}; a mapping of fields is needed")
    return data


def parsed_yaml(text: str, source: str) -> Any:
    """Return the content of a YAML document; None: it is empty.

    Raises:
        InputError: it is broken, nested too deep, or its aliases stand for very many values.
    """
    try:
        return _loaded(text, source, _FastLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    try:
        return _loaded(text, source, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise InputError(f"{source}: {line}broken YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a scalar such as the date 2024-13-01
        raise InputError(f"{source}: broken YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise InputError(f"{source}: broken YAML: nested too deep") from error


def _loaded(text: str, source: str, kind: type[Any]) -> Any:
    """Load the only document of a text; None: there is none."""
    loader = kind(text)
    try:
        node = loader.get_single_node()
        if _expanded(node, {}) > _MOST_VALUES:
            raise InputError(f"{source}: its aliases stand for more than {_MOST_VALUES:,} values, or for themselves")
        _refuse_joined(node, source)
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


_MOST_VALUES = 1_000_000


def _expanded(node: yaml.Node | None, known: dict[int, float]) -> float:
    """Return the number of values of a node with its aliases written out; infinite if it contains itself."""
    if node is None or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf  # while it is counted
        within = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
        known[id(node)] = 1 + sum(_expanded(part, known) for part in within)
    return known[id(node)]


_JOINED = re.compile(r"([A-Za-z_]\w*):(\S+)")


def _refuse_joined(node: yaml.Node | None, source: str) -> None:
    """Refuse ``{GET:70}``, which in YAML is a name without a value.

    Raises:
        InputError: a space is missing after a colon.
    """
    if isinstance(node, yaml.SequenceNode):
        for part in node.value:
            _refuse_joined(part, source)
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        joined = _JOINED.fullmatch(key.value) if isinstance(key, yaml.ScalarNode) and not key.style else None
        if joined and isinstance(value, yaml.ScalarNode) and not value.value:
            line = key.start_mark.line + 1
            raise InputError(f"{source}: line {line}: {key.value}: a space is missing; write {joined[1]}: {joined[2]}")
        _refuse_joined(value, source)


def override(data: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Return a copy of `data` with each ``path.to.value=VALUE`` applied in order; VALUE is read as YAML.

    Missing mappings along the path are created; a list element is addressed by its index. A rate makes a workload an
    open loop, and clients make it a closed one, without the fields of the other (`traces.workload.loops`).

    Raises:
        InputError: no ``=``, an empty path component, a path through a value that has no fields, or invalid YAML.
    """
    result: dict[str, Any] = copy.deepcopy(dict(data))
    assigned = {assignment.partition("=")[0].strip() for assignment in assignments}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        parts = path.strip().split(".")
        if not equals or not all(parts):
            raise InputError(f"{assignment}: write it like workload.clients=8")
        check_group(parts, result)
        value = parsed_yaml(text, path)
        section = _put(result, parts, value)
        for name in dropped(".".join(parts), value, section, assigned):
            del section[name]
    return result


def replaced(data: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `data` with new values at dotted paths, addressed as in `override`.

    Raises:
        InputError: a path leads through a value that has no fields.
    """
    result: dict[str, Any] = copy.deepcopy(dict(data))
    for path, value in values.items():
        _put(result, path.split("."), copy.deepcopy(value))  # a later path may lead into it
    return result


def _put(place: Any, parts: Sequence[str], value: Any) -> Any:
    """Set a value, and return the mapping or list that has it."""
    for depth, part in enumerate(parts[:-1], start=1):
        at = _place(place, part, parts[: depth - 1])
        if isinstance(place, dict):
            if place.get(at) is None:
                place[at] = {}
            elif at == _CORES and _is_number(place[at]):
                place[at] = {"count": place[at]}
        place = place[at]
    at = _place(place, parts[-1], parts[:-1])
    if at == _CORES and isinstance(place, dict) and isinstance(place.get(at), dict) and _is_number(value):
        place[at]["count"] = value
    else:
        place[at] = value
    return place


_CORES = "cores"
"""A section of which a bare number is the count: it replaces only that."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place(container: Any, part: str, path: Sequence[str]) -> str | int:
    where = ".".join(path)
    if isinstance(container, dict):
        return part
    if isinstance(container, list):
        if part.isdecimal() and int(part) < len(container):
            return int(part)
        raise InputError(f"{where}.{part}: {where} is a list; allowed are the indices 0 to {len(container) - 1}")
    raise InputError(f"{where}.{part}: {where} is {container!r} and has no fields; set {where} as a whole")


def validated(model: type[Model], data: Any, source: str, at: str = "", named: str = "") -> Model:
    """Validate `data` as a model.

    Args:
        model: the model class.
        data: nested mappings, as returned by `load_mapping`.
        source: name of the input for error messages, usually the file name.
        at: the dotted path of `data` within the source.
        named: what messages call the whole, such as ``a minio spec``; empty: nothing.

    Raises:
        InputError: all errors, each as ``source: path.of.the.field: what is wrong; what is allowed``.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = [_Located.of(details, data) for details in error.errors(include_url=False)]
        messages = dict.fromkeys(
            ": ".join(filter(None, [source, ".".join(filter(None, [at, *one.path])), _reason(one.error, model, named)]))
            for one in _without_consequences(_of_best_members(found), model)
        )
        raise InputError(*messages) from error


@dataclass(frozen=True)
class _Located:
    """An error with its place in the file.

    Attributes:
        path: its location as it appears in the file, without the union members that pydantic inserts.
        members: the union members in its location, each with the length of the path before it.
    """

    error: ErrorDetails
    path: tuple[str, ...]
    members: tuple[tuple[int, str], ...]

    @staticmethod
    def of(error: ErrorDetails, data: Any) -> _Located:
        path: list[str] = []
        members: list[tuple[int, str]] = []
        for i, part in enumerate(error["loc"]):
            if isinstance(data, list):
                data = dict(enumerate(data))
            elif isinstance(data, str):
                data = {"kind": data}  # a bare kind
            if isinstance(data, dict) and part in data:
                path.append(str(part))
                data = data[part]
            elif i == len(error["loc"]) - 1 and error["type"] == "missing":
                path.append(str(part))
            else:
                members.append((len(path), str(part)))
        return _Located(error, tuple(path), tuple(members))


def _of_best_members(found: list[_Located]) -> list[_Located]:
    """Keep, of the errors of a union's members, those of the member that fits best: with the deepest error.

    Otherwise a mistake would be reported once for each type that the field may have.
    """
    for level in range(max((len(one.members) for one in found), default=0)):
        unions: dict[Any, dict[str, list[_Located]]] = {}
        for one in found:
            if len(one.members) > level:
                depth, member = one.members[level]
                unions.setdefault((one.path[:depth], one.members[:level]), {}).setdefault(member, []).append(one)
        for of_members in unions.values():
            best = max(of_members.values(), key=lambda errors: (max(len(e.path) for e in errors), -len(errors)))
            refused = [id(one) for errors in of_members.values() if errors is not best for one in errors]
            found = [one for one in found if id(one) not in refused]
    return found


def _without_consequences(found: list[_Located], model: type[BaseModel]) -> list[_Located]:
    """Leave out fields that are missing because they are misspelt, and lists that are too short without wrong items."""
    meant = {(*one.path[:-1], _meant(one.error, model)) for one in found if one.error["type"] == "extra_forbidden"}
    above = {one.path[:depth] for one in found for depth in range(len(one.path))}
    follows = {"missing": meant, "too_short": above}
    return [one for one in found if one.path not in follows.get(one.error["type"], ())]


def _meant(error: ErrorDetails, model: type[BaseModel]) -> str:
    """Return the field that an unknown one stands for; empty if it is not known."""
    location = error["loc"]
    allowed = _allowed_at(model, location[:-1])
    new = present_name([*map(str, location)])
    return new if new in allowed and new is not None else next(iter(close_names(str(location[-1]), allowed, 1)), "")


def _allowed_at(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    return list({name: None for m in models_at(model, location) for name in m.model_fields})


def _exists(model: type[BaseModel], path: Sequence[str]) -> bool:
    return path[-1] in _allowed_at(model, path[:-1])


def _reason(error: ErrorDetails, model: type[BaseModel], named: str = "") -> str:
    location, context = error["loc"], error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            allowed = _allowed_at(model, location[:-1])
            new = present_name([*map(str, location)])
            if new is not None and new in allowed:
                return f"is now called {new}"
            moved = present_path([*map(str, location)])
            if moved is not None and all(_exists(model, each.split(".")) for each in moved.split(" and ")):
                return f"is now {moved}"
            whole = f" of {named}" if named and len(location) == 1 else ""
            return f"unknown field{whole}; {instead(str(location[-1]), allowed)}"
        case "missing":
            return "is missing; it is needed"
        case "union_tag_invalid":
            return f"kind is {context['tag']!r}; {instead(str(context['tag']), _quoted(context['expected_tags']))}"
        case "union_tag_not_found":
            return f"kind is missing; allowed are {', '.join(repr(_kind(m)) for m in models_at(model, location))}"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"is {_short(error['input'])}; a mapping of fields is needed"
        case "list_type" | "tuple_type":
            return f"is {_short(error['input'])}; a list is needed"
        case "literal_error" if isinstance(error["input"], str):
            return f"is {_short(error['input'])}; {instead(error['input'], _quoted(context['expected']))}"
        case "value_error":
            return str(context["error"])
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"is {_short(error['input'])}: {message}"


def _quoted(text: str) -> list[str]:
    """Return the names in quotes in a message of pydantic."""
    return re.findall(r"'([^']*)'", text)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def models_at(model: type[BaseModel], location: Sequence[int | str]) -> list[type[BaseModel]]:
    """Return the models that are possible at a location."""
    candidates = [model]
    for part in location:
        within = [m.model_fields[part].annotation for m in candidates if part in m.model_fields]
        if within:
            candidates = [m for annotation in within for m in _models_in(annotation)]
        else:  # an index, a key, or the name of a union member
            candidates = [m for m in candidates if part in (_kind(m), m.__name__)] or candidates
    return candidates


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for argument in get_args(annotation) for m in _models_in(argument)]


def _kind(model: type[BaseModel]) -> str | None:
    """Return the kind that a member of a union is of; None: it has none."""
    field = model.model_fields.get("kind")
    return None if field is None else next(iter(get_args(field.annotation)), None)
