"""What a stranger finds in the repository: forms, workflow and hooks are valid, and what they name exists."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from itertools import chain

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sim.engine.compiled import build
from tests.paths import ROOT


def loaded(path: str) -> dict:
    return yaml.safe_load((ROOT / path).read_text())


def test_issue_forms_have_what_github_requires():
    forms = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) == 2
    for path in forms:
        form = loaded(str(path.relative_to(ROOT)))
        assert form["name"] and form["description"]
        ids = [part["id"] for part in form["body"]]
        assert len(set(ids)) == len(ids) and {"version", "run", "spec"} <= set(ids)
        assert all(part["type"] in ("input", "textarea") and part["attributes"]["label"] for part in form["body"])
        assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_the_workflow_runs_what_ci_runs():
    workflow = loaded(".github/workflows/ci.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML 1.1 reads `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == ".ci/run" and os.access(ROOT / ".ci/run", os.X_OK)


def test_a_tag_is_built_by_the_script_of_releases():
    workflow = loaded(".github/workflows/release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    assert any(step.get("run", "").startswith(".ci/release ") for step in workflow["jobs"]["build"]["steps"])
    script = (ROOT / ".ci/release").read_text()
    assert os.access(ROOT / ".ci/release", os.X_OK)
    (platforms,) = re.findall(r"^for platform in (.*); do$", script, re.MULTILINE)
    assert platforms.split() == list(build.TARGETS)
    assert all((ROOT / name).is_file() for name in re.findall(r"\.ci/\w+\.py", script))


def test_locked_versions_are_allowed_ones():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values()), build.ZIG]
    lines = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    locked = {}
    for line in map(Requirement, lines):
        (only,) = line.specifier
        locked.setdefault(canonicalize_name(line.name), []).append(only.version)
    for each in map(Requirement, wanted):
        versions = locked[canonicalize_name(each.name)]
        assert all(each.specifier.contains(version, prereleases=True) for version in versions), each


def test_hooks_run_what_exists():
    hooks = loaded(".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} == {"ruff", "ruff-format", "guards", "mypy"}
    for hook in hooks:
        program, *arguments = shlex.split(hook["entry"])
        assert (ROOT / program).exists()
        assert all((ROOT / name).is_file() for name in arguments if name.startswith("tests/"))


def test_contributing_names_what_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"\b(?:tests|benchmarks|sim|cli|traces|docs)/[\w/.-]*\w", text)
    targets = set(re.findall(r"^([\w -]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {name for line in targets for name in line.split()}
    assert len(paths) > 8 and all((ROOT / path).exists() for path in paths)
    assert set(re.findall(r"`?make ([a-z]+)", text)) <= known
