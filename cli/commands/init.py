"""`tailcast init`: a commented spec of a site, from options, its own files, and questions on a terminal."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cli.common import print_lines, say
from cli.options import ForceOption
from cli.outputs import check_file_output
from cli.parse.option import fact_of
from models.site.gathered import contradictions, facts_of, read_files
from models.site.hardware.readers import READERS
from models.site.known import Known, Tree, given, plain, spec_lines, with_ranges
from models.site.reader import Reader, kinds_of
from models.site.setup import Question, Setup, Site
from models.store import names, spec_of, store_named
from traces.errors import InputError
from traces.tables import atomic_file

FilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="File of the site: the output of a command, a configuration or a definition; the kind is recognised; "
        "repeatable (default: none).",
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="Write the spec to this file (default: stdout).")]


class _Commands(Mapping[str, Any]):
    """A subcommand for each store, made when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in names():
            raise KeyError(name)
        return app_of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(name for name in names() if store_named(name).setup is not None)

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Stores(TyperGroup):
    def __init__(self, **attributes: Any):
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # typer only looks commands up


app = typer.Typer(
    cls=_Stores,
    help="Write a commented spec of a store that says where each value is from: options, files, or assumed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Write a commented spec of a store that says where each value is from: options, files, or assumed.

    On a terminal it prompts for what is missing.

    Example: tailcast init minio --hosts 6 --drives 8 --nic 25Gbit/s --drive nvme --size 1MiB --rate 2000/s -o six.yaml
    """


def app_of(store: str) -> Any:
    """Return the subcommand of a store.

    Raises:
        InputError: the store has no setup.
    """
    own = typer.Typer(rich_markup_mode=None, add_completion=False)
    own.command(store, short_help=_short_help(_setup_of(store)))(_command(store))
    return typer.main.get_command(own)


def _read_files(setup: Setup) -> str:
    """Return which files are read: of the store, and of hardware."""
    own = f"of the store {', '.join(kinds_of(setup.readers))}; " if setup.readers else ""
    return f"Files that it reads, as text or JSON: {own}of hosts {', '.join(kinds_of(READERS))}."


def _short_help(setup: Setup) -> str:
    """Return from which files a spec can be written."""
    kinds = kinds_of(setup.readers)
    more = f" and {len(kinds) - 3} more" if len(kinds) > 3 else ""
    return f"From options, {', '.join(kinds[:3])}{more}" if kinds else "From options, and files on hardware"


def _command(store: str) -> Callable[..., None]:
    """Return the function of a store's subcommand, which has an option for each of its questions."""
    setup = _setup_of(store)

    def command(**values: Any) -> None:
        files, out, force = values.pop("files"), values.pop("out"), values.pop("force")
        texts = {name.replace("_", "-"): text for name, text in values.items() if text is not None}
        _init(store, setup, texts, files or [], out, force)

    options = {question.name.replace("-", "_"): _option(question) for question in setup.questions}
    annotations = {"files": FilesOption, **options, "out": OutOption, "force": ForceOption}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=False if name == "force" else None, annotation=annotation
            )
            for name, annotation in annotations.items()
        ]
    )
    command.__annotations__ = annotations
    command.__doc__ = (
        f"Write a commented spec of {store}, in which each value says where it is from.\n\nOn a terminal it prompts "
        f"for what is missing.\n\n{_read_files(setup)}\n\nExample: tailcast init {store} --from FILE -o site.yaml"
    )
    return command


def _setup_of(store: str) -> Setup:
    setup = store_named(store).setup
    if setup is None:
        raise InputError(f"store {store}: its model does not say how a spec of it is written")
    return setup


def _option(question: Question) -> Any:
    if question.default is not None:
        default = f" (default: {_text(question.default)}, assumed)"
    elif question.required:
        default = f" (needed{', without --' + ' and --'.join(question.unless) if question.unless else ''})"
    else:
        default = "" if "(default" in question.text else " (default: derived)"
    option = typer.Option(
        f"--{question.name}", metavar=question.kind.form, help=f"{question.text}{default}.", show_default=False
    )
    return Annotated[str | None, option]


