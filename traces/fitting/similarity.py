"""Compare a trace with a trace generated from its fitted workload, figure by figure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from traces.fitting.closed_loop import Loop
from traces.fitting.popularity import RequestedObjects
from traces.fitting.workload import Fitted
from traces.operations import OPS, ops_that
from traces.random_streams import stream_id, uniforms
from traces.run import Run
from traces.statistics.burstiness import tick
from traces.statistics.characteristics import figures
from traces.tables import with_column
from traces.trace import Pacing, Trace
from traces.workload.generate import generate

_AIM = 1.1  # tolerance factor of peaks, dispersion, reuse and hit ratios of a long trace
_AIM_HITS = 0.02  # difference of hit ratios that is tolerated even beyond the factor
_LONG = 100_000  # requests; chance alone is larger than the aim in shorter traces
_FIRM = 1.25  # tolerance factor of means and fractions; assumed
_LOOSE = 2.0  # tolerance factor of tails and of counts of rare events; assumed
_LEAST_FRACTION = 0.01  # of requests: rarer operations are not compared
_LEAST_REUSED = 0.05
_GAP_CV = "CV of inter-arrival times"
_HITS = "LRU hits"
_REUSE = "reuse distance"
_NOTHING_S = 1e-5  # shorter think times count as 0


@dataclass(frozen=True)
class FigureComparison:
    """One figure of a trace and of the trace generated from its workload.

    Attributes:
        name: name of the figure, with its unit.
        original: value of the original trace.
        generated: value of the generated trace.
        factor: tolerance factor; None if the figure is not compared.
        absolute: difference that is tolerated even beyond the factor.
    """

    name: str
    original: float
    generated: float
    factor: float | None
    absolute: float = 0.0

    @property
    def ratio(self) -> float:
        """Generated / original; 1 if both are 0."""
        if self.original == self.generated:
            return 1.0
        return self.generated / self.original if self.original else math.inf

    @property
    def agrees(self) -> bool:
        """Whether both values agree within the tolerance; true if they are not compared."""
        near = abs(self.generated - self.original) <= self.absolute
        return self.factor is None or near or 1 / self.factor <= self.ratio <= self.factor

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a mapping, ready for JSON."""
        parts = {"name": self.name, "original": self.original, "generated": self.generated, "ratio": self.ratio}
        return {**parts, "factor": self.factor, "absolute": self.absolute, "agrees": self.agrees}


def comparable_trace(fitted: Fitted, original: Trace, seed: int) -> Trace:
    """Generate a trace to compare with the original; for a closed loop, with the same number of requests."""
    workload = fitted.workload
    if workload.rate is None and workload.operations is None:
        one_pass = generate(workload.model_copy(update={"operations": len(original), "duration": None}), seed)
        return replace(one_pass, pacing=replace(original.pacing, clients=workload.clients))
    return generate(workload, seed)


def compare_figures(original: Trace, run: Run | None, generated: Trace) -> list[FigureComparison]:
    """Compare the figures that both traces have.

    Args:
        original: the original trace.
        run: its Run, if there is one.
        generated: the generated trace.
    """
    of_first = figures(original, run)
    generated = at_clock(generated, original)
    windows = np.array([row["window_s"] for row in of_first["dispersion"]])
    of_second = figures(generated, None, windows)
    chance = {op: _size_chance(original, op) for op in of_first["ops"] if op in ops_that("moves_bytes")}
    chance |= {op: 0.0 for op in of_second["ops"] if op not in chance}
    first, second = (_flat(f, chance) for f in (of_first, of_second))
    return [
        FigureComparison(name, value, second[name][0], factor, _absolute(name))
        for name, (value, factor) in first.items()
        if name in second and math.isfinite(value)
    ]


def _absolute(name: str) -> float:
    """Return the difference of a figure that is tolerated even beyond its factor."""
    if name.startswith(_HITS):
        return _AIM_HITS
    return 1.0 if name.startswith(_REUSE) else 0.0


def at_clock(trace: Trace, original: Trace) -> Trace:
    """Return the trace with arrivals rounded down to the ticks of the original's clock; unchanged if that is fine."""
    tick_s = tick(original.arrival_s)
    if not tick_s or trace.pacing.loop != "open":
        return trace
    ticks = np.floor(trace.arrival_s / tick_s) * tick_s
    return Trace.of(with_column(trace.table, "arrival_s", pa.array(ticks)), trace.pacing)


