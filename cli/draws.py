"""The option --uncertainty of commands with objectives."""

from __future__ import annotations

from collections.abc import Sequence

from cli.common import DRAWS
from models.basis.described import DescribedSpec
from sim.experiments.probability import Draws
from sim.replication.slo import Slo
from traces.errors import InputError


def draws_of(
    read: DescribedSpec, uncertainty: float | None, replications: int | None, slos: Sequence[Slo]
) -> Draws | None:
    """Return the draws of the values that are not known; None: there is no option --uncertainty.

    Raises:
        InputError: there are no objectives, nothing is unknown, or the option or the number of draws is out of range.
    """
    if uncertainty is None:
        return None
    if not slos:
        raise InputError("--uncertainty is the probability that objectives are met; add --slo 'GET.p99<50ms'")
    draws = Draws(read, uncertainty, replications or DRAWS)
    draws.check(slos)
    return draws
