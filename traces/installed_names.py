"""Names of modules where the project is installed as one package, `tailcast`, instead of run from a checkout.

Only the standard library is imported, because setup.py uses this module, too.
"""

from __future__ import annotations

import ast
import re

PACKAGE = "tailcast"
PARTS = "cli", "models", "sim", "traces", "validate"
"""Packages of a checkout that an installation has within `PACKAGE`."""

_INSTALLED = re.compile(rf"\b{PACKAGE}\.(?=(?:{'|'.join(PARTS)})\b)".encode())


def installed(source: str) -> str:
    """Return the source of a module with imports from `PACKAGE` for those from its parts; lines keep their numbers.

    Raises:
        ValueError: a part is imported by ``import``, which would bind another name.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and (names := [a.name for a in node.names if a.name.split(".")[0] in PARTS]):
            raise ValueError(f"line {node.lineno}: `import {names[0]}`; allowed is `from … import …`")
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] in PARTS:
            line, start = lines[node.lineno - 1], node.col_offset
            lines[node.lineno - 1] = line[:start] + line[start:].replace(" ", f" {PACKAGE}.", 1)
    return "".join(lines)


def as_in_checkout(content: bytes) -> bytes:
    """Return the content of a source file with the names of a checkout, so that both have one hash."""
    return _INSTALLED.sub(b"", content)