def as_closed(original: Trace, loop: Loop | None, seed: int) -> Trace:
    """Return the trace as the closed loop detected in its log: rows in order, think times resampled."""
    if loop is None or original.pacing.loop == "closed":
        return original
    n = len(original)
    draws = uniforms(seed, stream_id("fit/think"), 0, n)
    think = loop.think_s[(draws * len(loop.think_s)).astype(np.int64)]
    table = with_column(original.table, "arrival_s", pa.array(np.zeros(n)))
    table = with_column(table, "think_s", pa.array(think))
    return Trace.of(table, Pacing("closed", loop.clients), "trace", original.origin)


def _size_chance(trace: Trace, op: str) -> float:
    """Return the relative standard error of the mean size, which is large if few objects receive most requests."""
    rows = trace.op == OPS.index(op)
    sizes, objects = trace.size_bytes[rows], RequestedObjects.of(trace).objects[rows]
    hits = np.unique(objects, return_counts=True)[1].astype(np.float64)
    effective = hits.sum() ** 2 / (hits**2).sum()  # Kish's effective sample size
    return float(sizes.std() / max(sizes.mean(), 1.0) / math.sqrt(effective))


def _flat(found: dict[str, Any], size_chance: dict[str, float]) -> dict[str, tuple[float, float | None]]:
    """Map the name of each figure to its value and tolerance factor; `size_chance` is by operation."""
    flat: dict[str, tuple[float, float | None]] = {}
    is_long = found["requests"] >= _LONG
    arrivals, keys, reuse = found["arrivals"], found["keys"], found["reuse"]
    if found["workers"] is not None:
        think = found["workers"]["think_s"]
        flat["clients"] = found["workers"]["clients"], _FIRM
        for name in ("mean", "p90"):
            flat[f"think time {name} (s)"] = think[name], _FIRM if think[name] > _NOTHING_S else None
    elif arrivals is not None and arrivals["rate_ops"] is not None:
        flat["rate (1/s)"] = arrivals["rate_ops"], _FIRM
        flat[_GAP_CV] = math.sqrt(arrivals["gap_scv"]), _AIM if is_long else None
        for row in found["bursts"]:
            flat[f"peak to mean in {row['window_s']:.0f} s"] = row["peak_to_mean"], _AIM if is_long else _LOOSE
            flat[f"dispersion in {row['window_s']:.0f} s"] = row["idc"], _AIM if is_long else _LOOSE
        for row in found["dispersion"]:
            flat[f"dispersion in sliding windows of {row['window_s']:.3g} s"] = row["idc"], _LOOSE
    for op, figure in found["ops"].items():
        fraction, sizes = figure["count"] / found["requests"], figure["size_bytes"]
        enough = fraction >= _LEAST_FRACTION and figure["count"] >= 100
        flat[f"{op} fraction"] = fraction, _FIRM if enough else None
        if op not in ops_that("moves_bytes"):  # logs often lack the sizes for other operations
            continue
        for name, factor in (("mean", _FIRM), ("p50", _LOOSE), ("p90", None), ("p99", None)):
            tolerance = factor * (1 + 3 * size_chance[op]) if factor and enough else None
            flat[f"{op} size {name} (B)"] = sizes[name], tolerance
    if keys is not None:
        flat["objects"] = keys["distinct"], _FIRM
        flat["top object's fraction of requests"] = (
            keys["top_fraction"],
            _LOOSE if keys["top_fraction"] * found["requests"] > 100 else None,
        )
        flat["one-hit fraction of objects"] = (
            keys["one_hit_fraction"],
            _LOOSE if keys["one_hit_fraction"] > _LEAST_REUSED else None,
        )
        flat |= {
            f"{op} Zipf exponent": (found["popularity"][op]["exponent"], None)
            for op in ops_that("moves_bytes")
            if op in found["ops"]
        }
        flat["fraction of repeated requests"] = reuse["fraction"], _FIRM if reuse["fraction"] > _LEAST_REUSED else None
        for name in ("p10", "p50", "p90", "p99"):
            if reuse[name] is not None:
                factor = _AIM if is_long else _LOOSE if name in ("p50", "p90") else None
                flat[f"{_REUSE} {name}"] = reuse[name], factor if reuse["fraction"] > _LEAST_REUSED else None
        for row in found["lru_hits"]:
            of = f"{100 * row['fraction']:.3g} %"
            flat[f"{_HITS}, {of} of the objects"] = row["of_objects"], _AIM
            flat[f"{_HITS}, {of} of the bytes"] = row["of_bytes"], _AIM
            chance = 0.0 if is_long else 3 * max(size_chance.values(), default=0.0)
            flat[f"{_HITS} by bytes, {of} of the bytes"] = row["bytes_of_bytes"], _AIM * (1 + chance)
    return flat
