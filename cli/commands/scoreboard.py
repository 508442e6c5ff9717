"""The scoreboard, as `tailcast reference run --all` makes it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from cli.common import progress, say, warn_if_slow
from cli.made import Made
from cli.outputs import check_file_output
from cli.present import Answer, Outputs, present
from cli.tables.measured.scoreboard import board_shown
from sim.json_form import to_json
from traces.provenance import code_version
from validate.scoreboard.board import REPLICATIONS, scoreboard
from validate.scoreboard.changes import changes_of
from validate.scoreboard.lines import read_board, write_board
from validate.scoreboard.published import BoardSettings
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
    outputs: Outputs,
) -> bool:
    """Predict everything, print and write the board, and return whether nothing became worse than `against`."""
    from cli.pages.scoreboard import scoreboard_page

    check_file_output(out, force)
    before = None if against is None else read_board(against)
    warn_if_slow()
    settings = BoardSettings(
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
    summary = summary_of(lines)
    rows = [asdict(line) | {"error": None if line.is_statement else line.error} for line in lines]
    answer = Answer(
        {"rows": rows, "summary": to_json(summary), "changes": to_json(changes)},
        lambda: board_shown(lines, changes, str(against)),
        made,
        lambda: scoreboard_page(lines, changes, str(against)),
    )
    present(answer, outputs)
    return changes is None or not changes.worse
