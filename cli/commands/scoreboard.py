"""The scoreboard, as `tailcast reference run --all` makes it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from cli.common import print_grid, print_json, print_lines, progress, say, warn_if_slow
from cli.figures.figure_files import PageFiles
from cli.made import Made
from cli.outputs import check_file_output
from cli.tables.measured.scoreboard import (
    bands_grid,
    baselines_grid,
    cases_grid,
    changes_lines,
    errors_grid,
    found_sentence,
    sentences,
)
from sim.json_form import to_json
from traces.provenance import code_version
from validate.scoreboard.board import REPLICATIONS, scoreboard
from validate.scoreboard.changes import changes_of
from validate.scoreboard.lines import read_board, write_board
from validate.scoreboard.published import Settings
from validate.scoreboard.summary import summary_of


def run_board(
    sample: bool,
    against: Path | None,
    uncertainty: float | None,
    replications: int | None,
    seed: int,
    workers: int | None,
    out: Path | None,
    force: bool,
    pages: PageFiles,
    as_json: bool,
) -> bool:
    """Predict everything, print and write the board, and return whether nothing became worse than `against`."""
    from cli.pages.scoreboard import write_scoreboard_page

    check_file_output(out, force)
    before = None if against is None else read_board(against)
    warn_if_slow()
    settings = Settings(
        seed,
        replications or REPLICATIONS,
        uncertainty,
        workers or len(os.sched_getaffinity(0)),
        code_version().short,
    )
    with progress("predicting all", 1.0) as update:
        lines = scoreboard(settings, sample, update)
    if out is not None:
        write_board(lines, out)
        say(f"Scoreboard written to {out}")
    made = Made(seed=seed)
    changes = None if before is None else changes_of(before, lines, sample)
    pages.write(lambda path: write_scoreboard_page(lines, changes, str(against), path, made))
    summary = summary_of(lines)
    if as_json:
        rows = [asdict(line) | {"error": None if line.is_statement else line.error} for line in lines]
        print_json({"rows": rows, "summary": to_json(summary), "changes": to_json(changes)}, made)
    else:
        for grid in (cases_grid(lines), errors_grid(summary), *bands_grid(summary), baselines_grid(summary)):
            print_grid(grid, transpose=False)
        print_lines([found_sentence(lines), *sentences(summary)])
        print_lines([] if changes is None else changes_lines(changes, str(against)))
    return changes is None or not changes.worse