def _text(value: Any) -> str:
    return ",".join(f"{name}={each}" for name, each in value.items()) if isinstance(value, Mapping) else str(value)


def _init(store: str, setup: Setup, texts: Mapping[str, str], files: list[Path], out: Path | None, force: bool) -> None:
    check_file_output(out, force)
    questions = {question.name: question for question in setup.questions}
    options = {name: given(fact_of(f"--{name}", text, questions[name].kind)) for name, text in texts.items()}
    read = read_files(files, (*setup.readers, *READERS), lambda: _readers_of_others(store))
    facts = {**facts_of(read), **options}
    for each in read:
        say(f"{each.name} is {each.kind}: {', '.join(each.found.facts) or 'nothing that the spec needs'}")
    notes = [note for each in read for note in each.found.notes]
    notes += contradictions(read, {name: known.value for name, known in options.items()})
    for note in notes:
        say(f"note: {note}")
    if missing := setup.missing(facts):
        facts |= _asked(store, setup, facts, missing)
    write_spec(store, setup.draft(Site(setup.questions, facts)), notes, out)


def _readers_of_others(store: str) -> Iterator[tuple[str, Sequence[Reader]]]:
    """Yield the names of the other stores, with the readers of their files."""
    for name in names():
        if name != store and (setup := store_named(name).setup) is not None:
            yield name, setup.readers


def write_spec(store: str, sections: Tree, notes: list[str], out: Path | None) -> None:
    """Check the sections of a spec, and write it to a file, or stdout, with the origins of its values.

    Raises:
        InputError: the spec is not valid, or the file cannot be written.
    """
    tree = with_ranges({"store": Known(store, "given"), **sections})
    spec = spec_of(plain(tree), "the new spec")
    ops = spec.workload.ops
    lines = [*_opening(store, notes), *spec_lines(tree), *_questions(out, ops[0])]
    if out is None:
        print_lines(lines)
        return
    with atomic_file(out) as temporary:
        temporary.write_text("\n".join([*lines, ""]))
    say(f"Spec written to {out}; it ends with the commands that answer the usual questions")


def _asked(store: str, setup: Setup, facts: Mapping[str, Known], missing: list[Question]) -> dict[str, Known]:
    """Return what the user answers to the questions that nothing has answered, on a terminal.

    Raises:
        InputError: stdin is no terminal, or ends.
    """
    if not sys.stdin.isatty():
        options = ", ".join(f"--{question.name}" for question in missing)
        raise InputError(f"init {store}: needs {options}; give them, or run it on a terminal, which prompts for them")
    found: dict[str, Known] = {}
    for question in setup.questions:
        known = {*facts, *found}
        if question.name in known or question.optional or known & {*question.unless}:
            continue
        if (answer := _answer(question)) is not None:
            found[question.name] = answer
    return found


def _answer(question: Question) -> Known | None:
    """Return a user's answer to a question; None: the default."""
    offered = "" if question.default is None else f" [{_text(question.default)}]"
    while True:
        print(f"{question.text}{offered}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise InputError(f"stdin ended before the question '{question.text}' was answered; nothing is written")
        if not line.strip() and question.default is not None:
            return None
        try:
            return given(question.kind.parse(line.strip()))
        except ValueError as error:
            say(f"{error}")


def _opening(store: str, notes: list[str]) -> Iterator[str]:
    yield f"# A spec of {store}, written by `tailcast init`. After each value is where it is from: given, a file of the"
    yield "# site, a data sheet, derived from others, or assumed. Correct what is assumed first."
    yield from (f"# Note: {note}" for note in notes)


def _questions(out: Path | None, op: str) -> Iterator[str]:
    """Yield the commands that answer the usual questions."""
    file = "SPEC.yaml" if out is None else shlex.quote(str(out))
    slo = f"--slo '{op}.p99<50ms'"
    yield ""
    yield "# What is my p99, and what limits it?"
    yield f"#   tailcast simulate {file}"
    yield "# How much does it take, what if a host or a drive fails, and what would help?"
    yield f"#   tailcast answer {file} {slo}"
    yield "# Which assumed values matter?"
    yield f"#   tailcast sensitivity {file} --assumed"
