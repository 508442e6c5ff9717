"""Measures a live MinIO of the lab: operations x sizes x closed-loop clients, and open loads at fractions of capacity.

    python benchmarks/box/minio_sweep.py --form one-drive --out OUT [--only 'GET-4KiB-c*'] [--seconds S] [--repeats N]
    python benchmarks/box/minio_sweep.py --form 4x2 --shape examples/lab/hdd.yaml --out OUT [--requests N] …

Every window (one measurement of one cell) is a Run in ``OUT/FORM/CELL/REPEAT``; with a shape, the store stands in a box
and FORM has the shape's name in it. A window ends after its seconds or its requests. All cells are measured once, in
random order, then all once more: the machine's drift hits all alike. Open loads follow at once the cell whose
throughput is the capacity that they are fractions of. Windows that are there are skipped, so a sweep that was broken
off goes on.

A window in which other processes or the hypervisor took much of the machine is discarded and measured again, at most
twice; then it is left out, and measured by the next call. A Run's info says under ``sweep`` what was discarded before
it. No window pays for what came before it: MinIO only puts deleted objects aside, for a cleaner that comes every five
minutes, so those of the window before are removed; and dirty pages are written back (sync(2)), before each window and
again once the objects that it reads are there.

At the end: medians over the repeats and the noise band, which is the spread between them.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import random
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sweep_cells import CLIENTS, OBJECTS, SIZES, Cell, Window, all_cells, capacity_ops, summary

from models.shared.client_policy import ClientPolicies
from models.shared.multipart import Multipart
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import validated
from traces.statistics.summary import quantiles
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import Shape, read_shape
from validate.lab.minio.store import Minio
from validate.lab.store import Form, Store
from validate.replay.plan import Options
from validate.replay.replay import replay

TRIES = 3


@dataclass(frozen=True)
class Limits:
    """Maximum fractions of the machine's CPU time in a window for other processes, and for the hypervisor."""

    other_share: float
    steal_share: float

    def broken(self, cpu: dict[str, float | None]) -> dict[str, float]:
        """Return the fractions that exceed their limits; `cpu` is that of a Run's info."""
        shares = {"other_share": cpu["other_share"], "steal_share": cpu["steal_share"]}
        limits = {"other_share": self.other_share, "steal_share": self.steal_share}
        return {name: fraction for name, fraction in shares.items() if fraction is not None and fraction > limits[name]}


