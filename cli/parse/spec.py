"""Specs from a file, a profile and overrides, with the trace that may replace their workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.common import say
from cli.parse.option import option
from cli.versions import profile_notes
from models.basis.described import DescribedSpec, written_of
from models.spec.origins import Written
from models.store import Spec, spec_of
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.statistics.arrivals import arrival_span_s
from traces.trace import Trace, refuse_mixed
from traces.workload.loops import loop_note
from validate.calibration.profile import Profile


def spec_mapping(path: Path, profile: Path | None = None, assignments: Sequence[str] | None = None) -> dict[str, Any]:
    """Read a spec as nested mappings, apply the values of a profile, then those of ``--set``.

    Raises:
        InputError: a file cannot be read, or a value is not valid.
    """
    data = load_mapping(path)
    if profile is not None:
        data = read_profile(profile).applied_to(data, str(path))
    changed = overridden(data, assignments)
    if assignments:
        checked(changed, str(path), assignments)
    return changed


def read_profile(path: Path, said: Callable[[str], None] = say) -> Profile:
    """Read a profile; `said` is called with a note if it was fitted with another model.

    Raises:
        InputError: the file is missing or invalid.
    """
    profile = Profile.read(path)
    for note in profile_notes(path.name, profile):
        said(f"note: {note}")
    return profile


def checked(data: Mapping[str, Any], source: str, assignments: Sequence[str] | None) -> Spec:
    """Return the spec of a mapping with the values of ``--set``; errors in these name the option, not the file.

    Raises:
        InputError: a field is wrong.
    """
    try:
        return spec_of(data, source)
    except InputError as error:
        assigned = [assignment.partition("=")[0].strip() for assignment in assignments or ()]
        raise InputError(*(_at_fault(message, source, assigned) for message in error.messages)) from error


def _at_fault(message: str, source: str, assigned: Sequence[str]) -> str:
    path = message.removeprefix(f"{source}: ").partition(":")[0]
    if any(path == one or path.startswith(f"{one}.") for one in assigned):
        return f"--set {message.removeprefix(f'{source}: ')}"
    return message


def overridden(
    data: Mapping[str, Any], assignments: Sequence[str] | None, said: Callable[[str], None] = say
) -> dict[str, Any]:
    """Return a copy of a mapping with the values of ``--set``; `said` gets a note if they change the workload's loop.

    Raises:
        InputError: an assignment is not ``PATH=VALUE``, or there is no such path.
    """
    with option("--set"):
        changed = override(data, assignments or ())
    say_loops(data, [assignment.partition("=")[0].strip() for assignment in assignments or ()], said)
    return changed


def say_loops(data: Mapping[str, Any], paths: Sequence[str], said: Callable[[str], None] = say) -> None:
    """Say which of these paths, when they get a value, change the loop of a spec's workload."""
    for path in paths:
        if note := loop_note(data, path):
            said(f"note: {note}")


@dataclass(frozen=True)
class Described(DescribedSpec):
    """A described spec, and the trace that replaces its workload, if any."""

    trace: Trace | None = None


def described(spec: Path, trace: Path | None, profile: Path | None, assignments: Sequence[str] | None) -> Described:
    """Read the spec of a store, with what its values come from, and a trace if there is one.

    With a trace, the spec may have no workload.

    Raises:
        InputError: a file cannot be read, or the spec is not valid.
    """
    return described_mapping(load_mapping(spec), spec, trace, profile, assignments)


def described_mapping(
    data: Mapping[str, Any],
    spec: Path,
    trace: Path | None,
    profile: Path | None,
    assignments: Sequence[str] | None,
    said: Callable[[str], None] = say,
) -> Described:
    """Return the spec of a mapping that is, or might be, in the file `spec`; `said` is called with notes.

    Raises:
        InputError: as of `described`.
    """
    changed = data
    written: list[Written] = []
    if profile is not None:
        fitted = read_profile(profile, said)
        changed = fitted.applied_to(dict(data), str(spec))
        written += fitted.written(profile.name)
    requests = None if trace is None else Trace.read(trace)
    if trace is not None and requests is not None and "workload" not in data:
        of_trace = _workload_of(requests)
        changed = {**changed, "workload": of_trace}
        written.append(Written("workload", of_trace, "derived", trace.name))
    changed = overridden(changed, assignments, said)
    store = checked(changed, str(spec), assignments)
    written += [written_of(assignment, "--set") for assignment in assignments or ()]
    return Described(data, spec.name, tuple(written), changed, store, requests)


def _workload_of(trace: Trace) -> dict[str, Any]:
    """Return a section `workload` with the rate or clients, mean object size and number of buckets of a trace."""
    refuse_mixed(trace, "a workload derived from the trace")
    span_s = arrival_span_s(trace.arrival_s, trace.pacing.duration_s)
    is_open, count = trace.pacing.loop == "open" and span_s > 0, max(trace.issued, 1)
    think_s = float(trace.think_s.sum()) / count
    load = {"rate": count / span_s} if is_open else {"clients": trace.pacing.clients, "think_time": think_s}
    size_bytes = max(round(int(trace.size_bytes.sum()) / count), 1)
    buckets = max(len(trace.table.column("bucket").unique()), 1)
    return {**load, "operations": count, "object_size": size_bytes, "buckets": buckets}
