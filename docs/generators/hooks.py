"""Hooks of MkDocs (`mkdocs.yml`): add generated pages and files that pages link to, and adapt links and lists."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # this checkout, not one that is installed

from docs.generators.accuracy import accuracy_pages  # noqa: E402
from docs.generators.commands import command_pages  # noqa: E402
from docs.generators.comparison import PAGE as COMPARISON  # noqa: E402
from docs.generators.comparison import comparison_page  # noqa: E402
from docs.generators.fields import field_pages  # noqa: E402
from docs.generators.markdown import with_blank_lines  # noqa: E402
from docs.generators.measured import measured_pages  # noqa: E402
from docs.generators.modelled import modelled_page  # noqa: E402
from docs.generators.reference import reference_pages  # noqa: E402
from docs.generators.sdks import PAGE as SDKS  # noqa: E402
from docs.generators.sdks import sdk_page  # noqa: E402
from validate.campaign.comparison import read_comparison  # noqa: E402

DOCS = ROOT / "docs"
OF_REPOSITORY = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages outside of `DOCS` that are part of the site."""

_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)(?=[)#])")


@cache
def generated_pages() -> dict[str, str]:
    """Return all generated pages, by their path in the site."""
    return {
        **command_pages(),
        **field_pages(),
        **accuracy_pages(DOCS / "scoreboard.csv", DOCS / "remarks.csv"),
        COMPARISON: comparison_page(
            ROOT / "benchmarks/box/stores.csv",
            ROOT / "benchmarks/box/accesses.csv",
            read_comparison(ROOT / "examples/campaigns/comparison/stores.yaml"),
        ),
        "modelled.md": modelled_page(DOCS),
        SDKS: sdk_page(),
        **reference_pages(DOCS),
        **measured_pages(ROOT / "benchmarks", DOCS),
    }


def on_config(config: Any) -> Any:
    """Replace entries of the navigation that end with ``/*`` by the generated pages of the folder, the index first."""
    config.nav = [_expanded(entry) for entry in config.nav]
    return config


def _expanded(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    (title, value), *_ = entry.items()
    if isinstance(value, list):
        return {title: [_expanded(each) for each in value]}
    if not value.endswith("/*"):
        return entry
    return {title: [path for path in generated_pages() if path.startswith(value[:-1])]}


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and the files of the repository that pages link to."""
    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    for each in sorted(_linked() - set(DOCS.rglob("*"))):
        files.append(File.generated(config, each.relative_to(ROOT).as_posix(), abs_src_path=str(each)))
    return files


def _linked() -> set[Path]:
    """Return the pages of the site, and all files of the repository that they link to."""
    found: set[Path] = set()
    unread = {*(ROOT / name for name in OF_REPOSITORY), *DOCS.rglob("*.md")}
    while unread:
        found |= unread
        links = {
            _target(page, link) for page in unread if page.suffix == ".md" for link in _LINK.findall(page.read_text())
        }
        unread = {each for each in links - found if each.is_file()}
    return found


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with links as they are in the site, and blank lines where Python-Markdown needs them."""
    source = page.file.abs_src_path
    if source:
        markdown = _LINK.sub(lambda link: _in_site(Path(source), link[1]), markdown)
    return with_blank_lines(markdown)


def _target(page: Path, link: str) -> Path:
    return Path(os.path.normpath(page.parent / link))


def _in_site(page: Path, link: str) -> str:
    target = _target(page, link)
    return os.path.relpath(_place(target), _place(page).parent) if target.is_relative_to(ROOT) else link


def _place(path: Path) -> Path:
    """Return the place of a file in the site: of docs, that in the folder; of others, that in the repository."""
    return path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT)
