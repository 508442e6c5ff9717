"""Counter-based random numbers: draw *i* of a stream is a pure function of (seed, stream, i).

Draws are therefore independent of evaluation order, chunk size and number of workers, and variants of one
model share their random numbers (common random numbers).
"""

from __future__ import annotations

import hashlib
import threading
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = 2**64 - 1
_GOLDEN, _STEP = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03  # odd multipliers of streams and indices
_BLOCK = 4  # 64-bit words per value of the Philox 4x64 counter
_ROUNDS, _MULTIPLIERS = 10, (0xD2E7470EE14C6C93, 0xCA5A826395121157)  # of Philox 4x64-10
_AT_A_TIME = 1 << 14  # draws of `uniforms_at`, whose words fit into a processor's cache
_KEY_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B


def stream_id(*name: str | int) -> int:
    """Return the number of the stream with this name, which may have several parts, the same on every machine.

    It is a hash of 64 bits (BLAKE2b, RFC 7693): of 10^6 names, two have the same number with a probability of 3e-8.
    """
    parts = "\0".join(map(str, name)).encode()
    return int.from_bytes(hashlib.blake2b(parts, digest_size=8).digest(), "little")


def mixed(seed: int, stream: int, index: int) -> int:
    """Return a 64-bit hash of its arguments, for the few draws that cannot be made before the simulation.

    The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
    """
    value = (seed + _GOLDEN * (stream + 1) + _STEP * (index + 1)) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)


def mixed_words(seeds: NDArray[np.uint64], stream: int, index: NDArray[np.uint64] | int) -> NDArray[np.uint64]:
    """Return `mixed` of each seed and index, shape (seeds,)."""
    with np.errstate(over="ignore"):
        steps = (np.asarray(index, np.uint64) + np.uint64(1)) * np.uint64(_STEP)
        value = seeds + np.uint64((_GOLDEN * (stream + 1)) & _WORD) + steps
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)))


def uniforms_of(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return random words as numbers on the open interval (0, 1), as `uniforms` does, same shape."""
    result: NDArray[np.float64] = (words >> np.uint64(12)).astype(np.float64)
    result += 0.5
    result *= 2.0**-52
    return result


class _Philox(threading.local):
    """One generator per thread: setting its state takes a tenth of the time of creating a new one."""

    def __init__(self) -> None:
        self._generator = np.random.Philox(key=0)
        self._state: Any = self._generator.state  # its buffer is empty

    def words(self, seed: int, stream: int, counter: int, count: int) -> NDArray[np.uint64]:
        """Return `count` words, starting at the given counter value."""
        key, start = np.array([seed, stream], np.uint64), np.array([counter, 0, 0, 0], np.uint64)
        self._generator.state = self._state | {"state": {"counter": start, "key": key}}
        words: NDArray[np.uint64] = self._generator.random_raw(count)
        return words


_philox = _Philox()


def uniforms(seed: int, stream: int, first: int, count: int) -> NDArray[np.float64]:
    """Return draws `first` … `first + count - 1` of a stream, uniform on the open interval (0, 1).

    Args:
        seed: the run's seed, 0 … 2^64 - 1.
        stream: the stream's number, 0 … 2^64 - 1; see `stream_id`.
        first: index of the first draw.
        count: number of draws.

    Returns:
        Array of shape (count,), odd multiples of 2^-53: never 0 or 1, so every inverse CDF is finite.

    Philox 4x64-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    return uniforms_of(random_words(seed, stream, first, count))


@lru_cache(maxsize=1024)
def kept_uniforms(seed: int, stream: int, first: int, count: int) -> NDArray[np.float64]:
    """Return `uniforms`, which must not be changed; those of the last calls are made once."""
    found = uniforms(seed, stream, first, count)
    found.flags.writeable = False
    return found


def random_words(seed: int, stream: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return the words of 64 bits from which `uniforms` makes the draws of a stream, in the same order of size."""
    skip = first % _BLOCK
    return _philox.words(seed, stream, first // _BLOCK, skip + count)[skip:]


def uniforms_at(seed: int, stream: NDArray[np.uint64], index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return single draws of streams, the same as those of `uniforms`, for few draws of each of many streams.

    It takes about a hundred times as long for each draw, but no time for those between them.

    Args:
        seed: as of `uniforms`.
        stream: number of the stream of each draw.
        index: index of each draw; broadcasts with `stream`, whose common shape the result has.
    """
    streams, indices = np.broadcast_arrays(np.asarray(stream, np.uint64), np.asarray(index, np.uint64))
    each, at = streams.ravel(), indices.ravel()
    words = np.empty(len(each), np.uint64)
    for first in range(0, len(each), _AT_A_TIME):
        part = slice(first, first + _AT_A_TIME)
        words[part] = _words_at(seed, each[part], at[part])
    return uniforms_of(words).reshape(streams.shape)


def _words_at(seed: int, stream: NDArray[np.uint64], index: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the words of single draws, shape (draws,), as the arguments have."""
    counter: list[NDArray[np.uint64]] = [np.zeros_like(index)] * 4
    counter[0] = np.asarray(index // np.uint64(_BLOCK) + np.uint64(1), np.uint64)  # the generator's is one ahead
    first, second = seed, stream  # the key, of which the first word is the same for all
    with np.errstate(over="ignore"):
        for turn in range(_ROUNDS):
            if turn:
                first, second = (first + _KEY_STEPS[0]) & _WORD, second + np.uint64(_KEY_STEPS[1])
            (low0, high0), (low1, high1) = (_product(m, c) for m, c in zip(_MULTIPLIERS, counter[::2], strict=True))
            high1 ^= counter[1]
            high1 ^= np.uint64(first)
            high0 ^= counter[3]
            high0 ^= second
            counter = [high1, low1, high0, low0]
    return np.asarray(np.choose((index % np.uint64(_BLOCK)).astype(np.int64), counter))


def _product(a: int, b: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the low and the high word of a product of 128 bits, by the schoolbook method on halves of 32 bits."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a_low, a_high = np.uint64(a & (2**32 - 1)), np.uint64(a >> 32)
    b_low, b_high = b & mask, b >> half
    middle = a_low * b_low
    middle >>= half
    middle += a_high * b_low
    other = middle & mask
    other += a_low * b_high
    other >>= half
    high = b_high
    high *= a_high
    middle >>= half
    high += middle
    high += other
    return np.uint64(a) * b, high
