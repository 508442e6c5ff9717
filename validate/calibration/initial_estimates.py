"""Staged estimates of a spec's values from Runs, without simulation. They are the first guesses of a fit.

Without contention, times add up: CPU time per request is linear in the spec's constants and times per byte, and so is
the mean latency with one client. The first stage is therefore one linear least-squares problem over all Runs. It gives
CPU time per operation and per byte of client and server, and from the rest of a PUT's latency the commit. The second
stage estimates the shapes of distributions from one client's latencies: spread, and a slow mode far beyond the median.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.retry_policy import NO_POLICY
from models.network.service_demand import ServiceDemand
from models.spec.spec_values import fit_at, sections_of, value_at, with_values
from models.store import Spec, compile_spec, store_of
from sim.demands.service_demands import mean_demands
from traces.operations import OPS, ops_that
from traces.spec.fit_bounds import Fit
from traces.statistics.summary import Floats, quantiles, summarise
from traces.trace import Trace
from validate.calibration.parameters import Parameter
from validate.compare.measured import Measured
from validate.replay.cpu_usage import modelled_cpu_s

_SAMPLE = 1000  # rows of a trace that represent all of them
_PART, _PASSES = 0.1, 3  # relative step and passes: where work overlaps, sums are only piecewise linear
_HOLD = 0.02  # weight of the spec's values, relative to that of the figures' relative errors


@dataclass(frozen=True)
class Estimates:
    """First guesses by path, in the spec's units, and other observations, as sentences."""

    values: dict[str, float]
    notes: tuple[str, ...]


def staged_estimates(spec: Spec, parameters: Sequence[Parameter], measured: Sequence[Measured]) -> Estimates:
    """Return first guesses of the parameters, within their bounds; the spec's value if no stage estimates one.

    Raises:
        InputError: a parameter is not in the spec.
    """
    values = {p.path: value_at(spec, p.path) for p in parameters}
    fits = {p.path: fit for p in parameters if (fit := fit_at(spec, p.path)) is not None}
    values |= _light_load(spec, values, {path for path, fit in fits.items() if fit.estimated == "mean"}, measured)
    values |= _shapes(with_values(spec, values), fits, measured)
    bounded = {p.path: float(np.clip(values[p.path], p.low, p.high)) for p in parameters}
    return Estimates(bounded, (*_batching(measured), *_size_break(with_values(spec, bounded), measured)))


def _light_load(
    spec: Spec, values: dict[str, float], linear: Collection[str], measured: Sequence[Measured]
) -> dict[str, float]:
    """Return the `linear` values that best fit CPU times per request and mean latencies with one client."""
    found = {path: value for path, value in values.items() if path in linear}
    equations = [m for m in measured if m.cpu_s or _single_client(m)]
    if not found or not equations:
        return {}
    target = np.concatenate([_measured_sums(m) for m in equations])

    def modelled(changed: dict[str, float]) -> Floats:
        at = with_values(spec, values | found | changed)
        return np.concatenate([_sums(at, m) for m in equations])

    for _ in range(_PASSES):
        base = modelled({})
        effects = np.stack([modelled({p: (1 + _PART) * v}) - base for p, v in found.items()], axis=1) / _PART
        # In errors relative to the measured figures, and in multiples of the values so far.
        weights = _HOLD * np.diag([1.0] * len(found))
        rows, wanted = np.vstack([effects / target[:, None], weights]), (target - base + effects.sum(axis=1)) / target
        scales = scipy.optimize.lsq_linear(rows, np.concatenate([wanted, np.diag(weights)]), bounds=(0.02, np.inf)).x
        found = {path: value * float(scale) for (path, value), scale in zip(found.items(), scales, strict=True)}
    return found


def _sums(spec: Spec, m: Measured) -> Floats:
    """Return the figures of `_measured_sums` according to the spec."""
    sample = Trace(m.trace.table.slice(0, _SAMPLE), m.trace.pacing)
    network, requests = compile_spec(spec, sample)
    cpu_s = modelled_cpu_s(spec, network, requests)
    figures = [cpu_s[side] for side in m.cpu_s]
    return np.array(figures + (_no_contention_s(network, requests, sample, m) if _single_client(m) else []))


def _measured_sums(m: Measured) -> Floats:
    """Return the CPU time per request of each side and, with one client, the mean latency of each operation (s)."""
    figures = list(m.cpu_s.values())
    if _single_client(m):
        figures += [float(samples.mean()) for samples in m.succeeded.values()]
    return np.array(figures)


def _no_contention_s(network: Network, requests: Requests, sample: Trace, m: Measured) -> list[float]:
    """Return the mean no-contention latency of each operation with successful requests."""
    routes = tuple(replace(r, policy=NO_POLICY) for r in network.routes)
    demands = mean_demands(replace(network, routes=routes, scenario=()), requests)
    result = []
    for op in m.succeeded:
        requested = sample.op[: len(requests)] == OPS.index(op)
        fraction = np.bincount(requests.route[requested], minlength=len(routes))
        result.append(float(fraction @ np.nan_to_num(demands.no_contention_s) / max(fraction.sum(), 1)))
    return result


def _single_client(m: Measured) -> bool:
    """Whether requests never overlap."""
    return m.trace.pacing.loop == "closed" and m.trace.pacing.clients == 1


def _shapes(spec: Spec, fits: Mapping[str, Fit], measured: Sequence[Measured]) -> dict[str, float]:
    """Return coefficients of variation, and fraction and factor of slow modes, from the latencies of one client."""
    found: dict[str, list[float]] = {}
    for m in (m for m in measured if _single_client(m)):
        for op in m.succeeded:
            for path, value in _shape_of(spec, fits, op, m).items():
                found.setdefault(path, []).append(value)
    return {path: float(np.median(several)) for path, several in found.items()}


