"""What jobs of fio say of a drive: figures with intervals, a data sheet, and what the model of a drive leaves out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from models.site.hardware.fio import FIO
from models.site.reader import SiteFile
from traces.spec.units import parse_duration
from validate.probe.cores import Cores
from validate.probe.jobs import JOBS

LEVEL = 0.95
_UNEXPLAINED = 0.2  # a difference from the model that is reported
_DRIFT = 0.2
_TAIL = 3.0
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Figure:
    """A figure of a drive: its mean over the rounds, and its interval; NaN: there was one round.

    Attributes:
        name: as a data sheet names it.
        unit: ``1/s``, ``B/s`` or ``s``.
    """

    name: str
    unit: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Probe:
    """What was measured: figures of the drive, sentences on what its model leaves out, cores, and fio's document."""

    figures: tuple[Figure, ...]
    unexplained: tuple[str, ...]
    cores: Cores
    fio: Mapping[str, Any]

    @property
    def data_sheet(self) -> dict[str, str | float]:
        """The figures as the section `data_sheet` of a drive, in which no latency may be below 1 / IOPS."""
        means = {each.name: each.mean for each in self.figures}
        return {
            each.name: _text(each)
            for each in self.figures
            if not each.name.endswith("_latency")
            or each.mean * means[each.name.replace("latency", "iops")] > 1 + _ROUNDING
        }

    def to_json(self) -> Mapping[str, Any]:
        """Return what `models.site.hardware.probe` reads: fio's document with figures and cores."""
        return {
            **self.fio,
            "probe": {
                "data_sheet": self.data_sheet,
                "level": LEVEL,
                "figures": [vars(each) for each in self.figures],
                "unexplained": list(self.unexplained),
                "cores": vars(self.cores),
            },
        }


def probe_of(document: Mapping[str, Any], cores: Cores) -> Probe:
    """Return what the jobs of all rounds say."""
    rounds = [_facts(document, number) for number in range(len(document["jobs"]) // len(JOBS))]
    names = (
        ("read_iops", "drive.read.iops", "1/s"), ("write_iops", "drive.write.iops", "1/s"),
        ("read_bandwidth", "drive.read.bandwidth", "B/s"), ("write_bandwidth", "drive.write.bandwidth", "B/s"),
        ("read_latency", "drive.read.latency", "s"), ("write_latency", "drive.write.latency", "s"),
        ("flush", "flush", "s"),
    )  # fmt: skip
    figures = tuple(_figure(name, unit, [facts[fact] for facts in rounds]) for name, fact, unit in names)
    return Probe(figures, tuple(unexplained(document, figures)), cores, document)


def _facts(document: Mapping[str, Any], number: int) -> dict[str, float]:
    jobs = document["jobs"][number * len(JOBS) : (number + 1) * len(JOBS)]
    facts = FIO.read(SiteFile("fio", json.dumps({**document, "jobs": jobs}))).facts
    found = {name: float(value) for name, value in facts.items() if isinstance(value, int | float)}
    durable_s = parse_duration(facts["drive.durable"])
    return {**found, "flush": max(durable_s - found["drive.write.latency"], 0.0)}


def _figure(name: str, unit: str, values: Sequence[float]) -> Figure:
    """Return the mean of rounds with its interval by Student's t, on the logarithmic scale unless one is 0."""
    each = np.array(values)
    if len(each) < 2:
        return Figure(name, unit, float(each.mean()), math.nan, math.nan)
    half = float(scipy.stats.t.ppf((1 + LEVEL) / 2, len(each) - 1)) / math.sqrt(len(each))
    if (each > 0).all():
        logs = np.log(each)
        middle, width = float(logs.mean()), half * float(logs.std(ddof=1))
        return Figure(name, unit, *(math.exp(value) for value in (middle, middle - width, middle + width)))
    middle, width = float(each.mean()), half * float(each.std(ddof=1))
    return Figure(name, unit, middle, max(middle - width, 0.0), middle + width)


def _text(figure: Figure) -> str | float:
    if figure.unit == "s":
        return f"{figure.mean * 1e6:.4g}us"
    return f"{figure.mean / 1e6:.4g}MB/s" if figure.unit == "B/s" else float(f"{figure.mean:.4g}")


def unexplained(document: Mapping[str, Any], figures: Sequence[Figure]) -> Iterator[str]:
    """Yield what the model of a drive, one exclusive part and one that overlaps, leaves out of what was measured."""
    known = {each.name: each.mean for each in figures}
    for way in ("read", "write"):
        jobs = [each for each in document["jobs"] if re.fullmatch(rf"{way}s, 4 at a time", each["jobname"])]
        measured = float(np.mean([each[way]["iops"] for each in jobs]))
        expected = closed_rate(4, 1 / known[f"{way}_iops"], known[f"{way}_latency"])
        if abs(math.log(expected / measured)) > _UNEXPLAINED:
            yield (
                f"{way}s, 4 at a time: the model of a drive expects {expected:,.0f}/s, measured were {measured:,.0f}/s"
            )
        alone = [each[way]["clat_ns"] for each in document["jobs"] if each["jobname"] == f"{way} alone"]
        tails = [one["percentile"]["99.900000"] / one["mean"] for one in alone if "percentile" in one and one["mean"]]
        if tails and float(np.mean(tails)) > _TAIL:
            yield (
                f"a {way} alone: one in a thousand takes {np.mean(tails):.3g} times the mean or more, such as by "
                "garbage collection, write-back, or other work on the drive"
            )
    large = [each["write"]["bw_bytes"] for each in document["jobs"] if each["jobname"] == "large writes"]
    if len(large) > 1 and large[-1] < (1 - _DRIFT) * large[0]:
        yield (
            f"large writes: {large[0] / 1e6:,.0f} MB/s in the first round, {large[-1] / 1e6:,.0f} MB/s in the last, "
            "as if a cache were full; measure for longer, with a larger file"
        )


def closed_rate(clients: int, exclusive_s: float, latency_s: float) -> float:
    """Return the rate in 1/s of some accesses at a time, by exact mean value analysis.

    Reiser and Lavenberg, "Mean-value analysis of closed multichain queueing networks", Journal of the ACM 27(2), 1980.

    Args:
        clients: accesses at a time.
        exclusive_s: part of an access during which others wait.
        latency_s: time of an access alone; the rest of it overlaps with others.
    """
    rest_s, waiting, rate = max(latency_s - exclusive_s, 0.0), 0.0, 0.0
    for count in range(1, clients + 1):
        response_s = exclusive_s * (1 + waiting)
        rate = count / (response_s + rest_s)
        waiting = rate * response_s
    return rate
