"""Links of the documentation lead to files that exist."""

from __future__ import annotations

import re

import pytest

from tests.paths import ROOT

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


GENERATED = re.compile(r"(\.\./)*(reference|accuracy|measured)/|(\.\./)*(modelled|comparison)\.md")
"""Pages that only the site has (`docs/generators`); its build checks links to them."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    links = [link for link in _LINK.findall(page.read_text()) if not GENERATED.match(link)]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing
