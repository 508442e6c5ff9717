"""The page of `sim.answer`."""

from __future__ import annotations

import shlex
from pathlib import Path

from cli.figures.find import limit_figures
from cli.pages.page import Header, Page, Section
from cli.tables.experiments.answer import Asked, answer_lines
from sim.answer.answer import LEVEL, Answer


def answer_page(result: Answer, asked: Asked) -> Page:
    """Return a page about a store: what was found, the command for each line, and the search for the greatest rate."""
    lines, name = list(answer_lines(result, asked)), Path(asked.spec).name
    header = Header(
        f"How much {name} takes, healthy and with failures, and what would help.",
        lines[0].text,
        f"Bands contain {LEVEL:.0%} of the draws of values that are not known; intervals are of "
        f"{asked.replications} replications.",
    )
    said = [text for line in lines for text in (line.text.strip(), shlex.join(line.command)) if text]
    sections = [
        Section("Results", said),
        Section("The greatest rate", (), charts=limit_figures(result.healthy)),
    ]
    return Page(f"What {name} takes", header, sections)
