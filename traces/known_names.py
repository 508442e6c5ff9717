"""Fields of a spec whose text, or whose keys, are names that are known: a `Literal`, or those of a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin

from traces.spec.suggestions import instead


class OneOf:
    """Annotates a text that is one of the names of a registry, to which names may be added later.

    Args:
        names: returns the allowed names.
    """

    def __init__(self, names: Callable[[], Sequence[str]]):
        self.names = names

    def _checked(self, value: Any) -> str:
        allowed = self.names()
        if not isinstance(value, str):
            raise ValueError(f"is {value!r}; allowed are {', '.join(allowed)}")
        if value not in allowed:
            raise ValueError(f"is {value!r}; {instead(value, allowed)}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # here, so that commands without a spec do not wait for it

        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"enum": list(self.names()), "type": "string"}


def known_names(annotation: Any) -> tuple[str, ...]:
    """Return the names that a `Literal` or a text with `OneOf` allows; empty for any other annotation."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) is Annotated:
        return next((tuple(mark.names()) for mark in annotation.__metadata__ if isinstance(mark, OneOf)), ())
    return ()
