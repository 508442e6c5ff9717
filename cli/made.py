"""What results are made with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel

from traces.provenance import code_version, hash_of_spec


@dataclass(frozen=True)
class Made:
    """What a command makes its results with, for JSON and the footers of pages.

    Attributes:
        spec_hash: of the simulated spec, before anything is varied; None: nothing was simulated.
        seed: of the simulations; None: there are none.
        read: the `models.basis.described.DescribedSpec` for a page about it, whose import commands without specs do
            without; None: there is none, or it is that of a Run.
    """

    spec_hash: str | None = None
    seed: int | None = None
    read: Any = None

    @staticmethod
    def of(spec: BaseModel, seed: int | None = None, read: Any = None) -> Made:
        """Return what results of a spec are made with; `read`: what it was read from, before a failure or a trace."""
        return Made(hash_of_spec(spec.model_dump(mode="json", exclude_unset=True)), seed, read)

    def to_json(self) -> dict[str, object]:
        """Return ``{"tailcast", "spec_hash", "seed"}`` without what is None."""
        known = {"spec_hash": self.spec_hash, "seed": self.seed}
        known = {name: value for name, value in known.items() if value is not None}
        return {"tailcast": asdict(code_version()), **known}

    def __str__(self) -> str:
        """Return a sentence such as ``Made by tailcast 0.1.0 (8407d6f1c2d3); spec 3f2a91b0c4d5, seed 0.``"""
        return f"Made by tailcast {code_version()}{made_details(self.spec_hash, self.seed)}."


def made_details(spec_hash: str | None, seed: int | None) -> str:
    """Return what follows the version in a sentence: the hash of the spec and the seed, if they are known."""
    parts = [] if spec_hash is None else [f"spec {spec_hash[:12]}"]
    parts += [] if seed is None else [f"seed {seed}"]
    return f"; {', '.join(parts)}" if parts else ""
