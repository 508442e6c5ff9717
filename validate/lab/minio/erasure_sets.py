"""How MinIO divides drives into erasure sets (GetAllSets and commonSetDriveCount, minio/cmd/endpoint-ellipses.go)."""

from __future__ import annotations

from traces.errors import InputError
from validate.lab.store import Form

SET_SIZES = range(2, 17)
"""Numbers of drives that an erasure set may have."""


def set_sizes(drives: int, hosts: int) -> list[int]:
    """Return the possible sizes of erasure sets: divisors of the number of drives that spread evenly over the hosts."""
    divisors = [size for size in SET_SIZES if drives * hosts % size == 0]
    return [size for size in divisors if (hosts % size if hosts > size else size % hosts) == 0]


def set_size_of(form: Form) -> int:
    """Return the size of a store's erasure sets: as given, else the largest possible.

    Raises:
        InputError: there is none, or not that one.
    """
    if form.drive_count == 1 and form.set_size in (None, 1):
        return 1
    allowed = set_sizes(form.drives, form.hosts)
    if form.set_size is None and allowed:
        return allowed[-1]
    if form.set_size is not None and form.set_size in allowed:
        return form.set_size
    said = f"allowed are sets of {', '.join(map(str, allowed))}" if allowed else _others(form)
    raise InputError(f"a MinIO cannot have {form}: erasure sets have 2 to 16 drives, evenly from all hosts; {said}")


def _others(form: Form) -> str:
    """Return numbers of drives per host near the one that makes no erasure sets."""
    near = sorted(range(1, form.drives + 17), key=lambda drives: abs(drives - form.drives))
    fit = [drives for drives in near if drives * form.hosts > 1 and set_sizes(drives, form.hosts)][:3]
    return f"possible are {', '.join(map(str, sorted(fit)))} drives per host" if fit else "use fewer hosts"


def chosen_set_size(form: Form) -> int | None:
    """Return the size that a server has to be given; None if it chooses that one itself.

    It is given URLs without ellipses, for which it takes the largest divisor, whether or not it spreads evenly.
    """
    size = set_size_of(form)
    largest = max((size for size in SET_SIZES if form.drive_count % size == 0), default=1)
    return None if size == largest else size
