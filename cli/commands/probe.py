"""`tailcast probe`: a drive and the cores of this machine, measured in a minute."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.common import progress, say
from cli.options import ForceOption, JsonOption, OutOption, duration
from traces.errors import InputError

_CORES_S = 3.0


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder on the drive to measure, with room.", show_default=False)
    ],
    size: Annotated[str, typer.Option(metavar="SIZE", help="Size of the file that is accessed.")] = "1GiB",
    job_time: Annotated[
        float, typer.Option("--job-time", metavar="TIME", parser=duration, help="Longest time of each job.")
    ] = 2.0,
    rounds: Annotated[
        int, typer.Option(min=1, max=100, help="Rounds of all jobs, whose differences give the intervals.")
    ] = 3,
    yes: Annotated[bool, typer.Option("--yes", help="Begin without a question.")] = False,
    out: OutOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure a drive and the cores of this machine in a minute, for a spec.

    It says how long it takes and how much it writes, and asks before it begins. `init --from` reads what it writes.

    Example: tailcast probe /mnt/disk1 --yes -o drive.json
    """
    from cli.outputs import check_file_output
    from cli.present import Answer, Outputs, present
    from cli.tables.measured.probe import probe_shown
    from traces.spec.units import parse_bytes
    from traces.tables import atomic_file
    from validate.probe.cores import measure_cores
    from validate.probe.drive import probe_of
    from validate.probe.jobs import JOBS, Extent, check_folder, run_jobs

    try:
        size_bytes = int(parse_bytes(size))
    except ValueError as error:
        raise InputError(f"--size: {error}") from error
    if size_bytes < 1 << 22:
        raise InputError(f"--size: {size!r} is too small; at least 4MiB is needed")
    if not 0.1 <= job_time <= 3600:
        raise InputError("--job-time: from 0.1s to 1h is allowed")
    check_file_output(out, force)
    extent = Extent(size_bytes, job_time, rounds)
    program = check_folder(folder, extent)
    say(
        f"{len(JOBS)} jobs of fio, {rounds} rounds, in {folder}: up to {extent.longest_s + 2 * _CORES_S:.0f} s and the "
        f"time to write a file of {size_bytes / 1e9:.3g} GB, which is removed; at most "
        f"{extent.most_written_bytes / 1e9:.3g} GB are written"
    )
    if not yes:
        _ask()
    cores = measure_cores(_CORES_S)
    with progress("measuring", total=1) as advance:
        document = run_jobs(program, folder, extent, lambda name, fraction: advance(fraction))
    result = probe_of(document, cores)
    if out is not None:
        from cli.common import json_text

        with atomic_file(out) as temporary:
            temporary.write_text(json_text(result.to_json()))
        say(f"Measurements written to {out}; give them to: tailcast init STORE --from {out}")
    present(Answer(result.to_json()["probe"], lambda: probe_shown(result)), Outputs(as_json))


def _ask() -> None:
    """Ask whether to begin.

    Raises:
        InputError: stdin is no terminal, or the answer is no.
    """
    if not sys.stdin.isatty():
        raise InputError("probe: begins only with --yes, or on a terminal, where it asks")
    print("Begin? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("probe: nothing was measured")