def main() -> int:
    """Measure what is missing, print the table; exit code 1 where windows were left out."""
    given = _arguments()
    try:
        given.form, form = _form(given.form, given.shape)
        windows = plan(_chosen(given.only, all_cells(given.sizes, given.clients)), given)
        left = windows if given.again else [window for window in windows if not window.finished]
        say(f"{len(windows)} windows, {len(windows) - len(left)} of them there already")
        missing = measure_all(left, given, form) if left else 0
        rows = summary(windows)
    except InputError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("interrupted; the same command goes on")
        return 130
    if given.json:
        print(json.dumps({"form": given.form, "missing": missing, "cells": rows}, indent=1))
    else:
        print_table(rows)
    if missing:
        say(f"{missing} windows were left out: too much other load; the same command measures them")
    return 1 if missing else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--form",
        default="one-drive",
        help=f"{', '.join(Minio.forms)}, or hosts x drives per host such as 3x4, with the set size: 3x4/6 "
        "(default: one-drive)",
    )
    parser.add_argument("--shape", type=Path, help="shape of a box (default: processes on loopback, plain folders)")
    parser.add_argument(
        "--sizes",
        nargs="+",
        choices=list(OBJECTS),
        default=list(SIZES),
        help=f"sizes of objects (default: {' '.join(SIZES)})",
    )
    parser.add_argument(
        "--clients",
        nargs="+",
        type=int,
        default=list(CLIENTS),
        help=f"closed-loop clients (default: {' '.join(map(str, CLIENTS))})",
    )
    parser.add_argument("--requests", type=int, help="greatest number of requests in a window (default: no limit)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a window (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="windows per configuration (default: %(default)s)")
    parser.add_argument(
        "--only",
        action="append",
        metavar="GLOB",
        help="configurations by name, such as 'GET-4KiB-*'; repeatable (default: all)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the requests and of the order (default: %(default)s)"
    )
    parser.add_argument("--again", action="store_true", help="repeat existing measurements")
    parser.add_argument(
        "--other-limit",
        type=float,
        default=0.10,
        help="maximum fraction of CPU time for other processes (default: %(default)s)",
    )
    parser.add_argument(
        "--steal-limit",
        type=float,
        default=0.02,
        help="maximum fraction of CPU time for the hypervisor (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    given = parser.parse_args()
    if given.seconds <= 0 or given.repeats < 1:
        parser.error("--seconds must be above 0, --repeats at least 1")
    return given


def _form(text: str, shape: Path | None) -> tuple[str, Form]:
    """Return the name and the form of the store."""
    if text in Minio.forms:
        form = Minio.forms[text]
    elif parts := re.fullmatch(r"(\d+)x(\d+)(?:/(\d+))?", text):
        form = Form(int(parts[2]), int(parts[1]), int(parts[3]) if parts[3] else None)
    else:
        raise InputError(f"--form {text!r} is neither {', '.join(Minio.forms)} nor hosts x drives such as 3x4 or 3x4/6")
    name = text.replace("/", "-")
    return (f"{name}-{shape.stem}" if shape else name), form


def _chosen(globs: list[str] | None, cells: list[Cell]) -> list[Cell]:
    for glob in globs or ():
        if not any(fnmatch.fnmatchcase(cell.name, glob) for cell in cells):
            raise InputError(f"--only {glob!r} names no cell; the names are like {cells[0].name} and {cells[-1].name}")
    return [c for c in cells if globs is None or any(fnmatch.fnmatchcase(c.name, glob) for glob in globs)]


def plan(cells: Sequence[Cell], given: argparse.Namespace) -> list[Window]:
    """All windows in the order in which they are measured; with those that the open loads' capacity is taken from."""
    order = random.Random(given.seed)
    windows = []
    for repeat in range(1, given.repeats + 1):
        groups: dict[Cell, list[Cell]] = {cell.reference or cell: [] for cell in cells}
        for cell in cells:
            if cell.reference is not None:
                groups[cell.reference].append(cell)
        for first in order.sample(list(groups), len(groups)):
            for cell in (first, *order.sample(groups[first], len(groups[first]))):
                facts = {"form": given.form, "cell": cell.name, "repeat": repeat}
                facts |= {"seconds": given.seconds, "requests": given.requests, "seed": given.seed}
                windows.append(Window(cell, repeat, given.out / given.form / cell.name / str(repeat), facts))
    return windows


def measure_all(windows: Sequence[Window], given: argparse.Namespace, form: Form) -> int:
    """Measure the windows and write their Runs; how many were left out."""
    limits, missing = Limits(given.other_limit, given.steal_limit), 0
    with lab_store(form, read_shape(given.shape) if given.shape else None) as store:
        began_s = time.monotonic()
        for done, window in enumerate(windows):
            capacity = _capacity(window)
            if window.cell.reference is not None and capacity is None:
                run, text = None, f"left out: the capacity is not known without {window.cell.reference.name}"
            else:
                run, text = measure(window, capacity, store, limits)
            missing += run is None
            left_min = (time.monotonic() - began_s) / (done + 1) * (len(windows) - done - 1) / 60
            say(f"[{done + 1}/{len(windows)}, {left_min:.0f} min left] {window.cell.name}/{window.repeat}: {text}")
    return missing


def _capacity(window: Window) -> float | None:
    """What an open load is a share of, from the window of its reference; None where that is not there."""
    reference = window.cell.reference
    if reference is None:
        return None
    folder = window.folder.parent.parent / reference.name / str(window.repeat)
    return capacity_ops(Run.read(folder)) if folder.is_dir() else None


def measure(window: Window, capacity: float | None, store: Store, limits: Limits) -> tuple[Run | None, str]:
    """Measure a window until it is undisturbed, at most `TRIES` times, and write it; what to say of it.

    Raises:
        KeyboardInterrupt: it was interrupted; nothing is written.
    """
    trace = window.cell.trace(window.facts["seconds"], window.facts["seed"], capacity, window.facts["requests"])
    discarded: list[dict[str, float]] = []
    for _ in range(TRIES):
        _clean(store)
        os.sync()
        multipart = _in_parts(window.cell.part) if window.cell.part else None
        run = replay(trace, store.target, Options(policies=ClientPolicies(multipart=multipart)), _settle)
        if run.info["aborted"]:
            raise KeyboardInterrupt
        if store.box is not None:
            run = with_accesses(store.box, run)
        for line in run.info["left_behind"]:
            say(f"warning: {line}")
        broken = limits.broken(run.info["cpu"])
        if not broken:
            run = replace(run, info=run.info | {"sweep": window.facts | {"discarded": discarded}})
            window.folder.parent.mkdir(parents=True, exist_ok=True)
            run.write(window.folder)
            p50_s, p99_s = quantiles(run.latency_s[~run.failed], [0.5, 0.99])
            text = f"{capacity_ops(run):.1f} op/s, p50 {1000 * p50_s:.2f} ms, p99 {1000 * p99_s:.2f} ms"
            errors = int(run.failed.sum())
            return run, text + f", {errors} errors" * (errors > 0) + f", {len(discarded)} discarded" * bool(discarded)
        discarded.append(broken)
    told = ", ".join(f"{name} {fraction:.0%}" for each in discarded for name, fraction in each.items())
    return None, f"left out: discarded {TRIES} times ({told})"


def _in_parts(size: str) -> Multipart:
    return validated(Multipart, {"threshold": size, "part_size": size}, size)


def _clean(store: Store) -> None:
    """Remove what is left of deleted objects."""
    for host in range(store.form.hosts):
        for drive in range(store.form.drives):
            for deleted in store.contents(host, drive).glob(".minio.sys/tmp/.trash/*"):
                shutil.rmtree(deleted, ignore_errors=True)


def _settle(stage: str, done: float, total: float) -> None:
    """Once the objects to be read are written: also to disk."""
    if stage == "prepare" and done == total:
        os.sync()


@contextlib.contextmanager
def lab_store(form: Form, shape: Shape | None = None) -> Iterator[Store]:
    """The lab's store in that form; one that was not up is taken down afterwards."""
    running = lab.status("minio")
    store = lab.up("minio", form, say, shape)
    try:
        yield store
    finally:
        if running is None:
            lab.down("minio")


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Medians over the repeats, each with the spread between them."""
    names = {"throughput_ops": ("op/s", 1), "p50_s": ("p50 ms", 1000), "p99_s": ("p99 ms", 1000)}
    print(f"{'cell':20} {'op':4} {'windows':>7} {'errors':>6}", *(f"{n:>9} {'spread':>7}" for n, _ in names.values()))
    for row in rows:
        figures = [f"{row[n]['median'] * by:9.2f} {100 * row[n]['spread']:6.0f}%" for n, (_, by) in names.items()]
        print(f"{row['cell']:20} {row['op']:4} {row['windows']:7d} {row['errors']:6d}", *figures)
    repeated = [row for row in rows if row["windows"] > 1]
    if repeated:
        bands = [f"{statistics.median(row[n]['spread'] for row in repeated):.1%}" for n in names]
        print(f"noise band, median over the cells: throughput {bands[0]}, p50 {bands[1]}, p99 {bands[2]}")


def say(text: str) -> None:
    """A line on stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
