"""Operations on an s3fs mount over a MinIO in a box, predicted next to measured.

    python benchmarks/box/s3fs_box.py --out cells.csv

Starts a MinIO of one drive with known drive and links (examples/lab/hdd.yaml), and an s3fs on it. Each cell is a trace
in a closed loop, replayed on the mount and simulated with examples/s3fs/box.yaml. Fitted are only the CPU times of
MinIO, to single PUTs, GETs and DELETEs without s3fs. Needs what a box needs, and root.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from juicefs_box import DELETIONS_S, LIGHT_REQUESTS, MIB, ROOT, SIZES, Cell, Row, figures, light, light_name, store_cpu

from models.store import load_spec
from sim.simulate import simulate
from traces.run import Run
from validate.lab import lab
from validate.lab.box.shape import read_shape
from validate.lab.file_systems import lifecycle
from validate.lab.file_systems.file_system import FileSystemForm
from validate.mount.mount_path import MOUNT
from validate.replay.plan import Options
from validate.replay.replay import replay

SPEC = ROOT / "examples/s3fs/box.yaml"
_ENTRIES = 25


def cells(fraction: float) -> list[Cell]:
    """Return the cells; `fraction` of the full number of operations and bytes."""
    count, few = max(4, round(60 * fraction)), max(2, round(4 * fraction))
    large, read = (max(16, round(mib * fraction)) * MIB for mib in (512, 256))
    small, new = {"size_bytes": 4096}, {"size_bytes": 0, "handle": 1}

    def each(op: str, **columns: Any) -> list[Row]:
        return [(op, f"{op.lower()}/f{i}", columns) for i in range(count)]

    def pieces(op: str, key: str, total: int) -> Iterator[Row]:
        for at in range(0, total, MIB):
            yield op, key, {"range_start_bytes": at, "range_bytes": MIB, "size_bytes": total, "handle": 1}

    def opened(then: Sequence[tuple[str, int]], key: str, number: int) -> list[Row]:
        """Return a file that is opened, read or written at a place, and closed."""
        of = {"size_bytes": read, "handle": number}
        calls = [(op, key, {**of, "range_start_bytes": at, "range_bytes": 4096}) for op, at in then]
        return [("OPEN", key, of), *calls, ("CLOSE", key, of)]

    return [
        Cell("stat", "STAT", each("STAT", **small)),
        Cell("mkdir", "MKDIR", each("MKDIR")),
        Cell("write 512 MiB", "CLOSE", [
            ("CREATE", "new", new), *pieces("WRITE", "new", large), ("CLOSE", "new", {**new, "size_bytes": large}),
        ], payload_bytes=large),
        Cell("read 256 MiB sequentially", "READ", [
            ("OPEN", "big", {"size_bytes": read, "handle": 1}), *pieces("READ", "big", read),
            ("CLOSE", "big", {"size_bytes": read, "handle": 1}),
        ], payload_bytes=read),
        Cell("read 4 KiB of a large file", "READ", [
            row for k in range(few) for row in opened([("READ", read // 3)], f"read{k}", k)]),
        Cell("overwrite 4 KiB of a large file", "CLOSE", [
            row for k in range(few) for row in opened([("WRITE", read // 3)], f"over{k}", k)]),
        Cell("create 4 KiB, 1 client", "PUT", each("PUT", **small)),
        Cell("create 4 KiB, 8 clients", "PUT", [
            ("PUT", f"d{i % 8}/f{i}", small) for i in range(2 * count)], clients=8),
        Cell("rename", "RENAME", [
            (op, key, {**more, "target": f"renamed/f{i}"})
            for i, (op, key, more) in enumerate(each("RENAME", **small))]),
        Cell("unlink", "UNLINK", each("UNLINK", **small)),
        Cell(f"readdir of {_ENTRIES} files", "READDIR", [
            *(("STAT", f"dir{i}/f{j}", small) for i in range(max(count // 10, 1)) for j in range(_ENTRIES)),
            *(("READDIR", f"dir{i}", {"phase": 1}) for i in range(max(count // 10, 1)))]),
    ]  # fmt: skip


def measure(fraction: float, folder: Path) -> None:
    """Measure single requests to the store and all cells, and write the Runs to a folder."""
    shape = read_shape(ROOT / "examples/lab/hdd.yaml")
    try:
        store = lab.up("minio", shape=shape)
        for op, size in (*((op, size) for op in ("GET", "PUT") for size in SIZES), ("DELETE", SIZES[0])):
            requests = light(op, size, max(4, round(LIGHT_REQUESTS * fraction)))
            replay(requests, store.target, Options()).write(folder / light_name(op, size))
        fs = lifecycle.up("s3fs", store, FileSystemForm())
        for cell in cells(fraction):
            run = replay(cell.trace, fs.target_on(store), Options(data_path=MOUNT, verify=0.1, timeout_s=300.0))
            run = Run.of(run.requests, run.info | {"load_average": os.getloadavg()[0]}, trace=run.trace)
            run.write(folder / _name(cell))
            print(_name(cell), figures(run, cell), flush=True)
            time.sleep(DELETIONS_S * fraction)
    finally:
        lifecycle.down("s3fs")
        lab.down("minio")


def _name(cell: Cell) -> str:
    return cell.name.replace(" ", "-").replace(",", "")


def predicted_rows(fraction: float, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row of the CSV for each cell that was measured."""
    runs = {path.name: Run.read(path) for path in sorted(folder.iterdir()) if path.is_dir()}
    known = store_cpu(runs)
    print(", ".join(f"{path} {value:.3g}" for path, value in known.items()))
    spec: Any = load_spec(SPEC, [f"{path}={value!r}" for path, value in known.items()])
    for cell in cells(fraction):
        run = runs[_name(cell)]
        measured, predicted = figures(run, cell), figures(simulate(spec, cell.trace, seed=1), cell)
        found: dict[str, Any] = {"cell": cell.name, "op": cell.op, "failed": int(run.failed.sum())}
        for name, value in measured.items():
            found |= {f"measured_{name}": value, f"predicted_{name}": predicted[name]}
            found[f"error_{name}_percent"] = 100 * (predicted[name] / value - 1)
        found["other_load_percent"] = 100 * float(run.info["cpu"]["other_share"] or 0.0)
        yield found | {"load_average": run.info["load_average"]}


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


if __name__ == "__main__":
    main()
