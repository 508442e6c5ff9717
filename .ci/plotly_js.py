"""Adds plotly.js, which each page contains, to a bill of materials in CycloneDX on stdin."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PAGES = Path(__file__).parents[1] / "cli/pages"
NAME = "plotly.js-basic-dist-min"


def main() -> None:
    bill = json.load(sys.stdin)
    library = (PAGES / "plotly-basic.min.js").read_text(encoding="utf-8")
    found = re.search(r"minified\) v([\d.]+)", library)
    assert found, "the library does not begin with its version"
    purl = f"pkg:npm/{NAME}@{found[1]}"
    licence = {"license": {"id": "MIT", "text": {"content": (PAGES / "plotly-basic.LICENSE").read_text()}}}
    bill["components"].append({
        "type": "library", "bom-ref": purl, "name": NAME, "version": found[1], "purl": purl, "licenses": [licence],
    })  # fmt: skip
    json.dump(bill, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
