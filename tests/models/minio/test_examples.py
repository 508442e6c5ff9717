"""The commands in the examples of MinIO clusters: each variant that they name is a valid spec."""

from __future__ import annotations

import shlex
from itertools import pairwise, product

import pytest

from models.store import load_spec
from tests.paths import EXAMPLES

FILES = sorted((EXAMPLES / "minio").glob("*.yaml"))


def commands(path):
    """Return the commands in the comment at the beginning of a file, as words."""
    lines = [line[1:].strip() for line in path.read_text().splitlines() if line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines() if line.startswith("tailcast ")]


def values_of(words, option):
    return [value for name, value in pairwise(words) if name == option]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_has_bounds_a_what_if_and_failures(path):
    assert {"simulate", "bounds", "whatif", "failures"} <= {words[1] for words in commands(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_variants_are_possible(path):
    for words in commands(path):
        varied = [
            [f"{name}={value}" for value in values.split(",")]
            for name, _, values in (each.partition("=") for each in values_of(words, "--vary"))
        ]
        given = values_of(words, "--set")
        if words[1] in ("whatif", "failures"):
            for assignments in product(*varied):
                load_spec(path, [*given, *assignments])
