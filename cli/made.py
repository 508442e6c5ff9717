"""What results are made with, and notes where results of different models meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from models.basis.described import DescribedSpec
from models.store import Spec
from traces.provenance import CodeVersion, code_version, hash_of_spec, stamped
from traces.run import Run
from validate.calibration.profile import Profile


@dataclass(frozen=True)
class Made:
    """What a command makes its results with, for JSON and the footers of pages.

    Attributes:
        spec_hash: of the simulated spec, before anything is varied; None: nothing was simulated.
        seed: of the simulations; None: there are none.
        read: the spec, for a page about it; None: there is none, or it is that of a Run.
    """

    spec_hash: str | None = None
    seed: int | None = None
    read: DescribedSpec | None = None

    @staticmethod
    def of(spec: Spec, seed: int | None = None, read: DescribedSpec | None = None) -> Made:
        """Return what results of a spec are made with; `read`: what it was read from, before a failure or a trace."""
        return Made(hash_of_spec(spec.model_dump(mode="json", exclude_unset=True)), seed, read)

    def to_json(self) -> dict[str, object]:
        """Return ``{"tailcast", "spec_hash", "seed"}`` without what is None."""
        known = {"spec_hash": self.spec_hash, "seed": self.seed}
        known = {name: value for name, value in known.items() if value is not None}
        return {"tailcast": asdict(code_version()), **known}

    def __str__(self) -> str:
        """Return a sentence such as ``Made by tailcast 0.1.0 (8407d6f1c2d3); spec 3f2a91b0c4d5, seed 0.``"""
        return f"Made by tailcast {code_version()}{_details(self.spec_hash, self.seed)}."


def runs_made(runs: Sequence[tuple[str, Run]]) -> list[str]:
    """Return a sentence on what each Run was made with, for the footer of a page."""
    sentences = []
    for name, run in runs:
        by = "an unknown version of tailcast" if run.made_by is None else f"tailcast {run.made_by}"
        how = "simulated" if run.info["kind"] == "simulated" else "recorded"
        info = stamped(run.info)
        sentences.append(f"{name}: {how} by {by}{_details(info.get('spec_hash'), info.get('seed'))}.")
    return sentences


def _details(spec_hash: str | None, seed: int | None) -> str:
    parts = [] if spec_hash is None else [f"spec {spec_hash[:12]}"]
    parts += [] if seed is None else [f"seed {seed}"]
    return f"; {', '.join(parts)}" if parts else ""


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
