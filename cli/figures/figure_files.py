"""Figures as PNG or SVG files, drawn by the optional package kaleido in a local Chrome or Chromium."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import plotly

from cli.common import say
from cli.made import Made
from cli.options import FigureFormat
from cli.outputs import check_page_output
from cli.pages.page import Page, write_page
from traces.errors import InputError

_WIDTH_PX = 900


@dataclass(frozen=True)
class PageFiles:
    """Paths of a page and of a folder for its figures.

    Raises:
        InputError: there are figures without a page, or kaleido is missing.
    """

    page: Path | None
    figures: Path | None = None
    file_format: FigureFormat = "png"

    def __post_init__(self) -> None:
        check_page_output(self.page)
        if self.figures is not None and self.page is None:
            raise InputError("--figures writes the figures of a page; add --report FILE.html")
        if self.figures is not None:
            kaleido()

    def write(self, page: Callable[[], Page], made: Made | None = None) -> list[Path]:
        """Write the page that a function returns, and its figures, if they are requested.

        Returns:
            paths of the figures.

        Raises:
            InputError: a browser is missing, or a file cannot be written.
        """
        if self.page is None:
            return []
        shown = page()
        write_page(shown, self.page, made)
        say(f"Page written to {self.page}")
        if self.figures is None:
            return []
        files = write_figures(shown.figures, self.figures, self.file_format)
        say(f"{len(files)} figures written to {self.figures}")
        return files


def kaleido() -> ModuleType:
    """Import the package kaleido.

    Raises:
        InputError: it is not installed.
    """
    try:
        import kaleido as package
    except ImportError as error:
        raise InputError("--figures needs the package kaleido: pip install 'tailcast[figures]'") from error
    module: ModuleType = package
    return module


def write_figures(
    figures: Sequence[plotly.graph_objects.Figure], folder: Path, file_format: FigureFormat
) -> list[Path]:
    """Write each figure on white to a file named by its number on the page and its title.

    Returns:
        paths of the files.

    Raises:
        InputError: kaleido or a browser is missing, or a file cannot be written.
    """
    from traces.tables import atomic_file

    draw = kaleido()
    from kaleido.errors import BrowserFailedError, ChromeNotFoundError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created: {error.strerror}") from error
    try:
        import asyncio

        images = asyncio.run(_images(draw, figures, file_format))
    except (ChromeNotFoundError, BrowserFailedError) as error:
        raise InputError("--figures needs Chrome or Chromium; install one, or name it in BROWSER_PATH") from error
    names = [f"{number:02}-{_slug(figure)}.{file_format}" for number, figure in enumerate(figures, 1)]
    for name, image in zip(names, images, strict=True):
        with atomic_file(folder / name) as temporary:
            temporary.write_bytes(image)
    return [folder / name for name in names]


async def _images(
    draw: ModuleType, figures: Sequence[plotly.graph_objects.Figure], file_format: FigureFormat
) -> list[bytes]:
    # One browser draws all figures. Only MathJax would be loaded from the network.
    async with draw.Kaleido(mathjax=False) as browser:
        return [await browser.calc_fig(*_drawn(figure, file_format)) for figure in figures]


def _drawn(figure: plotly.graph_objects.Figure, file_format: FigureFormat) -> tuple[dict[str, Any], dict[str, Any]]:
    on_white = plotly.graph_objects.Figure(figure).update_layout(paper_bgcolor="white", plot_bgcolor="white")
    opts = {"format": file_format, "width": _WIDTH_PX, "height": figure.layout.height, "scale": 2}
    return on_white.to_dict(), opts


def _slug(figure: plotly.graph_objects.Figure) -> str:
    title = html.unescape(figure.layout.title.text or "figure")
    return "-".join(re.findall(r"[a-z0-9]+", title.lower())[:8])
