"""How a store's spec is written for a site: questions, and the sections that follow from what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.site.kinds import Kind
from models.site.known import Known, Tree, assumed, derived
from models.site.options import Hardware, Option
from models.site.reader import Reader


@dataclass(frozen=True)
class Question:
    """Something that a new spec needs to know of a site.

    Attributes:
        name: as of a fact, such as ``hosts``.
        text: what it is: a noun and what belongs to it, without a full stop.
        kind: kind of the value.
        default: the value that is assumed if it is not known; None: there is none.
        reason: what the default rests on.
        low, high: range of the default in real stores, as a spec gives it; None: not known.
        unless: names of other facts with which it is not needed.
        optional: whether the spec can do without it, or derives it.
    """

    name: str
    text: str
    kind: Kind
    default: Any = None
    reason: str = ""
    low: Any = None
    high: Any = None
    unless: tuple[str, ...] = ()
    optional: bool = False

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is None and not self.optional


class Site:
    """What is known of a site, by the names of questions."""

    def __init__(self, questions: Sequence[Question], facts: Mapping[str, Known]):
        """Take the facts; questions with a default have one anyway."""
        defaults = {
            question.name: assumed(question.default, question.reason, question.low, question.high)
            for question in questions
            if question.default is not None
        }
        self._facts = {**defaults, **facts}

    def __getitem__(self, name: str) -> Known:
        """Return a fact; it must be known."""
        return self._facts[name]

    def get(self, name: str) -> Known | None:
        """Return a fact; None: it is not known."""
        return self._facts.get(name)

    def optional(self, **fields: str) -> dict[str, Known]:
        """Return those of some fields, each with the name of a fact, of which the fact is known."""
        return {field: known for field, name in fields.items() if (known := self.get(name)) is not None}

    def derived(self, name: str, value: Any, reason: str) -> Known:
        """Return a fact; if it is not known, the value that follows from others."""
        return self._facts.get(name) or derived(value, reason)


@dataclass(frozen=True)
class Setup:
    """How the spec of a store is written.

    Attributes:
        questions: what it needs to know.
        draft: returns the sections of the spec, without the name of the store.
        readers: of files of such a store.
        options: returns settings for some hardware, those that its users take first at first; raises InputError if the
            store is not run on such; None: it has none.
        one_machine: returns the sections for hosts and clients that share the cores and the file system of one machine;
            None: the store's model does not have that.
    """

    questions: tuple[Question, ...]
    draft: Callable[[Site], Tree]
    readers: tuple[Reader, ...] = field(default=())
    options: Callable[[Hardware], Iterable[Option]] | None = None
    one_machine: Callable[[Site], Tree] | None = None

    def missing(self, facts: Mapping[str, Known]) -> list[Question]:
        """Return the questions that have to be answered, and are not."""
        return [
            question
            for question in self.questions
            if question.required and question.name not in facts and not any(name in facts for name in question.unless)
        ]
