"""Outputs of commands in text as people keep it: copied from a terminal, quoted in a mail, or fenced in an issue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_FENCE = re.compile(r"\s*(?:```\w*|~~~\w*|</?pre>|</?code>|\{noformat\}|\{code(?::\w+)?\})\s*")
_JSON = re.compile(r"\s*(?:\{|\[\s*[\[{\"\]])")
_NAMES = (
    "ceph|rados|radosgw-admin|mc|lscpu|lsblk|lshw|ethtool|smartctl|nvme|fio|iperf3|openssl|dperf|juicefs|swift-recon|"
    "swift-ring-builder"
)
_AROUND = r"(?:(?:sudo|kubectl|oc|docker|podman|cephadm)\s(?:[^|;\n]*\s)?)?(?:--\s)?(?:\S*/)?"
_PROMPTED = re.compile(rf"^(?P<prompt>[^\n]{{0,120}}?[#$%>➜❯])\s*(?P<command>{_AROUND}(?:{_NAMES}|cat)\b(?!:).*)$")
_PLAIN = re.compile(rf"^\s*(?P<command>{_AROUND}(?:{_NAMES})(?:\s+(?!\d|version\b|=)\S.*)?)$")


@dataclass(frozen=True)
class Output:
    """What one command printed: the command as it was typed, empty if it is not known, and the text."""

    command: str
    text: str


def outputs(text: str) -> list[Output]:
    """Return the outputs in a text, each without the prompts around it; a text with one document is one output."""
    if _JSON.match(text):
        return list(_documents("", text))
    found: list[Output] = []
    for command, lines in _by_command(_plain(text)):
        found += _documents(command, "\n".join(_without_marks(lines)))
    return [each for each in found if each.text.strip()]


def _plain(text: str) -> list[str]:
    """Return the lines without escapes of terminals, fences, and marks that all lines have."""
    text = _ESCAPES.sub("", text.lstrip("\ufeff")).replace("\u00a0", " ")
    return _without_marks([line for line in text.splitlines() if not _FENCE.fullmatch(line)])


def _without_marks(lines: list[str]) -> list[str]:
    """Return lines without the marks of quotes or comments, and the indentation, that all of them have."""
    for mark in ">", "#", ">":
        filled = [line.strip() for line in lines if line.strip()]
        if len(filled) > 1 and all(line.startswith(mark) for line in filled):
            lines = [line.replace(mark, "", 1) for line in lines]
    return dedent("\n".join(lines)).splitlines()


def _by_command(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines after each command; a line with the prompt of an earlier one ends them."""
    command, prompt = "", ""
    own: list[str] = []
    for line in lines:
        match = _PROMPTED.match(line) or _PLAIN.match(line)
        if match is None:
            if len(prompt) > 1 and line.startswith(prompt):
                yield command, own
                command, own = line.removeprefix(prompt).strip(), []
            else:
                own.append(line)
            continue
        yield command, own
        prompt = match.groupdict().get("prompt") or prompt
        command, own = match["command"].strip(), []
    yield command, own


def _documents(command: str, text: str) -> Iterator[Output]:
    """Yield the JSON documents of an output, one after the other, or the text if it is not JSON.

    Lines before the first document, such as of a log, are left out.
    """
    decoder = json.JSONDecoder()
    if not _JSON.match(text) and (first := re.search(r"^\{\s*$", text, re.MULTILINE)):
        try:
            decoder.raw_decode(text, first.start())
        except (ValueError, RecursionError):
            pass
        else:
            text = text[first.start() :]
    while _JSON.match(text):
        start = len(text) - len(text.lstrip())
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        if not text[end:].strip():
            break
        yield Output(command, text[start:end])
        text = text[end:]
    yield Output(command, text)
