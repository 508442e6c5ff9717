"""What the files of a site say together, and where they contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.site.known import Known
from models.site.reader import Found, Reader, SiteFile
from traces.errors import InputError
from traces.spec.text_file import text_of
from traces.spec.units import parse_bandwidth, parse_bytes

_MOST_BYTES = 256 << 20
_TOLERANCE = 0.05  # two files may round a size or a bandwidth differently


@dataclass(frozen=True)
class Read:
    """A file that was read.

    Attributes:
        name: of the file.
        kind: of the file.
        found: what it says.
        rough: names of its facts that another kind of file has more exactly.
    """

    name: str
    kind: str
    found: Found
    rough: frozenset[str] = frozenset()


def read_files(paths: Iterable[Path], readers: Sequence[Reader]) -> list[Read]:
    """Return what files say, each by the reader that detects its kind.

    Raises:
        InputError: a file cannot be read, is of no known kind, or is broken.
    """
    return [_read(path, readers) for path in paths]


def _read(path: Path, readers: Sequence[Reader]) -> Read:
    file = SiteFile(str(path), text_of(path, _MOST_BYTES))
    for reader in readers:
        if not reader.detects(file):
            continue
        try:
            return Read(path.name, reader.kind, reader.read(file), reader.rough)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path}: looks like {reader.kind}, but is broken: {what}") from error
    kinds = ", ".join(reader.kind for reader in readers)
    raise InputError(f"{path}: its kind is not recognised; read are {kinds}")


def facts_of(files: Sequence[Read]) -> dict[str, Known]:
    """Return the facts of files by name; where several have one, that of the first which has it exactly."""
    return {
        name: Known(value, f"file {read.name}: {read.kind}")
        for is_rough in (True, False)
        for read in reversed(files)
        for name, value in read.found.facts.items()
        if (name in read.rough) == is_rough
    }


def contradictions(files: Sequence[Read], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each fact of which files, or a file and what was given, have different values."""
    said: dict[str, list[tuple[Any, str]]] = {name: [(value, "given")] for name, value in given.items()}
    exact = {name for read in files for name in read.found.facts if name not in read.rough} | given.keys()
    for read in files:
        for name, value in read.found.facts.items():
            if name in read.rough and name in exact:
                continue
            said.setdefault(name, []).append((value, f"in {read.name} ({read.kind})"))
    for name, values in said.items():
        first, _ = values[0]
        if any(not _same(first, other) for other, _ in values[1:]):
            texts = ", ".join(f"{value} {where}" for value, where in values)
            yield f"{name} is {texts}; the first is used"


def _same(one: Any, other: Any) -> bool:
    first, second = _quantity(one), _quantity(other)
    if first is None or second is None:
        return bool(one == other)
    return abs(first - second) <= (_TOLERANCE if isinstance(one, str) else 0.0) * max(first, second)


def _quantity(value: Any) -> float | None:
    """Return a number, a size or a bandwidth as a number; None: it is none."""
    if isinstance(value, int | float):
        return float(value)
    for parse in (parse_bytes, parse_bandwidth):
        try:
            return float(parse(value))
        except (ValueError, TypeError):
            continue
    return None
