"""Volumes that the command line or the environment of a MinIO server names, and the pools that they are.

Sources: minio/minio, cmd/server-main.go (options) and cmd/endpoint-ellipses.go; minio/pkg, ellipses, whose numbers may
be hexadecimal. A shell expands ``{1..4}``, ``{d..g}`` and ``{a,b}`` before the server starts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from models.site.reader import Facts
from models.site.uneven import even_hosts
from traces.spec.units import MOST_COUNT

_ELLIPSIS = re.compile(r"\{([0-9a-f]+)\.\.\.([0-9a-f]+)\}")
_BRACES = re.compile(r"\{(?:(?P<first>\d+|[a-zA-Z])\.\.(?P<last>\d+|[a-zA-Z])|(?P<names>[^{}\s.]*,[^{}\s.]*))\}")
_SERVER = re.compile(r"\bminio(?::\S+)?\s+server[ \t]+(\S.*)$", re.MULTILINE)
_WITHOUT_VALUE = "quiet", "q", "anonymous", "json", "no-compat", "strict-s3-compat", "no-color", "insecure"
_END = re.compile(r"[;&|<>#]|\d>")


def commands(text: str) -> list[str]:
    """Return what follows `minio server` in each command of a text, such as a systemd unit."""
    return _SERVER.findall(text.replace("\\\n", " "))


def arguments(words: Iterable[str]) -> list[str]:
    """Return the volumes among the words of a server's command: what is neither an option nor the value of one."""
    volumes = []
    is_value = False
    for word in takewhile(lambda word: not _END.match(word), words):
        plain = word.rstrip(";").strip("\"'")
        if plain.startswith("-"):
            is_value = "=" not in plain and plain.lstrip("-") not in _WITHOUT_VALUE
        else:
            volumes += [plain] if plain and not is_value and "$" not in plain else []
            is_value = False
    return volumes


def expanded_by_shell(word: str) -> list[str]:
    """Return the words that a shell makes of one with braces.

    Raises:
        ValueError: they are more than a cluster has drives.
    """
    found = [word]
    while match := _BRACES.search(found[0]):
        names = match["names"].split(",") if match["names"] is not None else _range(match["first"], match["last"])
        if len(found) * len(names) > MOST_COUNT:
            raise ValueError(f"{word} stands for more than {MOST_COUNT:,} names")
        found = [each.replace(match[0], name, 1) for each in found for name in names]
    return found


def _range(first: str, last: str) -> list[str]:
    if not (first.isdigit() and last.isdigit()):
        return [chr(number) for number in range(ord(first), ord(last) + 1)]
    if int(last) - int(first) >= MOST_COUNT:
        raise ValueError(f"{{{first}..{last}}} stands for more than {MOST_COUNT:,} names")
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]


def with_further(pools: Sequence[tuple[Facts, list[str]]]) -> tuple[Facts, list[str]]:
    """Return the facts of the first pool, with the further ones as `pools`."""
    (facts, _), *further = pools
    notes = [f"pool {number}: {note}" if further else note for number, (_, own) in enumerate(pools) for note in own]
    others: list[Mapping[str, object]] = [{"hosts": pool["hosts"], "drives": pool["drives"]} for pool, _ in further]
    return {**facts, **({"pools": others} if others else {})}, notes


def pools_of(volumes: Iterable[str]) -> Iterator[tuple[Facts, list[str]]]:
    """Yield the pools of the arguments of a server: each with ellipses is one, the others together are one."""
    plain = []
    for each in volumes:
        if not _ELLIPSIS.search(each):
            plain.append(each)
            continue
        host, path = _parts(each)
        yield even_hosts([_expanded(path)] * _expanded(host))
    if plain:
        yield even_hosts([*Counter(_parts(each)[0] for each in plain).values()])


def _expanded(text: str) -> int:
    """Return the number of names that a text with ellipses stands for.

    Raises:
        ValueError: it stands for none, or for more than a cluster has.
    """
    number = 1
    for first, last in _ELLIPSIS.findall(text):
        base = 10 if first.isdigit() and last.isdigit() else 16
        number *= int(last, base) - int(first, base) + 1
    if not 0 < number <= MOST_COUNT:
        raise ValueError(f"{text} stands for {number:,} names; allowed are 1 to {MOST_COUNT:,}")
    return number


def _parts(volume: str) -> tuple[str, str]:
    """Return the host of a volume, empty if it is a folder, and its path."""
    match = re.fullmatch(r"https?://([^/]+)(/.*)?", volume)
    return (match[1], match[2] or "") if match else ("", volume)
