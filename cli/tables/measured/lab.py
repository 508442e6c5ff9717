"""The hosts, drives, links and faults of a store of the lab as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np

from traces.spec.units import binary_size
from validate.lab.staging import Staged
from validate.lab.store import Store

_SHOWN_BYTES = 4096


def lab_lines(store: Store, faults: Sequence[Staged]) -> Iterator[str]:
    """Yield a line for each host, then those on drives, links and faults in force."""
    drives = store.form.drives
    for host, node in enumerate(store.nodes):
        first, last = host * drives, (host + 1) * drives - 1
        role = store.form.role(host)
        part = role if role != "host" else f"drive {first}" if drives == 1 else f"drives {first} to {last}"
        yield f"host {host}: {node.endpoint_url}, {f'PID {node.pid}' if node.alive else 'ended'}, {part}"
    yield from _box_lines(store)
    for staged in faults:
        since = datetime.fromtimestamp(staged.began_at).strftime("%H:%M:%S")
        yield f"fault in force since {since}: {staged.fault.what}"


def _box_lines(store: Store) -> Iterator[str]:
    if store.box is None:
        return
    shape = store.box.shape
    kind = "hard disk" if shape.drives.disk is not None else "drive"
    size = np.array([_SHOWN_BYTES])
    demands = {name: demand for name, demand in shape.drives.demands().items() if demand.takes_time}
    means = {
        name: 1000 * float(demands[name].mean_s(size)[0]) for name in ("read", "write", "fsync") if name in demands
    }
    shown = ", ".join(f"{name} {ms:.3g} ms" for name, ms in means.items())
    yield f"each {kind}: queue depth {shape.drives.queue_depth}" + (f", mean of 4 KiB: {shown}" if shown else "")
    rate = (
        "unlimited"
        if shape.nic is None
        else f"{8 * shape.nic.rate / 1e6:g} Mbit/s, burst {binary_size(shape.nic.burst)}"
    )
    delay = f", one-way delay {1000 * shape.delay:g} ms ({store.box.delays})" if shape.delay else ""
    yield f"links: {rate}{delay}"
