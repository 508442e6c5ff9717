"""Nothing is in the packages that only tests use, and folders stay small enough to be read."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.test_imports import ORDER

PROGRAMS = ("benchmarks", "tailcast")
"""Folders whose code uses the packages, besides the packages themselves."""

FOUND_BY_NAME = re.compile(r"cli\.commands\.\w+|models\.\w+\.store|tailcast\.__main__")
"""Modules that are imported by a name that is computed: commands and stores, and what `python -m` runs."""

FOR_USERS = {
    "models.layer.LayerSpec": "the spec of a store that stands on another one (docs/architecture.md)",
    "models.layer.Below": "the store below, which such a store's compiler extends",
    "models.layer.compile_below": "compiles the store below",
}
"""Names that are used outside of the repository, and why; of a class, with its methods."""

MOST_FILES = 16
LISTS = {"cli/commands": "one file for each subcommand"}
"""Folders that may have more files than `MOST_FILES`, each of them of the same kind."""

MOST_UNTYPED = 115
"""Greatest number of ``dict[str, Any]`` in code that neither parses nor formats text; to be lowered, never raised."""

PARSERS = ("traces/", "cli/parse/")


def module_of(path: Path) -> str:
    """Return the dotted name of a module; a package's is its folder's."""
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


SOURCES = {module_of(path): path for folder in (*ORDER, *PROGRAMS) for path in sorted((ROOT / folder).rglob("*.py"))}
BUILD = "".join((ROOT / name).read_text() for name in ("setup.py", "Makefile"))


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module, parsed by the worker that needs it: all workers collect this file."""
    return {name: ast.parse(path.read_text()) for name, path in SOURCES.items()}


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """Return all nodes of each module's tree."""
    return {name: list(ast.walk(tree)) for name, tree in trees().items()}


