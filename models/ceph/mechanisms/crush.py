"""CRUSH: which OSDs hold a placement group.

Like straw2 buckets (Ceph's src/crush/mapper.c): every failure domain draws ln(u) / weight with a u that depends only on
placement group and domain, the highest draws win, and the OSDs of each winner draw in the same way. So data are
distributed by weight, and a change of one weight moves no more data than necessary. OSDs are numbered host by host,
hosts rack by rack.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from traces.errors import InputError
from traces.random_streams import random_words, stream_id, uniforms, uniforms_at, uniforms_of

FailureDomain = Literal["osd", "host", "rack"]

NO_OSD = -1
_BLOCK = 8192  # placement groups mapped at a time, which bounds the memory
_CELLS = 16_384  # straws of single placement groups drawn at a time, so that they stay in a core's cache
_CANDIDATES = 32  # mean number of domains of a placement group whose straws are computed, of many domains
_SPARSE = 32  # domains for each OSD of a placement group from which straws are drawn one by one


def place(
    pgs: int,
    width: int,
    hosts: int,
    drives_per_host: int,
    failure_domain: FailureDomain = "host",
    *,
    racks: int = 1,
    weights: NDArray[np.float64] | None = None,
    down: Collection[int] = frozenset(),
    seed: int = 0,
) -> NDArray[np.int32]:
    """Return the OSDs of each placement group.

    Args:
        pgs: number of placement groups.
        width: OSDs of each: replicas, or k + m.
        hosts, drives_per_host: the OSDs, one per drive.
        failure_domain: a placement group has at most one OSD in each of these.
        racks: number of racks, with equal numbers of hosts.
        weights: weights of the OSDs, shape (hosts x drives_per_host,); None: equal weights.
        down: OSDs that are out: each placement group that had one gets another OSD at the same position.
        seed: selects the map.

    Returns:
        shape (pgs, width): OSD indices, the primary first; `NO_OSD` where `down` leaves no failure domain to use.

    Raises:
        InputError: fewer failure domains (with a weight) than `width`, a number of hosts that is not a multiple of the
            racks, weights of another shape or below 0, or a `down` OSD that does not exist.
    """
    osds = hosts * drives_per_host
    weight = np.ones(osds) if weights is None else weights
    domains = {"osd": osds, "host": hosts, "rack": racks}[failure_domain]
    if failure_domain == "rack" and hosts % racks:
        raise InputError(f"racks: {hosts} hosts are not a multiple of {racks} racks; give a divisor of the hosts")
    if weight.shape != (osds,) or not (weight >= 0).all():
        raise InputError(f"weights: {osds} numbers of at least 0 are required, one for each OSD")
    usable = int((weight.reshape(domains, -1).sum(axis=1) > 0).sum())
    if usable < width:
        raise InputError(
            f"failure_domain: {width} OSDs of a placement group require as many {failure_domain}s, there are {usable}; "
            "give a smaller width or a smaller failure domain"
        )
    up = np.ones(osds, bool)
    for osd in down:
        if not 0 <= osd < osds:
            raise InputError(f"down: there is no OSD {osd}; allowed are 0 to {osds - 1}")
        up[osd] = False
    blocks = [
        _Straws(seed, first, min(_BLOCK, pgs - first), weight, domains, drives_per_host).mapped(width, up)
        for first in range(0, pgs, _BLOCK)
    ]
    table: NDArray[np.int32] = np.concatenate(blocks)
    return table


@lru_cache(maxsize=8)
def _osd_streams(osds: int, drives_per_host: int) -> NDArray[np.uint64]:
    """Return the number of the random stream of each OSD, shape (OSDs,)."""
    return np.array([stream_id("crush", "osd", *divmod(osd, drives_per_host)) for osd in range(osds)], np.uint64)


@dataclass(frozen=True)
class _Straws:
    """The draws of placement groups `first` … `first + count - 1`."""

    seed: int
    first: int
    count: int
    weight: NDArray[np.float64]  # of each OSD
    domains: int
    drives_per_host: int

    def _domain_draws(self, kind: str) -> NDArray[np.float64]:
        """Draw the straws of the failure domains, shape (count, domains)."""
        weight = self.weight.reshape(self.domains, -1).sum(axis=1)
        osds_each = self.drives_per_host if self.domains == len(self.weight) else 1
        straws = np.empty((self.domains, self.count))
        for domain in range(self.domains):
            stream = stream_id("crush", kind, *divmod(domain, osds_each))
            straws[domain] = uniforms(self.seed, stream, self.first, self.count)
        np.log(straws, out=straws)
        with np.errstate(divide="ignore"):
            straws /= weight[:, None]
        return straws.T

    def _longest(self, width: int) -> NDArray[np.int64] | None:
        """Return the domains with the longest straws in descending order, shape (count, width).

        Of many domains of equal weight, straws are in the order of the random words that they are drawn from, so they
        are computed of the greatest words only.

        Returns:
            None: there are not as many domains, or a placement group has too few great words.
        """
        weight = self.weight.reshape(self.domains, -1).sum(axis=1)
        wanted = _CANDIDATES + 4 * width
        if self.domains < 4 * wanted or np.ptp(weight):
            return None
        osds_each = self.drives_per_host if self.domains == len(self.weight) else 1
        least = np.uint64(int((1 - wanted / self.domains) * 2.0**64))
        groups, words = [], []
        for domain in range(self.domains):
            drawn = random_words(
                self.seed, stream_id("crush", "domain", *divmod(domain, osds_each)), self.first, self.count
            )
            groups.append(np.flatnonzero(drawn >= least))
            words.append(drawn[groups[-1]])
        group = np.concatenate(groups)
        found = np.bincount(group, minlength=self.count)
        if found.min() < width:
            return None
        domain_of = np.repeat(np.arange(self.domains), [len(each) for each in groups])
        straws = np.log(uniforms_of(np.concatenate(words))) / weight[0]
        order = np.lexsort((-straws, group))
        firsts = np.cumsum(found) - found
        return np.asarray(domain_of[order[firsts[:, None] + np.arange(width)]])

    def mapped(self, width: int, up: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the OSDs, shape (count, width)."""
        chosen = self._longest(width)
        if chosen is None:
            straws = self._domain_draws("domain")
            best = np.argpartition(-straws, width - 1, axis=1)[:, :width]
            order = np.argsort(-np.take_along_axis(straws, best, axis=1), axis=1)
            chosen = np.take_along_axis(best, order, axis=1)
        every = np.ones_like(up)
        table = self._leaves(chosen, np.broadcast_to(np.arange(self.count)[:, None], chosen.shape), every)
        if not up.all():
            self._replace(table, chosen, up)
        return table

    def _leaves(
        self, chosen: NDArray[np.int64], groups: NDArray[np.int64], usable: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Return the usable OSD with the highest straw in each chosen domain, same shape as `chosen`.

        The straw of an OSD depends on its host and its number there, so further OSDs take only what they win.

        Args:
            groups: the placement groups of the chosen domains, 0 … count - 1, same shape.
            usable: whether an OSD may be chosen, shape (OSDs,).
        """
        each = len(self.weight) // self.domains
        if each == 1:  # the domain's straw has selected it
            return chosen.astype(np.int32)
        flat, flat_groups = chosen.ravel(), groups.ravel()
        by_domain = np.argsort(flat, kind="stable")
        starts = np.searchsorted(flat[by_domain], np.arange(self.domains + 1))
        osds = np.empty(flat.shape, np.int32)
        if self.domains > _SPARSE * chosen.shape[-1]:
            cells_each = max(1, _CELLS // each)
            for cells in np.split(by_domain, range(cells_each, len(flat), cells_each)):
                candidates = flat[cells, None] * each + np.arange(each)
                straws = self._straws_at(candidates, flat_groups[cells, None], usable)
                osds[cells] = candidates[:, 0] + straws.argmax(axis=1)
            return osds.reshape(chosen.shape)
        for domain in range(self.domains):
            cells = by_domain[starts[domain] : starts[domain + 1]]
            if len(cells):
                first = domain * each
                straws = self._straws(range(first, first + each), flat_groups[cells], usable)
                osds[cells] = first + straws.argmax(axis=0)
        return osds.reshape(chosen.shape)

    def _straws_at(
        self, osds: NDArray[np.int64], groups: NDArray[np.int64], usable: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the straw of each OSD for a placement group, which broadcasts with it, in the shape of both."""
        streams = _osd_streams(len(self.weight), self.drives_per_host)
        draws = uniforms_at(self.seed, streams[osds], self.first + groups)
        with np.errstate(divide="ignore"):
            straws = np.log(draws) / self.weight[osds]
        return np.where(usable[osds], straws, -np.inf)

    def _straws(self, osds: range, groups: NDArray[np.int64], usable: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the straws of OSDs for placement groups, shape (OSDs, groups)."""
        straws = np.empty((len(osds), len(groups)))
        for row, osd in enumerate(osds):
            stream = stream_id("crush", "osd", *divmod(osd, self.drives_per_host))
            straws[row] = uniforms(self.seed, stream, self.first, self.count)[groups]
        np.log(straws, out=straws)
        with np.errstate(divide="ignore"):
            straws /= self.weight[osds.start : osds.stop, None]
        straws[~usable[osds.start : osds.stop]] = -np.inf
        return straws

    def _replace(self, table: NDArray[np.int32], chosen: NDArray[np.int64], up: NDArray[np.bool_]) -> None:
        """Replace each OSD that is out by another one, in a domain that the placement group does not use yet.

        CRUSH draws again over all domains until it finds one, including the domain that lost the OSD.
        """
        left = np.where(up, self.weight, 0.0).reshape(self.domains, -1).sum(axis=1)
        again = np.where(left > 0, self._domain_draws("domain/again"), -np.inf)
        for column in range(table.shape[1]):
            rows = np.flatnonzero(~up[table[:, column]])
            free = again[rows]
            np.put_along_axis(free, np.delete(chosen[rows], column, axis=1), -np.inf, axis=1)
            domain = free.argmax(axis=1)
            found = np.isfinite(free[np.arange(len(rows)), domain])
            chosen[rows[found], column] = domain[found]
            table[rows, column] = np.where(found, self._leaves(domain, rows, up), NO_OSD)
