"""Archives of any kind: within each other, with paths that lead out, with large windows, and far larger unpacked."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tests.access_logs import at
from traces.compression import TruncatedError, decompressed
from traces.errors import InputError
from traces.logs.files import NO_FILE, OUTSIDE
from traces.logs.importing import import_logs

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def lines(count: int, key: str) -> bytes:
    return "".join(f"{at(i % 3600, key=f'{key}{i}')}\n" for i in range(count)).encode()


def tar(members: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_an_archive_within_an_archive(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    inner = packed(tar({"a.log": lines(900, "a"), "b.log": lines(900, "b")}))
    whole = tar({"1.log": lines(900, "c"), "inner.tar": inner, "2.log": lines(900, "d"), "again.tar": inner})
    (tmp_path / "x.tar").write_bytes(tar({"deep.tar": whole, "last.log": lines(10, "e")}))
    figures = import_logs([tmp_path / "x.tar"], tmp_path / "t.parquet")
    assert figures["rows"] == 6 * 900 + 10
    assert len(figures["format"]) == 7


def test_members_that_are_not_read_are_named(tmp_path: Path) -> None:
    held = io.BytesIO(tar({"ok.log": lines(5, "a"), "../x.log": lines(5, "b"), "/etc/y.log": lines(5, "c")}))
    with tarfile.open(fileobj=held, mode="a") as archive:
        link = tarfile.TarInfo("link.log")
        link.type, link.linkname = tarfile.SYMTYPE, "ok.log"
        archive.addfile(link)
    (tmp_path / "x.tar").write_bytes(held.getvalue())
    figures = import_logs([tmp_path / "x.tar"], tmp_path / "t.parquet")
    skipped = {Path(name).name: why for name, why in figures["skipped"].items()}
    assert figures["rows"] == 5
    assert skipped == {"x.log": OUTSIDE, "y.log": OUTSIDE, "link.log": NO_FILE}


@pytest.mark.parametrize("kind", PACKED)
def test_content_comes_in_bounded_pieces(kind: str) -> None:
    packed = PACKED[kind](bytes(1 << 27))
    assert len(packed) < 1 << 18
    sizes = [len(piece) for piece in decompressed(iter([packed]))]
    assert sum(sizes) == 1 << 27 and max(sizes) <= 1 << 26


@pytest.mark.parametrize("kind", PACKED)
def test_archives_after_each_other_are_one_content(kind: str) -> None:
    pack = PACKED[kind]
    content = bytes(range(256)) * 300
    two = pack(content) + pack(b"more") + bytes(7)
    for step in (7, 1000, len(two)):
        pieces = (two[i : i + step] for i in range(0, len(two), step))
        assert b"".join(decompressed(pieces)) == content + b"more"
    found = bytearray()
    with pytest.raises(TruncatedError):
        for piece in decompressed(iter([pack(content)[:-3]])):
            found += piece
    assert content.startswith(bytes(found))


def test_zstd_with_a_large_window(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=28, hash_log=6, chain_log=6, search_log=1)
    machine = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    packed = machine.compress(lines(50, "a")) + machine.flush()
    assert zstandard.get_frame_parameters(packed).window_size == 1 << 28  # more than the default limit of 128 MiB
    (tmp_path / "x.log.zst").write_bytes(packed)
    assert import_logs([tmp_path / "x.log.zst"], tmp_path / "t.parquet")["rows"] == 50


def test_a_window_that_no_zstd_writes_is_named(tmp_path: Path) -> None:
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([31 << 3]) + b"\x01\x00\x00"  # a window of 2 TiB
    (tmp_path / "x.log.zst").write_bytes(frame)
    with pytest.raises(InputError, match=r"x\.log\.zst.*(archive is damaged|memory)"):
        import_logs([tmp_path / "x.log.zst"], tmp_path / "t.parquet")