def imports(of_module: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each import as module and name; the name of a whole module is empty."""
    for node in of_module:
        if isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


@cache
def all_imports() -> set[tuple[str, str]]:
    """Return what any module imports."""
    return {each for of_module in nodes().values() for each in imports(of_module)}


def attributes(within: Iterable[ast.AST]) -> Counter[str]:
    """Count the names after a dot, of keywords, and in texts that are a name, as for `getattr` and `__all__`."""
    found: Counter[str] = Counter()
    for each in within:
        if isinstance(each, ast.Attribute):
            found[each.attr] += 1
        elif isinstance(each, ast.keyword) and each.arg:
            found[each.arg] += 1
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
            found[each.value] += 1
    return found


@cache
def all_attributes() -> Counter[str]:
    """Count the attributes of all modules."""
    return attributes(node for of_module in nodes().values() for node in of_module)


@cache
def classes() -> set[str]:
    """Return the names of all classes."""
    return {node.name for of_module in nodes().values() for node in of_module if isinstance(node, ast.ClassDef)}


def names(node: ast.AST) -> set[str]:
    """Return the names in a statement, also those in annotations that are texts."""
    within = list(ast.walk(node))
    texts = (each.value for each in within if isinstance(each, ast.Constant) and isinstance(each.value, str))
    quoted = {word for text in texts if len(text) < 100 for word in re.findall(r"[A-Za-z_]\w*", text)}
    return {each.id for each in within if isinstance(each, ast.Name)} | quoted


def defined(statement: ast.stmt) -> str | None:
    """Return the name that a statement of a module or class defines; None: none, or one that Python gives a meaning."""
    name = getattr(statement, "name", None)
    if isinstance(statement, ast.For):
        return None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    if isinstance(target, ast.Name):
        name = target.id
    return name if isinstance(name, str) and not name.startswith("__") else None


def names_of(module: str) -> set[str]:
    """Return the names that a module defines or imports."""
    within = nodes()[module]
    of_targets = {each.id for each in within if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return of_targets | {str(defined(each)) for each in trees()[module].body} | {name for _, name in imports(within)}


def unused_names(module: str) -> Iterator[str]:
    """Yield the functions, classes and constants of a module that nothing in the packages and programs uses."""
    body = trees()[module].body
    used = [names(statement) for statement in body]
    for number, statement in enumerate(body):
        name = defined(statement)
        if name is None or (getattr(statement, "decorator_list", None) and not isinstance(statement, ast.ClassDef)):
            continue
        if (
            not any(name in each for other, each in enumerate(used) if other != number)
            and (module, name) not in all_imports()
            and all_attributes()[name] <= attributes(ast.walk(statement))[name]
            and not re.search(rf"\b{name}\b", BUILD)
            and f"{module}.{name}" not in FOR_USERS
        ):
            yield f"{module}.{name}"


def unused_methods(module: str) -> Iterator[str]:
    """Yield the methods of classes without a foreign base that nothing calls; those of a framework have a decorator."""
    for node in (each for each in nodes()[module] if isinstance(each, ast.ClassDef)):
        if f"{module}.{node.name}" in FOR_USERS or any(
            ast.unparse(base).split("[")[0] not in classes() for base in node.bases
        ):
            continue
        for statement in node.body:
            if not isinstance(statement, ast.FunctionDef) or statement.name.startswith("__"):
                continue
            decorators = {ast.unparse(each).split("(")[0] for each in statement.decorator_list}
            is_called = all_attributes()[statement.name] > attributes(ast.walk(statement))[statement.name]
            if not is_called and decorators <= {"property", "cached_property", "staticmethod", "classmethod"}:
                yield f"{module}.{node.name}.{statement.name}"


def test_every_module_is_imported() -> None:
    imported = {name for pair in all_imports() for name in (pair[0], ".".join(pair))}
    packages = {path.parent for path in SOURCES.values() if path.name == "__init__.py"}
    files = {name for name, path in SOURCES.items() if path.parent in packages and path.name != "__init__.py"}
    for_users = {name.rpartition(".")[0] for name in FOR_USERS}
    unused = {name for name in files - imported - for_users if not FOUND_BY_NAME.fullmatch(name) and name not in BUILD}
    assert not unused


def test_programs_import_what_exists() -> None:
    paths = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "examples").rglob("*.py"), ROOT / "setup.py"]
    defined_in = {name: names_of(name) for name in trees()}
    for path in paths:
        for module, name in imports(ast.walk(ast.parse(path.read_text()))):
            if module.split(".")[0] in ORDER:
                exists = module in trees() and (name in defined_in[module] or f"{module}.{name}" in trees() or not name)
                assert exists, f"{path.relative_to(ROOT)}: {module}.{name}"


@pytest.mark.parametrize("package", ORDER)
def test_nothing_is_used_by_tests_only(package: str) -> None:
    mine = [module for module in trees() if module.split(".")[0] == package]
    found = [name for module in mine for name in (*unused_names(module), *unused_methods(module))]
    assert mine and not found, found


def test_exceptions_exist() -> None:
    for name in FOR_USERS:
        module, _, of_module = name.rpartition(".")
        assert of_module in {defined(statement) for statement in trees()[module].body}, name
    for folder in LISTS:
        assert len(list((ROOT / folder).glob("*.py"))) > MOST_FILES, folder


def test_folders_are_small() -> None:
    modules = [path for name, path in SOURCES.items() if name.split(".")[0] in ORDER and path.name != "__init__.py"]
    counts = Counter(path.parent for path in modules)
    large = {folder.relative_to(ROOT).as_posix(): count for folder, count in counts.items() if count > MOST_FILES}
    assert not large.keys() - LISTS.keys(), large


def test_most_data_have_types() -> None:
    untyped = Counter(
        {
            path.relative_to(ROOT).as_posix(): len(re.findall(r"\bdict\[str, Any\]", path.read_text()))
            for module, path in SOURCES.items()
            if module.split(".")[0] in ORDER
        }
    )
    counted = {file: count for file, count in untyped.items() if not file.startswith(PARSERS)}
    assert sum(counted.values()) <= MOST_UNTYPED, sorted(counted.items(), key=lambda each: -each[1])[:10]
