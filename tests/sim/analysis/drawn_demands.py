"""Demands drawn by the requests of a run, for which operational laws hold exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Sheet
from sim.demands.service_demands import BLOCK, Demands, DemandSums
from sim.engine.outcome import Program


def drawn_demands(program: Program, winner: NDArray[np.int16]) -> Demands:
    """Return the demands drawn by the requests of a run.

    Args:
        program: the program of the run.
        winner: number of the successful attempt of each request, from 1; 0: none, and the request is excluded.

    Raises:
        InputError: as for `mean_demands`.
    """

    block = min(BLOCK, program.chunk)

    def chunks() -> Iterator[tuple[Sheet, Sheet, NDArray[np.int64]]]:
        for first in range(0, len(winner), block):
            sheet = program.draw(first, min(block, len(winner) - first))
            yield sheet, sheet, winner[first : first + len(sheet)].astype(np.int64) - 1

    routes = sorted({k for sheet, _, _ in chunks() for k in np.unique(sheet.route).tolist()})
    return DemandSums(program.network, routes, bool(program.background), expected=False).demands(chunks)
