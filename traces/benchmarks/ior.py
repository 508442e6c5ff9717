"""Convert commands and scripts of IOR to workloads of a file system: writing and reading are a part each.

Source of options, defaults and scripts: hpc/ior, ``doc/sphinx/userDoc/options.rst`` and ``src/parse_options.c``. A task
moves segments of blocks, in transfers; without a file for each task, all of them share one file.
"""

from __future__ import annotations

import re
from typing import Any

from traces.benchmarks.command_line import Command, command_of, size_of
from traces.benchmarks.converted import Converted, chosen, others, whole
from traces.errors import InputError

PROGRAMS = ("ior", "IOR")
_WITH_VALUE = "aAbdDfGijJlLMNoOqQsStTUX"
_WITHOUT_EFFECT = "abeFkNorsStTvVwzDgGEi"
_NOTES = {
    "B": "direct access (O_DIRECT)",
    "c": "collective access",
    "C": "the order of tasks for reading: each reads what another one has written",
    "d": "the delay between repetitions",
    "m": "a file for each repetition",
    "M": "memory that is occupied on each client",
    "Q": "the offset of the order of tasks for reading",
    "R": "the check of the data that is read",
    "W": "the check of the data that was written, which reads them",
    "x": "the single attempt of each transfer",
    "X": "the seed of the random order of tasks",
    "Y": "the FSYNC after each WRITE",
    "Z": "the random order of tasks for reading",
}  # fmt: skip
_SCRIPT = re.compile(r"(?im)^\s*ior start\s*$")
_LETTERS = {
    "api": "a", "blocksize": "b", "transfersize": "t", "segmentcount": "s", "numtasks": "N", "repetitions": "i",
    "fileperproc": "F", "writefile": "w", "readfile": "r", "fsync": "e", "randomoffset": "z", "keepfile": "k",
    "testfile": "o", "deadlineforstonewalling": "D", "maxtimeduration": "T", "reordertasksconstant": "C",
    "intratestbarriers": "g", "useo_direct": "B", "checkwrite": "W", "checkread": "R", "verbose": "v",
    "useexistingtestfile": "E", "fsyncperwrite": "Y", "collective": "c", "intertestdelay": "d", "multifile": "m",
}  # fmt: skip
_MARKS = "FwrezkCgBWRvEYcm"  # options without a value


def commands(text: str, source: str) -> list[Command]:
    """Return the tests of a script, or the command of IOR in a text; none if there is neither."""
    if _SCRIPT.search(text):
        return _script(text, source)
    found = command_of(text, PROGRAMS, _WITH_VALUE, source)
    return [] if found is None else [found]


def _script(text: str, source: str) -> list[Command]:
    """Return the tests of a script: options stay for later ones."""
    options: dict[str, str] = {}
    unknown: list[str] = []
    tests = []
    begun = False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if line.lower() in ("ior start", "ior stop", ""):
            begun = begun or line.lower() == "ior start"
        elif line.lower() == "run":
            tests.append(Command(dict(options), None, tuple(unknown)))
        elif begun:
            name, sign, value = (piece.strip() for piece in line.partition("="))
            if not sign:
                raise InputError(f"{source}: line {number}: {line!r:.40}: write OPTION=VALUE, RUN or IOR STOP")
            letter = _LETTERS.get(name.lower())
            if letter is None:
                unknown.append(f"--{name}")
            elif letter in _MARKS and value == "0":
                options.pop(letter, None)
            else:
                options[letter] = "" if letter in _MARKS else value
    if not tests:
        raise InputError(f"{source}: the script has no RUN")
    return tests


def convert(tests: list[Command], source: str, part: str | None = None) -> Converted:
    """Convert the writing or the reading of one test.

    Raises:
        InputError: there is no such part, or an option is invalid.
    """
    parts = [
        (f"{phase}-{i + 1}" if i else phase, phase, test)
        for i, test in enumerate(tests)
        for phase, letter in (("write", "w"), ("read", "r"))
        if letter in test.options or not {"w", "r"} & set(test.options)
    ]
    names = [name for name, _, _ in parts]
    taken = chosen(names, part, source)
    _, phase, test = parts[taken]
    notes = _notes(test)
    return Converted("IOR", names[taken], tuple(names), _fields(test, phase, source, notes), (
        *notes, *others(names, taken),
    ))  # fmt: skip


def _fields(test: Command, phase: str, source: str, notes: list[str]) -> dict[str, Any]:
    options = test.options
    tasks = whole(options.get("N", test.tasks or 1), f"{source}: -N")
    block, transfer = (size_of(options.get(at, of), f"{source}: -{at}") for at, of in (("b", "1m"), ("t", "256k")))
    segments = whole(options.get("s", 1), f"{source}: -s")
    if not 0 < transfer <= block or block % transfer:
        raise InputError(f"{source}: -b is {block}; a multiple of -t, {transfer}, is needed")
    each = block * segments
    transfers = each // transfer
    own = "F" in options
    mix = {"WRITE": float(transfers)} if phase == "write" else {"READ": float(transfers)}
    if phase == "write" and "e" in options:
        mix["FSYNC"] = 1.0
    if not own and tasks > 1:
        notes.append("which part of the shared file each task moves: the order is that of all tasks")
    fields: dict[str, Any] = {
        "clients": tasks,
        "operations": int(sum(mix.values())) * tasks,
        "object_size": each if own else each * tasks,
        "mix": mix,
        "keys": {"kind": "sequential", "count": tasks if own else 1},
        "ranges": {"size": transfer, "order": "random" if "z" in options else "sequential"},
    }
    if "D" in options and (limit := whole(options["D"], f"{source}: -D", least=0)):
        fields["duration"] = float(limit)
    return fields


def _notes(test: Command) -> list[str]:
    options = test.options
    notes = [what for letter, what in _NOTES.items() if letter in options]
    notes += [f"the option -{letter}" for letter in options if letter not in _NOTES and letter not in _WITHOUT_EFFECT]
    notes += [f"the option {word.lstrip('-')}" for word in test.others if word.startswith("--")]
    notes.append("the OPEN (or CREATE) and the CLOSE of each task")
    if options.get("i", "1") != "1":
        notes.append(f"{options['i']} repetitions; the workload is one")
    if "N" not in options and test.tasks is None:
        notes.append("the number of tasks, which neither -N nor mpirun or srun gives: it is 1")
    if options.get("a", "POSIX") != "POSIX":
        notes.append(f"the interface {options['a']}: the workload has operations of POSIX")
    return notes
