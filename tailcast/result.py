"""What the functions of the API return: a result with its text, its table of numbers, its figures and its page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cli.common import json_text, shown_text
from cli.pages.page import Page, shown_html, write_page
from cli.present import Answer
from traces.errors import InputError

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go
    import polars

Value = TypeVar("Value")


@dataclass(frozen=True)
class Result(Generic[Value]):
    """The result of a function of the API; a notebook shows it as the command prints it.

    Attributes:
        value: what was found, with all figures: times in s, sizes in bytes, rates per second.
        notes: what the command says on stderr: what the result rests on, and what is doubtful.
    """

    value: Value
    notes: tuple[str, ...]
    _answer: Answer = field(repr=False)

    def summary(self) -> str:
        """Return the lines and tables that the command prints."""
        return shown_text(self._answer.shown())

    def to_json(self) -> dict[str, Any]:
        """Return what the command prints with ``--json``; figures that are not finite are None."""
        found: dict[str, Any] = json.loads(json_text(self._answer.result, self._answer.made))
        return found

    def to_polars(self) -> polars.DataFrame:
        """Return the table of numbers; what its rows are is said by the function that returned the result.

        Raises:
            InputError: the result has no table.
        """
        import polars as pl

        found = pl.from_arrow(self._table())
        assert isinstance(found, pl.DataFrame)
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table of numbers for pandas, which is no requirement of tailcast.

        Raises:
            InputError: pandas is missing, or the result has no table.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError("to_pandas needs the package pandas: pip install pandas") from error
        found: pd.DataFrame = self._table().to_pandas()
        return found

    @property
    def figures(self) -> list[go.Figure]:
        """The figures of the page, as of plotly; empty if there is no page."""
        return [] if self._answer.page is None else self._answer.page().figures

    def plot(self, number: int = 0) -> go.Figure:
        """Return a figure of the page, which a notebook draws.

        Raises:
            InputError: there is no such figure.
        """
        figures = self.figures
        if not 0 <= number < len(figures):
            raise InputError(f"figure {number}: there is none; the result has {len(figures)} figures, from 0")
        return figures[number]

    def write_page(self, path: str | Path) -> Path:
        """Write the page of the command, and return its path.

        Raises:
            InputError: the result has no page, or the file cannot be written.
        """
        write_page(self._page(), Path(path), self._answer.made)
        return Path(path)

    def _page(self) -> Page:
        if self._answer.page is None:
            raise InputError("the result has no page; simulate one run instead of replications")
        return self._answer.page()

    def _table(self) -> Any:
        if self._answer.table is None:
            raise InputError("the result has no table")
        return self._answer.table()

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return shown_html([*self._answer.shown(), *self.notes])
