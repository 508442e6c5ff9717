"""Where a page comes from: version, command, date, spec, and what the answer rests on."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import yaml

from cli.made import Made
from cli.tables.grid import Grid
from cli.tables.spec.origins import assumptions_grid, rests_on
from cli.versions import runs_made
from models.basis.assumptions import assumptions
from models.basis.described import DescribedSpec
from traces.run import Run

_SECRET = re.compile(r"salt|secret|password|token|key\b", re.IGNORECASE)
_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"(?<=://)([^?\s]*)\?\S+")
_MOST_BYTES = 200_000  # of a spec that is kept on the page


@dataclass(frozen=True)
class Basis:
    """What an answer rests on, as sentences and tables."""

    sentences: Sequence[str] = ()
    grids: Sequence[Grid] = ()


@dataclass(frozen=True)
class Provenance:
    """Where a page comes from.

    Attributes:
        sentences: on the version, the Runs, and the command with its date.
        specs: name and text of each spec on which the page rests.
        basis: what the spec assumes.
    """

    sentences: Sequence[str]
    specs: Sequence[tuple[str, str]]
    basis: Basis

    @staticmethod
    def of(made: Made, runs: Sequence[tuple[str, Run]]) -> Provenance:
        """Return that of a page that this process writes now."""
        command = command_line(sys.argv)
        written = f"Written {_now():%Y-%m-%d %H:%M} UTC" + (f" by: {command}" if command else " from Python")
        if made.read is not None:
            specs = [(made.read.source, _text(made.read.whole))]
        else:
            named = {_text(run.info["spec"]): f"{name}.yaml" for name, run in runs if "spec" in run.info}
            specs = [(name, text) for text, name in named.items()]
        known = [(PurePath(name).name, text) for name, text in specs if len(text) <= _MOST_BYTES]
        basis = Basis() if made.read is None else _basis_of(made.read)
        return Provenance([*runs_made(runs), str(made), f"{written}."], known, basis)


def command_line(arguments: Sequence[str]) -> str:
    """Return the command that this process runs, without secrets; empty: it is no command of tailcast.

    Values of options for keys and salts, and passwords and queries of URLs, are left out.
    """
    program, *others = arguments or [""]
    if PurePath(program).name != "tailcast" and PurePath(program).parts[-2:] != ("tailcast", "__main__.py"):
        return ""
    shown: list[str] = []
    for argument in others:
        name, equals, _ = argument.partition("=")
        if shown and _is_secret(shown[-1]) and not argument.startswith("-"):
            argument = "…"
        elif equals and _is_secret(name):
            argument = f"{name}=…"
        shown.append(_QUERY.sub(r"\1?…", _IN_URL.sub("…@", argument)))
    return shlex.join(["tailcast", *shown])


def _is_secret(option: str) -> bool:
    return option.startswith("--") and "=" not in option and bool(_SECRET.search(option))


def _basis_of(read: DescribedSpec) -> Basis:
    """Return the assumed values of a spec with their sources, its presets, and what costs nothing."""
    found = assumptions(read.spec, read.origins)
    sentences = [f"{text[0].upper()}{text[1:]}." for text in rests_on(read)]
    return Basis(sentences, [replace(assumptions_grid(found), title="Assumed values")] if found else [])


def _text(spec: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(spec), sort_keys=False, allow_unicode=True)
    return text


def _now() -> datetime:
    """Return the time, or that of a reproducible build (https://reproducible-builds.org/specs/source-date-epoch/)."""
    at = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(at), UTC) if at else datetime.now(UTC)
