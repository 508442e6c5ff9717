"""Convert commands of mdtest to workloads of a file system: each phase is a part.

Source of options and phases: hpc/ior, ``src/mdtest.c``, and the README of LLNL/mdtest. Tasks go through their items
one after the other, so keys are sequential; with ``-R``, STATs are in any order.
"""

from __future__ import annotations

from typing import Any

from traces.benchmarks.command_line import Command, command_of, size_of
from traces.benchmarks.converted import Converted, chosen, others, whole
from traces.errors import InputError

PROGRAMS = ("mdtest",)
_WITH_VALUE = "abdefiIlmnNOpPsVwWxz"
_PHASES = {"C": "create", "T": "stat", "E": "read", "r": "remove"}
_WITHOUT_EFFECT = "adDFCTErbIiLnwezvVRyuBOP"
_NOTES = {
    "B": "phases without barriers: the workload has one phase",
    "c": "collective creation: task 0 creates and removes everything",
    "N": "the stride between tasks, so that each stats what another one has created",
    "S": "shared file access",
    "t": "the time to make the working directories",
    "u": "a working directory for each task",
    "Y": "the sync of the whole file system after each phase",
    "p": "the delay before each iteration",
    "s": "the stride of the number of tasks",
    "f": "the first number of tasks",
    "l": "the last number of tasks",
    "W": "the limit of the time of each phase",
    "x": "the file of the limit of items",
}  # fmt: skip
_OPERATIONS = {"create": ("CREATE", "WRITE", "FSYNC", "CLOSE"), "read": ("OPEN", "READ", "CLOSE")}


def command(text: str, source: str) -> Command | None:
    """Return the command of mdtest in a text; None if there is none."""
    return command_of(text, PROGRAMS, _WITH_VALUE, source)


def convert(given: Command, source: str, part: str | None = None) -> Converted:
    """Convert one phase of a command.

    Raises:
        InputError: there is no such phase, or an option is missing or invalid.
    """
    options = given.options
    parts = _parts(options, source)
    taken = chosen(parts, part, source)
    kind, _, phase = parts[taken].partition("-")
    tasks, notes = given.tasks or 1, _notes(given)
    items = _items(options, source) * tasks
    written, read = (size_of(options.get(letter, "0"), f"{source}: -{letter}") for letter in "we")
    size = max(written, read)
    mix = _mix(kind, phase, options, written if phase == "create" else read)
    if len(mix) > 1:
        notes.append(f"the order of the operations on each file ({', '.join(mix)}): they are drawn by their weights")
    fields: dict[str, Any] = {
        "clients": tasks,
        "operations": items * len(mix),
        "object_size": size if kind == "file" else 0,
        "mix": mix,
        "keys": {"kind": "uniform" if phase == "stat" and "R" in options else "sequential", "count": items},
    }
    if phase == "read" and 0 < read < size:
        fields["ranges"] = {"size": read, "order": "sequential"}
    if whole(options.get("i", 1), f"{source}: -i") > 1:
        notes.append(f"{options['i']} iterations; the workload is one")
    return Converted("mdtest", parts[taken], tuple(parts), fields, (*notes, *others(parts, taken)))


def _parts(options: dict[str, str], source: str) -> list[str]:
    """Return the phases of directories and of files that are to run, in their order."""
    if "D" in options and "F" in options:
        raise InputError(f"{source}: has -D (directories only) and -F (files only); give one of them")
    only = [phase for letter, phase in _PHASES.items() if letter in options]
    phases = only or list(_PHASES.values())
    parts = [f"directory-{phase}" for phase in phases if "F" not in options and phase in ("create", "stat")]
    parts += [f"file-{phase}" for phase in phases if "D" not in options]
    if not parts:
        raise InputError(f"{source}: has only phases without an operation; allowed of directories are create and stat")
    return parts


def _items(options: dict[str, str], source: str) -> int:
    """Return the number of items of a task: those of the tree, or of each of its directories."""
    depth = whole(options.get("z", 0), f"{source}: -z", least=0)
    branches = whole(options.get("b", 1), f"{source}: -b")
    levels = [int(branches**level) for level in range(depth + 1)]
    if "I" in options:
        return whole(options["I"], f"{source}: -I") * (levels[-1] if "L" in options else sum(levels))
    if "n" not in options:
        raise InputError(f"{source}: -n and -I are both missing; give the number of items of each task")
    return whole(options["n"], f"{source}: -n")


def _mix(kind: str, phase: str, options: dict[str, str], moved: int) -> dict[str, float]:
    if kind == "directory":
        return {"MKDIR": 1.0} if phase == "create" else {"STAT": 1.0}
    if phase in ("stat", "remove"):
        return {"STAT" if phase == "stat" else "UNLINK": 1.0}
    left_out = {"READ", "WRITE"} if not moved else set()
    left_out |= set() if "y" in options and moved else {"FSYNC"}
    return {op: 1.0 for op in _OPERATIONS[phase] if op not in left_out}


def _notes(given: Command) -> list[str]:
    options = given.options
    notes = [what for letter, what in _NOTES.items() if letter in options]
    notes += [f"the option -{letter}" for letter in options if letter not in _NOTES and letter not in _WITHOUT_EFFECT]
    notes += [f"the argument {word}" for word in given.others if word.startswith("--")]
    if "F" not in options and not set("CTE") & set(options):
        notes.append("the removal of directories, which is no operation of a workload")
    if given.tasks is None:
        notes.append("the number of tasks, which no mpirun or srun gives: it is 1")
    if options.get("a", "POSIX") != "POSIX":
        notes.append(f"the interface {options['a']}: the workload has operations of POSIX")
    return notes