def _shape_of(spec: Spec, fits: Mapping[str, Fit], op: str, m: Measured) -> dict[str, float]:
    samples = m.succeeded[op]
    size = np.array([int(m.run.column("transfer_bytes")[m.run.op == OPS.index(op)].mean())])
    shaped = {
        path: float(demand.mean_s(size)[0])
        for path in fits
        if fits[path].estimated not in (None, "mean") and _requested_by(path, op)
        for demand in _demands_of(spec, path)
    }
    q25, q75 = quantiles(samples, [0.25, 0.75])
    spread_s = (q75 - q25) / 1.349  # a normal distribution's interquartile range in standard deviations
    spread = [path for path in shaped if fits[path].estimated == "spread"]
    whole_s = math.sqrt(sum(shaped[path] ** 2 for path in spread))
    result = {path: spread_s / whole_s for path in spread if whole_s}
    fraction, slow_s = slow_mode(samples)
    for path in (path for path in shaped if fits[path].estimated == "tail fraction" and slow_s):
        usual_s = (shaped[path] - fraction * slow_s) / (1 - fraction)
        result[path] = fraction
        if usual_s > 0:
            section = path.rpartition(".")[0]
            same = (p for p in shaped if fits[p].estimated == "tail factor" and p.rpartition(".")[0] == section)
            result |= dict.fromkeys(same, slow_s / usual_s)
    return result


def slow_mode(samples: Floats) -> tuple[float, float]:
    """Estimate a slow mode: the fraction of samples that it affects, and the mean that it adds, if exponential.

    The estimate uses the samples beyond Tukey's outer fence (upper quartile plus 3 interquartile ranges), as far as
    they exceed those of a lognormal distribution with the same quartiles. Beyond any point, an exponential tail has the
    same mean, and its fraction is smaller by a known factor. Returns 0 and 0 if the excess is not significant.
    """
    q25, median, q75 = quantiles(samples, [0.25, 0.5, 0.75])
    fence = q75 + 3 * (q75 - q25)
    beyond = samples[samples > fence]
    if not len(beyond) or not 0 < q25 < q75:
        return 0.0, 0.0
    usual = len(samples) * float(scipy.special.ndtr(-1.349 * math.log(fence / median) / math.log(q75 / q25)))
    more, mean = len(beyond) - usual, float(beyond.mean() - fence)
    if more < 3 + 3 * math.sqrt(usual):
        return 0.0, 0.0
    fraction = more / len(samples)
    return min(0.5, fraction * math.exp(min(5.0, float(fence - median) / mean))), mean


def _requested_by(path: str, op: str) -> bool:
    """Whether a demand belongs to an operation: by its name in the path, else as a read or a write."""
    named = [part for part in path.split(".") if part in OPS]
    return op in named if named else (op in ops_that("changes")) == (".read." not in path)


def _demands_of(spec: Spec, path: str) -> list[ServiceDemand]:
    """Return the innermost demand on a path; empty if there is none."""
    return [place for place in sections_of(spec, path) if isinstance(place, ServiceDemand)][-1:]


def _batching(measured: Sequence[Measured]) -> list[str]:
    """Describe how throughput grows from one client to several in otherwise equal Runs, which shows batching."""
    rates: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for m in (m for m in measured if m.trace.pacing.loop == "closed"):
        ops = summarise(m.run)["ops"]
        for op in m.succeeded:
            of_clients = rates.setdefault((op, _size_text(m, op), " ".join(ops)), {})
            of_clients.setdefault(m.trace.pacing.clients, []).append(ops[op]["throughput_ops"])
    return [
        f"{op} of {size}: the throughput of {clients} clients is "
        f"{np.median(several) / np.median(of_clients[1]):.2f} times that of one"
        for (op, size, _), of_clients in rates.items()
        for clients, several in sorted(of_clients.items())
        if clients > 1 and 1 in of_clients
    ]


def _size_text(m: Measured, op: str) -> str:
    return f"{int(m.run.column('transfer_bytes')[m.run.op == OPS.index(op)].mean()):,} B"


def _size_break(spec: Spec, measured: Sequence[Measured]) -> list[str]:
    """Describe between which sizes a PUT's latency minus its CPU time jumps, which shows the store's inline limit."""
    inline_limit_bytes = store_of(spec).inline_limit_bytes
    if inline_limit_bytes is None:
        return []
    limit = inline_limit_bytes(spec)
    beyond_s: dict[int, list[float]] = {}
    for m in (m for m in measured if _single_client(m) and len(m.succeeded) == 1 and len(m.cpu_s) == 2):
        ((op, latency_s),) = m.succeeded.items()
        sizes = np.unique(m.run.column("size_bytes"))
        if op in ops_that("creates") and len(sizes) == 1:
            median_s = float(np.median(latency_s))
            beyond_s.setdefault(int(sizes[0]), []).append(median_s - sum(m.cpu_s.values()))
    ordered = [(size, float(np.median(several))) for size, several in sorted(beyond_s.items())]
    steps = [(b[1] - a[1], a[0], b[0]) for a, b in itertools.pairwise(ordered)]
    if not steps or max(steps)[0] <= 0:
        return []
    step_s, below, above = max(steps)
    inside = below <= limit < above
    return [
        f"without its CPU time, a PUT of {above:,} B takes {step_s * 1e3:.2g} ms longer than one of {below:,} B; the "
        f"spec's inline limit of {limit:,} B is {'between these sizes' if inside else 'elsewhere'}"
    ]
