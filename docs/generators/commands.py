"""Pages of the reference of commands, from their help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from cli.main import GROUPS, SUMMARIES, app
from docs.generators.markdown import code, table

FOLDER = "reference/commands"


def command_pages() -> dict[str, str]:
    """Return the pages by path: a list of all commands, and one for each."""
    root = typer.main.get_command(app)
    context = typer.Context(root)
    pages = {f"{FOLDER}/index.md": _index()}
    for name in SUMMARIES:
        sections = _sections(f"tailcast {name}", root.get_command(context, name), "#")  # type: ignore[attr-defined]
        pages[f"{FOLDER}/{name}.md"] = "\n".join(sections)
    return pages


def _index() -> str:
    parts = ["# All commands\n"]
    for title, commands in GROUPS.items():
        rows = [[f"[{name}]({name}.md)", summary] for name, summary in commands.items()]
        parts += [f"## {title}\n", table(["command", "what it does"], rows)]
    parts.append(
        "`tailcast COMMAND --help` prints the same. [Commands in an order in which they run](../../commands.md).\n"
    )
    return "\n".join(parts)


def _sections(name: str, command: Any, mark: str) -> Iterator[str]:
    """Yield the sections of a command and of its subcommands."""
    context = typer.Context(command, info_name=name)
    yield f"{mark} {name}\n"
    paragraphs = (command.help or "").split("\n\n")
    for paragraph in paragraphs:
        text = " ".join(paragraph.split())
        example = text.removeprefix("Example: ")
        yield f"```sh\n{example}\n```\n" if text.startswith("Example: ") else f"{text}\n"
    yield f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    records = [(each, record) for each in command.get_params(context) if (record := each.get_help_record(context))]
    for title, kind in (("argument", "argument"), ("option", "option")):
        rows = [[code(record[0]), record[1]] for each, record in records if each.param_type_name == kind]
        if rows:
            yield table([title, "meaning"], rows)
    if hasattr(command, "list_commands"):
        for child in command.list_commands(context):
            yield from _sections(f"{name} {child}", command.get_command(context, child), f"{mark}#")
