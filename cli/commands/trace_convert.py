"""`tailcast trace convert`: the definition of a benchmark as a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_json, say, stdout
from cli.options import ForceOption, JsonOption, OutOption, SetOption
from cli.outputs import check_file_output


def command(
    definition: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Definition: XML of COSBench, YAML of warp or gosbench, a job file of fio, or a file with a command "
            "of mdtest or IOR.",
            show_default=False,
        ),
    ],
    out: OutOption = None,
    part: Annotated[
        str | None, typer.Option("--part", help="Workstage, test, job or phase to convert (default: the first).")
    ] = None,
    assignments: SetOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert the definition of a benchmark to a workload.

    Reads COSBench, warp, gosbench, fio, mdtest and IOR, and lists what is not converted.

    Example: tailcast trace convert examples/cosbench.xml -o workload.yaml
    """
    from cli.answers.fitted import workload_text, write_workload
    from traces.benchmarks.convert import convert

    check_file_output(out, force)
    found = convert(definition, part, tuple(assignments or ()))
    title = f"From {definition.name}, a definition of {found.tool}: {found.part}."
    for note in found.notes:
        say(f"not converted: {note}")
    if out is not None:
        write_workload(out, found.fields, title, found.notes)
    if as_json:
        parts = {"tool": found.tool, "part": found.part, "parts": list(found.parts)}
        print_json({**parts, "workload": found.fields, "notes": list(found.notes)})
    elif out is None:
        stdout.print(workload_text(found.fields, title, found.notes), markup=False, soft_wrap=True, end="")
