"""Command lines of benchmarks in a file, such as a script: programs with options of one letter (getopt)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from traces.errors import InputError

_TASKS = ("-np", "-n", "-c", "--np", "--ntasks")  # of mpirun, mpiexec and srun


@dataclass(frozen=True)
class Command:
    """A command of a benchmark.

    Attributes:
        options: values by letter; those without a value are empty.
        tasks: number of processes that mpirun or srun starts; None: it is not given.
        others: options that are not of one letter, and arguments.
    """

    options: dict[str, str]
    tasks: int | None
    others: tuple[str, ...] = ()


def command_of(text: str, programs: tuple[str, ...], with_value: str, source: str) -> Command | None:
    """Return the command of one of some programs in a text; None if there is none.

    Args:
        text: of the file: lines, of which those that end with a backslash go on.
        programs: their names.
        with_value: letters of options that have a value; others have none.
        source: name of the file.

    Raises:
        InputError: there are several such commands, or one cannot be divided into words.
    """
    found: list[tuple[list[str], int]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if not re.search("|".join(programs), line) or line.lstrip().startswith("#"):
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError(f"{source}: {line.strip()!r:.60} is not a command: {error}") from error
        place = next((i for i, word in enumerate(words) if word.rpartition("/")[2] in programs), None)
        if place is not None:
            found.append((words, place))
    if not found:
        return None
    if len(found) > 1:
        raise InputError(f"{source}: has {len(found)} commands of {programs[0]}; leave one of them")
    words, place = found[0]
    return _parsed(words[place + 1 :], with_value, _tasks(words[:place], source), source)


def _tasks(words: list[str], source: str) -> int | None:
    for i, word in enumerate(words):
        name, sign, value = word.partition("=")
        if name in _TASKS:
            value = value if sign else words[i + 1] if i + 1 < len(words) else ""
            if not value.isdigit() or int(value) < 1:
                raise InputError(f"{source}: {word}: is {value!r}; a number of processes of at least 1 is needed")
            return int(value)
    return None


def _parsed(words: list[str], with_value: str, tasks: int | None, source: str) -> Command:
    options, others, i = dict[str, str](), [], 0
    while i < len(words):
        word, i = words[i], i + 1
        if word in ("|", ">", ">>", "&", "&&", ";", "2>&1"):
            break
        if not word.startswith("-") or word.startswith("--"):
            others.append(word)
            continue
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter not in with_value:
                options[letter] = ""
                continue
            if not letters and i >= len(words):
                raise InputError(f"{source}: -{letter} has no value")
            options[letter] = letters or words[i]
            i += not letters
            break
    return Command(options, tasks, tuple(others))


def size_of(text: str, where: str) -> int:
    """Parse a size of IOR and mdtest: bytes, or with k, m, g or t in powers of 1024.

    Raises:
        InputError: the text is no such size.
    """
    number, unit = (text[:-1], text[-1].lower()) if text[-1:].lower() in ("k", "m", "g", "t") else (text, "")
    if not number.isdigit():
        raise InputError(f"{where}: {text!r} is not a size; write it like 4k or 16m")
    return int(number) * int(1024 ** " kmgt".index(unit or " "))
