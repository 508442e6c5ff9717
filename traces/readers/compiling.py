"""Numba, and what of it kernels need: how they are compiled, and memory without arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

_FOLDER = Path(__file__).parent
_SHARED = ("compiling", "kernels", "time_kernels", "escape_kernels", "http_kernels", "drafts", "records")


def _drop_stale(folder: Path, pattern: str, sources: Iterable[Path]) -> None:
    """Delete compiled functions that are older than one of their sources.

    Numba checks only the file that defines a function, but kernels inline functions of several files.

    Args:
        folder: folder of the modules.
        pattern: file names in its ``__pycache__``.
        sources: files that the functions are compiled from.
    """
    newest = max(source.stat().st_mtime for source in sources)
    for cached in (folder / "__pycache__").glob(pattern):
        with contextlib.suppress(OSError):  # read-only folder: Numba has its cache elsewhere
            if cached.stat().st_mtime < newest:
                cached.unlink()


_drop_stale(_FOLDER, "*.nb?", [*(_FOLDER / f"{name}.py" for name in _SHARED), _FOLDER.parent / "tables.py"])

compiled: Any = njit(cache=True, nogil=True)
"""Compiles a kernel, once for an installation."""

inlined: Any = njit(cache=True, nogil=True, forceinline=True)
"""Compiles a kernel into each that calls it: for what each line does, where calls are a good part of the time."""

_memchr = types.ExternalFunction("memchr", types.intp(types.intp, types.int32, types.intp))
_memcpy = types.ExternalFunction("memcpy", types.intp(types.intp, types.intp, types.intp))

WIDTH = 64
"""How many bytes `equal` looks at."""

CHECKED = bool(vars(config)["BOUNDSCHECK"])
"""Whether kernels check that they stay within their arrays (NUMBA_BOUNDSCHECK=1), instead of being fast."""


_intrinsic: Any = intrinsic


@_intrinsic
def _pointer(context, array):  # type: ignore[no-untyped-def]
    def address_of(target, builder, signature, values):  # type: ignore[no-untyped-def]
        return target.make_array(signature.args[0])(target, builder, values[0]).data

    kind: Any = types.CPointer
    return kind(array.dtype)(array), address_of


@_intrinsic
def _address(context, data):  # type: ignore[no-untyped-def]
    """Where in memory an array or what `pointer` gave begins."""

    def number_of(target, builder, signature, values):  # type: ignore[no-untyped-def]
        held = values[0]
        if isinstance(signature.args[0], types.Array):
            held = target.make_array(signature.args[0])(target, builder, held).data
        return builder.ptrtoint(held, target.get_value_type(types.intp))

    return types.intp(data), number_of


@_intrinsic
def _eight_at(context, address):  # type: ignore[no-untyped-def]
    """The number in the eight bytes at an address, aligned or not."""

    def load(target, builder, signature, values):  # type: ignore[no-untyped-def]
        kind = target.get_value_type(types.uint64)
        return builder.load(builder.inttoptr(values[0], kind.as_pointer()), align=1)

    return types.uint64(types.intp), load


@_intrinsic
def _equal_at(context, address, byte):  # type: ignore[no-untyped-def]
    """Which of the `WIDTH` bytes at an address are a byte, as bits: a few instructions, the processor's widest."""

    def compare(target, builder, signature, values):  # type: ignore[no-untyped-def]
        vector = ir.VectorType(ir.IntType(8), WIDTH)
        there = builder.load(builder.inttoptr(values[0], vector.as_pointer()), align=1)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), values[1], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        everywhere = builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)
        return builder.bitcast(builder.icmp_unsigned("==", there, everywhere), ir.IntType(WIDTH))

    return types.uint64(types.intp, types.uint8), compare


@_intrinsic
def lowest(context, bits):  # type: ignore[no-untyped-def]
    """The place of the lowest bit that is set; `WIDTH`: none is."""

    def count(target, builder, signature, values):  # type: ignore[no-untyped-def]
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), count


@compiled
def pointer(array):  # type: ignore[no-untyped-def]
    """An array's items without the array, which must outlive it: to hand on arrays costs more than to read a number."""
    return array if CHECKED else _pointer(array)


@compiled
def find(data, at, stop, byte):  # type: ignore[no-untyped-def]
    """Where a byte first is; `stop`: nowhere."""
    if CHECKED:
        while at < stop and data[at] != byte:
            at += 1
    if at >= stop or CHECKED:
        return min(at, stop)
    base = _address(data)
    found = _memchr(base + at, byte, stop - at)
    return found - base if found else stop


@inlined
def eight(data, at):  # type: ignore[no-untyped-def]
    """Eight bytes as one number, the first the lowest."""
    if not CHECKED:
        return _eight_at(_address(data) + at)
    value = np.uint64(0)
    for i in range(8):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return value


@inlined
def equal(data, at, byte):  # type: ignore[no-untyped-def]
    """Which of the `WIDTH` bytes from `at` on are a byte, the first the lowest bit. All of them have to be there."""
    if not CHECKED:
        return _equal_at(_address(data) + at, byte)
    bits = np.uint64(0)
    for i in range(WIDTH):
        bits |= np.uint64(data[at + i] == byte) << np.uint64(i)
    return bits


@inlined
def copy(data, at, stop, into, to):  # type: ignore[no-untyped-def]
    """Copies bytes; they do not overlap."""
    if CHECKED:
        for i in range(stop - at):
            into[to + i] = data[at + i]
    elif stop > at:
        _memcpy(_address(into) + to, _address(data) + at, stop - at)
