"""Faults of the lab as text: ``drive 3 x5 at 10s for 20s``, ``link 2 cut``, ``host 1 killed for 30s``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

from traces.errors import InputError
from traces.spec.suggestions import did_you_mean
from traces.spec.units import parse_bandwidth, parse_duration, parse_fraction
from validate.lab.faults import EFFECTS, Effect, LabFault, Part

EXAMPLES = "write it like 'drive 3 x5 at 10s for 20s', 'link 2 cut', 'link 2 10%' or 'host 1 killed for 30s'"

PARTS: tuple[Part, ...] = get_args(Part)
_SYNONYMS: dict[str, Part] = {
    "disk": "drive", "hdd": "drive", "ssd": "drive", "osd": "drive",
    "node": "host", "server": "host", "machine": "host",
    "nic": "link", "network": "link", "cable": "link",
}  # fmt: skip
_WRITTEN = {
    "drive": "x5 (slower by this factor), frozen, errors, full, replaced",
    "link": "cut, a rate such as 100Mbit/s, a fraction such as 10%",
    "host": "killed, paused, restarted",
}


def parse_lab_fault(text: str) -> LabFault:
    """Parse ``PART NUMBER EFFECT [at TIME] [for TIME]``.

    Raises:
        InputError: the text has another form; the message names what is accepted.
    """
    words = text.split()
    times: dict[str, float] = {}
    while len(words) >= 2 and words[-2].lower() in ("at", "for"):
        *words, name, value = words
        if name.lower() in times:
            raise _error(text, f"{name} is given twice")
        times[name.lower()] = _duration(text, name, value)
    if not words or words[-1].lower() in ("at", "for"):
        raise _error(text, f"a time is missing after {words[-1]}" if words else "nothing is given")
    part = _part(text, words[0])
    if len(words) < 3:
        raise _error(text, f"{part} needs a number and what happens to it")
    if not (words[1].isascii() and words[1].isdecimal()):
        raise _error(text, f"{words[1]!r} is not the number of a {part}, which is a whole number from 0")
    fault = _with_effect(text, LabFault(part, int(words[1]), EFFECTS[part][0]), " ".join(words[2:]))
    fault = replace(fault, at_s=times.get("at", 0.0), for_s=times.get("for"))
    if fault.for_s == 0:
        raise _error(text, "for is 0 s; it must be above 0")
    if fault.effect == "restarted" and fault.for_s is not None:
        raise _error(text, f"a restart takes no duration; did you mean host {fault.number} killed?")
    return fault


def _part(text: str, word: str) -> Part:
    for part in PARTS:
        if word.lower() in (part, f"{part}s"):
            return part
    meant = _SYNONYMS.get(word.lower())
    said = f"; did you mean {meant}?" if meant else did_you_mean(word, PARTS)
    raise _error(text, f"{word!r} is none of {', '.join(PARTS)}{said}")


def _with_effect(text: str, fault: LabFault, written: str) -> LabFault:
    """Return the fault with what happens to its part."""
    effect = written.lower()
    named = next((known for known in EFFECTS[fault.part] if known == effect), None)
    if named is not None and named not in ("slow", "limited"):
        return replace(fault, effect=named)
    if fault.part == "drive" and (factor := _factor(text, effect)) is not None:
        return replace(fault, effect="slow", factor=factor)
    if fault.part == "link" and effect[:1].isdigit():
        return _limited(text, fault, written)
    others: dict[str, Effect] = {name: name for names in EFFECTS.values() for name in names}
    said = did_you_mean(effect, EFFECTS[fault.part]) if effect not in others else ""
    raise _error(text, f"{effect!r} cannot happen to a {fault.part}; allowed are {_WRITTEN[fault.part]}{said}")


def _factor(text: str, effect: str) -> float | None:
    """Return the factor of ``x5`` or ``slow x5``; None if it is neither."""
    written = effect.removeprefix("slow").strip()
    if not written.startswith("x"):
        return None
    try:
        factor = float(written[1:])
    except ValueError:
        return None
    if not 1 < factor < math.inf:
        raise _error(text, f"the factor is {factor:g}; it must be above 1")
    return factor


def _limited(text: str, fault: LabFault, written: str) -> LabFault:
    is_fraction = written.endswith("%")
    try:
        value = parse_fraction(written) if is_fraction else parse_bandwidth(written)
    except ValueError as error:
        raise _error(text, str(error)) from error
    if not value > 0 or (is_fraction and value >= 1):
        raise _error(text, f"{written} must be above 0" + (" % and below 100 %" if is_fraction else ""))
    if is_fraction:
        return replace(fault, effect="limited", fraction=value)
    if written[-1].isdigit():
        raise _error(text, f"{written} needs a unit, as in {written}Mbit/s or {written}%")
    return replace(fault, effect="limited", bytes_per_s=value)


def _duration(text: str, name: str, value: str) -> float:
    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise _error(text, f"{name}: {error}") from error
    if not math.isfinite(seconds):
        raise _error(text, f"{name} is {value}; it must be finite")
    return seconds


def _error(text: str, reason: str) -> InputError:
    return InputError(f"fault {text!r}: {reason}; {EXAMPLES}")
