"""Published throughputs that need more than the network interfaces of a spec."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from models.store import Spec, compile_spec, spec_of
from sim.demands.service_demands import mean_demands
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.spec_file import override
from traces.trace import Trace
from traces.workload.generate import generate
from validate.reference.figures import ALL, units_per_request
from validate.reference.rows import Row

_REQUESTS = 2000
"""Number of requests over which the bytes on each interface are averaged."""
_TOLERANCE = 1.02
"""An interface counts as too slow if more than this multiple of its rate is needed: figures are rounded."""


def nic_notes(
    data: Mapping[str, Any],
    source: str,
    rows: Sequence[Row],
    assignments: Sequence[str],
    predicted: Sequence[Mapping[str, float]],
) -> list[str]:
    """Return a sentence for each row whose published throughput needs more than a NIC of the spec.

    Args:
        data: the spec as read from its file.
        source: name of the file.
        rows: published figures.
        assignments: changes of the spec in addition to each row's settings.
        predicted: the predicted figures of each row; only a throughput above the predicted one can need more.
    """
    found: dict[str, None] = {}
    for row, figures in zip(rows, predicted, strict=True):
        for name, published in row.measured.items():
            if name.startswith("throughput_") and published > _TOLERANCE * figures[name]:
                spec = spec_of(override(data, (*row.assignments, *assignments)), source)
                found |= dict.fromkeys(_needed(spec, row, name, published))
    return list(found)


def _needed(spec: Spec, row: Row, name: str, published: float) -> Iterator[str]:
    """Yield the sentence about the busiest interfaces, if they are too slow for the published figure."""
    trace = generate(spec.workload.limited(_REQUESTS), 0)
    busiest = _busiest(spec, trace)
    if busiest is None:
        return
    station, load_s = busiest
    mine = np.ones(len(trace), bool) if row.op == ALL else trace.op == OPS.index(row.op)
    if not mine.any():
        return
    rate_ops = published / units_per_request(name, float(trace.transfer_bytes[mine].mean())) / float(mine.mean())
    if rate_ops * load_s > _TOLERANCE:
        settings = ", ".join(f"{path}={value}" for path, value in row.settings.items())
        yield (
            f"{row.op}{f' with {settings}' if settings else ''}: the published {published:g} "
            f"({name.removeprefix('throughput_')}) needs {rate_ops * load_s:.2f} times the "
            f"rate of the NIC '{station}'"
        )


def _busiest(spec: Spec, trace: Trace) -> tuple[str, float] | None:
    """Return the network interfaces with the most work, such as those of all hosts in one direction, and their mean.

    The mean is the work per request and interface in s.
    """
    network, requests = compile_spec(spec, trace)
    try:
        demands = mean_demands(network, requests)
    except InputError:  # a feature of the network is not supported
        return None
    load_s = demands.fraction @ demands.mean_s
    found: dict[str, list[float]] = {}
    for station, each_s in zip(network.stations, load_s.tolist(), strict=True):
        if station.role.endswith("network"):
            found.setdefault(re.sub(r" \d+\b", "", station.name), []).append(each_s / station.servers)
    means = {name: math.fsum(values) / len(values) for name, values in found.items()}
    name = max(means, key=lambda name: means[name], default="")
    return (name, means[name]) if name and means[name] > 0 else None
