"""Operations on a JuiceFS mount over a MinIO in a box, predicted next to measured.

    python benchmarks/box/juicefs_box.py --out cells.csv

Starts a MinIO of one drive with known drive and links (examples/lab/hdd.yaml), and a JuiceFS on it with a Redis whose
round takes 0 or 1 ms longer. Each cell is a trace in a closed loop, replayed on the mount and simulated with
examples/juicefs/box.yaml. Only CPU times are fitted: those of MinIO to single PUTs and GETs without JuiceFS; that of a
call, and of a round to the local Redis or the delaying proxy, to `stat` and `mkdir`; and that of a byte to writes into
the buffer (rows with `fitted` in the CSV). Needs what a box needs, and root.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import yaml

from models.store import load_spec
from sim.simulate import simulate
from traces.run import Run
from traces.statistics.summary import latencies
from traces.trace import OPTIONAL_FIELDS, TRACE_SCHEMA, Pacing, Trace
from validate.lab import lab
from validate.lab.box.shape import read_shape
from validate.lab.file_systems import lifecycle
from validate.lab.file_systems.file_system import FileSystemForm
from validate.mount.mount_path import MOUNT
from validate.replay.plan import Options
from validate.replay.replay import replay

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
DELAYS_S = (0.0, 1e-3)
FITTED = ("stat", "mkdir", "write 64 MiB into the buffer")
"""Cells to which the times of a round, of a call and of a byte are fitted, at each delay."""

SIZES = 4096, 4 * MIB
LIGHT_REQUESTS = 30
DELETIONS_S = 10.0  # after a cell, until its blocks are deleted, which is in the background

Row = tuple[str, str, dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    """A load: its rows (operation, path, columns), and the operation whose latencies count.

    Attributes:
        clients: of the closed loop.
        payload_bytes: of all rows, if throughput is that of bytes.
    """

    name: str
    op: str
    rows: Sequence[Row]
    clients: int = 1
    payload_bytes: int = 0

    @property
    def trace(self) -> Trace:
        """The rows as a Trace."""
        names = [*TRACE_SCHEMA, *OPTIONAL_FIELDS[1:]]
        plain = {"arrival_s": 0.0, "think_s": 0.0, "phase": 0, "bucket": "b", "size_bytes": 0}
        columns = {
            field.name: [
                op if field.name == "op" else key if field.name == "key" else {**plain, **more}.get(field.name)
                for op, key, more in self.rows
            ]
            for field in names
        }
        arrays = [pa.array(columns[field.name]).cast(field.type) for field in names]
        return Trace.of(pa.Table.from_arrays(arrays, schema=pa.schema(names)), Pacing("closed", self.clients))


def pieces(op: str, key: str, total: int, piece: int, size: int) -> Iterator[Row]:
    """Yield reads or writes of a file from its begin to `total` bytes."""
    for at in range(0, total, piece):
        yield op, key, {"range_start_bytes": at, "range_bytes": piece, "size_bytes": size, "handle": 1}


def cells(fraction: float) -> list[Cell]:
    """Return the cells; `fraction` of the full number of operations and bytes."""
    count = max(4, round(60 * fraction))
    large, read = (max(8, round(mib * fraction)) * MIB for mib in (512, 256))
    blocks = np.random.default_rng(1).permutation(read // (4 * MIB))[:count].tolist()
    small, opened = {"size_bytes": 4096}, {"size_bytes": read, "handle": 1}

    def each(op: str, **columns: Any) -> list[Row]:
        first = [{"think_s": 2.0}] + [{}] * (count - 1)  # attributes of files made before expire
        return [(op, f"{op.lower()}/f{i}", {**columns, **more}) for i, more in enumerate(first)]

    def at_places(op: str, offset: int, size: int, think_s: float, then: str = "") -> list[Row]:
        rows: list[Row] = [("OPEN", "big", opened)]
        for block in blocks:
            where = {"range_start_bytes": block * 4 * MIB + offset, "range_bytes": size, "think_s": think_s}
            rows.append((op, "big", {**opened, **where}))
            rows += [(then, "big", opened)] if then else []
        return [*rows, ("CLOSE", "big", opened)]

    new = {"size_bytes": 0, "handle": 1}
    return [
        Cell("stat", "STAT", each("STAT", **small)),
        Cell("mkdir", "MKDIR", each("MKDIR")),
        Cell("write 64 MiB into the buffer", "WRITE", [
            ("CREATE", "new", new), *pieces("WRITE", "new", large // 8, MIB, large // 8),
        ], payload_bytes=large // 8),
        Cell("write 512 MiB", "WRITE", [
            ("CREATE", "new", new), *pieces("WRITE", "new", large, MIB, large),
            ("FSYNC", "new", {**new, "size_bytes": large}), ("CLOSE", "new", {**new, "size_bytes": large}),
        ], payload_bytes=large),
        Cell("read 256 MiB sequentially", "READ", [
            ("OPEN", "big", opened), *pieces("READ", "big", read, MIB, read), ("CLOSE", "big", opened),
        ], payload_bytes=read),
        Cell("read 4 KiB in blocks", "READ", at_places("READ", MIB, 4096, 0.5)),
        Cell("read 4 KiB at starts of blocks", "READ", at_places("READ", 0, 4096, 0.1)),
        Cell("overwrite 4 KiB and fsync", "FSYNC", at_places("WRITE", 5000, 4096, 0.0, "FSYNC")),
        Cell("create 4 KiB, 1 client", "PUT", each("PUT", **small)),
        Cell("create 4 KiB, 8 clients", "PUT", [
            ("PUT", f"d{i % 8}/f{i}", small) for i in range(4 * count)], clients=8),
        Cell("rename", "RENAME", [
            (op, key, {**more, "target": f"renamed/f{i}"})
            for i, (op, key, more) in enumerate(each("RENAME", **small))]),
        Cell("unlink", "UNLINK", each("UNLINK", **small)),
        Cell("readdir of 25 files", "READDIR", [
            *(("STAT", f"dir{i}/f{j}", small) for i in range(count // 4) for j in range(25)),
            *(("READDIR", f"dir{i}", {"phase": 1}) for i in range(count // 4))]),
    ]  # fmt: skip


def figures(run: Run, cell: Cell) -> dict[str, float]:
    """Return throughput (MB/s, or op/s of the operation that counts), p50 and p99 in ms."""
    chosen = np.array(run.requests.column("op").to_pylist()) == cell.op
    begins, ends = run.column("arrival_s"), run.column("end_s")
    span_s = float(ends.max() - begins.min()) if cell.payload_bytes else float(
        ends[chosen].max() - begins[chosen].min()
    )  # fmt: skip
    moved = cell.payload_bytes / 1e6 if cell.payload_bytes else float(chosen.sum())
    p50, p99 = np.quantile(latencies(run, cell.op), [0.5, 0.99]) * 1e3
    return {"throughput": moved / span_s, "p50_ms": float(p50), "p99_ms": float(p99)}


def median_ms(run: Run, op: str) -> float:
    """Return the median latency of an operation in ms."""
    return float(np.median(latencies(run, op))) * 1e3


def light(op: str, size_bytes: int, count: int) -> Trace:
    """Return single requests to the store below."""
    return Cell(op, op, [(op, f"k{i}", {"size_bytes": size_bytes}) for i in range(count)]).trace


def with_values(values: dict[str, float], below: bool = False) -> Any:
    """Return the spec of the box, or of its store below, with other values."""
    data = yaml.safe_load((ROOT / "examples/juicefs/box.yaml").read_text())
    given = [f"{path}={value!r}" for path, value in values.items()]
    if not below:
        return load_spec(ROOT / "examples/juicefs/box.yaml", given)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "below.yaml"
        path.write_text(yaml.safe_dump({**data["below"], "workload": data["workload"]}))
        return load_spec(path, [each.removeprefix("below.") for each in given])


def store_cpu(runs: Mapping[str, Run]) -> dict[str, float]:
    """Return the CPU times of the store for which single requests take as long as measured.

    Latencies of single requests are a sum, so a difference to a simulation without CPU times is the CPU time.
    """
    found: dict[str, float] = {}
    for op in ("GET", "PUT"):
        took_ms = []
        for size in SIZES:
            run = runs[light_name(op, size)]
            assert run.trace is not None
            without = simulate(with_values({f"below.hosts.cpu.{op}": 0.0}, below=True), run.trace, seed=1)
            took_ms.append(max(median_ms(run, op) - median_ms(without, op), 0.05))
        found[f"below.hosts.cpu.{op}.constant"] = took_ms[0] / 1e3
        found[f"below.hosts.cpu.{op}.per_byte"] = max(took_ms[1] - took_ms[0], 0.0) / 1e3 / SIZES[1]
    if (run := runs.get(light_name("DELETE", SIZES[0]))) is not None:
        assert run.trace is not None
        without = simulate(with_values({"below.hosts.cpu.DELETE": 0.0}, below=True), run.trace, seed=1)
        found["below.hosts.cpu.DELETE"] = max(median_ms(run, "DELETE") - median_ms(without, "DELETE"), 0.05) / 1e3
    return found


def mount_cpu(known: dict[str, float], measured: dict[str, float], chosen: Sequence[Cell]) -> dict[str, float]:
    """Return the times of a round, a call and a byte for which `FITTED` take as long as measured (medians in ms).

    A round takes twice the latency to the engine; writes into the buffer have no round.
    """
    ops = sorted({op for cell in chosen for op, _, _ in cell.rows})
    none = {f"mounts.cpu.{op}.constant": 0.0 for op in ops}
    by_name = {cell.name: cell for cell in chosen}
    rows, wanted = [], []
    for cell in (by_name[name] for name in FITTED[:2]):
        base, slower = (
            median_ms(simulate(with_values({**known, **none, "metadata.latency": s}), cell.trace, seed=1), cell.op)
            for s in (0.0, 1e-3)
        )
        rows.append([1.0, slower - base])  # of a call, and of 1 ms of latency
        wanted.append(measured[cell.name] - base)
    call_ms, latency_ms = np.maximum(np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0], [0.01, 0.005])
    byte_s = max(measured[FITTED[2]] - float(call_ms), 0.0) / 1e3 / MIB
    found = dict.fromkeys(none, float(call_ms) / 1e3)
    found |= {f"mounts.cpu.{op}.per_byte": byte_s for op in ("READ", "WRITE", "PUT")}
    return {"metadata.latency": float(latency_ms) / 1e3, **found}


def measure(fraction: float, folder: Path) -> None:
    """Measure single requests to the store and all cells, and write the Runs to a folder."""
    shape = read_shape(ROOT / "examples/lab/hdd.yaml")
    try:
        store = lab.up("minio", shape=shape)
        for op in ("GET", "PUT"):
            for size in SIZES:
                requests = light(op, size, max(4, round(LIGHT_REQUESTS * fraction)))
                replay(requests, store.target, Options()).write(folder / light_name(op, size))
        for delay_s in DELAYS_S:
            fs = lifecycle.up("juicefs", store, FileSystemForm(metadata_delay_s=delay_s))
            for cell in cells(fraction):
                run = replay(cell.trace, fs.target_on(store), Options(data_path=MOUNT, verify=0.1, timeout_s=300.0))
                run = Run.of(run.requests, run.info | {"load_average": os.getloadavg()[0]}, trace=run.trace)
                run.write(folder / _name(delay_s, cell))
                print(_name(delay_s, cell), figures(run, cell), flush=True)
                time.sleep(DELETIONS_S)
            lifecycle.down("juicefs")
    finally:
        lifecycle.down("juicefs")
        lab.down("minio")


def light_name(op: str, size_bytes: int) -> str:
    """Return the name of the Run of single requests."""
    return f"minio-{op}-{size_bytes}"


def _name(delay_s: float, cell: Cell) -> str:
    return f"{delay_s * 1e3:g}ms-{cell.name}".replace(" ", "-").replace(",", "")


def predicted_rows(fraction: float, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row of the CSV for each cell that was measured."""
    runs = {path.name: Run.read(path) for path in sorted(folder.iterdir()) if path.is_dir()}
    of_store = store_cpu(runs)
    for delay_s in DELAYS_S:
        found = {cell.name: (cell, runs[_name(delay_s, cell)]) for cell in cells(fraction)}
        medians = {name: median_ms(run, cell.op) for name, (cell, run) in found.items()}
        known = of_store | mount_cpu(of_store, medians, cells(fraction))
        print(f"{delay_s * 1e3:g} ms:", ", ".join(f"{path} {value:.3g}" for path, value in known.items()))
        for cell, run in found.values():
            yield _row(delay_s, cell, run, known)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and predict all cells, and write a CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="CSV to write; Runs go to a folder of its name")
    parser.add_argument("--size", type=float, default=1.0, help="fraction of operations and bytes (default: 1)")
    parser.add_argument(
        "--again", action="store_true", help="predict Runs that were measured before (default: measure)"
    )
    given = parser.parse_args(arguments)
    folder = given.out.with_suffix("")
    if not given.again:
        folder.mkdir(parents=True)
        measure(given.size, folder)
    rows = list(predicted_rows(given.size, folder))
    with given.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else str(v) for k, v in row.items()))


def _row(delay_s: float, cell: Cell, run: Run, known: dict[str, float]) -> dict[str, Any]:
    """Return a row of the CSV: measured and predicted figures, errors in percent, and the load of the machine."""
    predicted = figures(simulate(with_values(known), cell.trace, seed=1), cell)
    measured = figures(run, cell)
    found: dict[str, Any] = {"redis_delay_ms": delay_s * 1e3, "cell": cell.name, "op": cell.op}
    found["fitted"] = "yes" if cell.name in FITTED else "no"
    found["failed"] = int(run.failed.sum())
    for name, value in measured.items():
        found |= {f"measured_{name}": value, f"predicted_{name}": predicted[name]}
        found[f"error_{name}_percent"] = 100 * (predicted[name] / value - 1)
    found["other_load_percent"] = 100 * float(run.info["cpu"]["other_share"] or 0.0)
    return found | {"load_average": run.info["load_average"]}


if __name__ == "__main__":
    main()
