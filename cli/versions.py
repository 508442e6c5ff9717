"""Sentences on the versions of tailcast that made Runs and profiles, and notes where results of models meet."""

from __future__ import annotations

from collections.abc import Sequence

from cli.made import made_details
from traces.provenance import CodeVersion, code_version, stamped
from traces.run import Run
from validate.calibration.profile import Profile


def runs_made(runs: Sequence[tuple[str, Run]]) -> list[str]:
    """Return a sentence on what each Run was made with, for the footer of a page."""
    sentences = []
    for name, run in runs:
        by = "an unknown version of tailcast" if run.made_by is None else f"tailcast {run.made_by}"
        how = "simulated" if run.info["kind"] == "simulated" else "recorded"
        info = stamped(run.info)
        sentences.append(f"{name}: {how} by {by}{made_details(info.get('spec_hash'), info.get('seed'))}.")
    return sentences


def runs_notes(runs: Sequence[tuple[str, Run]]) -> list[str]:
    """Return a note if Runs were simulated by different models; none about a Run that records no version."""
    made = {name: run.made_by for name, run in runs if run.info["kind"] == "simulated"}
    known = {name: version for name, version in made.items() if version is not None}
    if len({version.sources for version in known.values()}) < 2:
        return []
    texts = _told_apart(list(known.values()))
    by = [f"{name} was simulated by tailcast {text}" for name, text in zip(known, texts, strict=True)]
    return [f"{', '.join(by)}; their differences may be those of the models"]


def profile_notes(name: str, profile: Profile) -> list[str]:
    """Return a note if a profile was fitted with another model than this one; none if it records no version."""
    if profile.tailcast is None or profile.tailcast.sources == code_version().sources:
        return []
    fitted, this = _told_apart([profile.tailcast, code_version()])
    return [f"{name} was fitted with tailcast {fitted}, this is {this}; its values may not fit this model"]


def _told_apart(versions: Sequence[CodeVersion]) -> list[str]:
    """Return texts of versions; with the hash of their sources if they are equal otherwise."""
    texts = [str(version) for version in versions]
    if len(set(texts)) == len({version.sources for version in versions}):
        return texts
    return [
        f"{text.removesuffix(')')}, sources {version.sources[:12]})"
        for text, version in zip(texts, versions, strict=True)
    ]
