"""JuiceFS's access log as the operations of its file system, as an application performs them on a mount or by the SDK.

Layout: see `juicefs_calls`. A flush, which each close makes, is an FSYNC, and the release of the open file its CLOSE;
lookup and getattr are STATs, a truncation is a SETATTR, mknod a CREATE. Keys are paths as far as lookups, creations
and renames before show them, else inode numbers; handles are those of the open files (of one mount; the SDK has
none). A read or write of the SDK that names no offset is taken to begin at 0. Renames and copies have a second key.
Other operations, further pages of directories and the files that JuiceFS itself serves are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from traces.operations import OPS
from traces.readers.blocks import Parse, in_turn
from traces.readers.expressions import decimal, matches, number, operation
from traces.readers.formats import Format
from traces.readers.layout import Layout, leave_out, parser, refuse
from traces.readers.records import NO_OBJECT
from traces.readers.source import Lines
from traces.readers.stores import juicefs
from traces.readers.stores.juicefs_calls import CALL, END_NS, FORMS, OWN_INODE, PARTS

_OPERATIONS = {
    **dict.fromkeys(("create", "mknod", "Create"), "CREATE"),
    **dict.fromkeys(("open", "Open"), "OPEN"),
    **dict.fromkeys(("read", "Read", "Pread"), "READ"),
    **dict.fromkeys(("write", "Write", "Pwrite"), "WRITE"),
    **dict.fromkeys(("fsync", "flush", "Fsync", "Flush"), "FSYNC"),
    **dict.fromkeys(("release", "Close"), "CLOSE"),
    **dict.fromkeys(("rename", "Rename"), "RENAME"),
    **dict.fromkeys(("unlink", "Delete"), "UNLINK"),
    **dict.fromkeys(("lookup", "getattr", "Lookup", "Stat", "Lstat"), "STAT"),
    **dict.fromkeys(("setattr", "truncate", "Truncate", "Chmod", "Chown", "Utime"), "SETATTR"),
    **dict.fromkeys(("readdir", "Readdir", "ReaddirPlus"), "READDIR"),
    **dict.fromkeys(("mkdir", "Mkdir"), "MKDIR"),
    **dict.fromkeys(("copy_file_range", "CopyFileRange"), "COPY"),
}
_READ, _WRITE, _STAT, _READDIR, _COPY, _CREATE = (
    OPS.index(op) for op in ("READ", "WRITE", "STAT", "READDIR", "COPY", "CREATE")
)
_ROOT = 1
_NAMES = {  # arguments with a name in a directory; a name may hold commas
    "lookup": re.compile(r"(\d+),(.*)"),
    "unlink": re.compile(r"(\d+),(.*)"),
    "create": re.compile(r"(\d+),(.*),[^,]*"),
    "mkdir": re.compile(r"(\d+),(.*),[^,]*"),
    "mknod": re.compile(r"(\d+),(.*),[^,]*,[^,]*"),
}
_RENAME = (re.compile(r"(\d+),(.*),(\d+),(.*),\d+"), re.compile(r"(\d+),(.*),(\d+),(.*)"))  # earlier without flags
_NUMBERS = re.compile(r"\d+(?:,\d+)*")
_INODE = re.compile(r"(\d+)")
_HANDLES = {"read": 3, "write": 3, "flush": 1, "release": 1}  # place of the handle among the arguments
_SDK_PATHS = {
    **dict.fromkeys(("Lookup", "Stat", "Lstat", "Delete", "Fsync", "Flush", "Close"), r"(.*)"),
    **dict.fromkeys(("Open", "Create", "Mkdir", "Truncate", "Chmod", "Readdir", "ReaddirPlus"), r"(.*), ?(\d+)"),
    **dict.fromkeys(("Read", "Write"), r"(.*),(\d+)"),
    **dict.fromkeys(("Pread", "Pwrite"), r"(.*),(\d+),(\d+)"),
    **dict.fromkeys(("Chown", "Utime"), r"(.*),-?\d+,-?\d+"),
    "Rename": r"(/.*),(/.*),\d+",
    "CopyFileRange": r"(/.*),(\d+),(/.*),(\d+),(\d+)",
}
_SDK = {verb: re.compile(pattern) for verb, pattern in _SDK_PATHS.items()}


class Named(NamedTuple):
    """What a call names: None where it has no such thing, or is not understood."""

    key: str | None = None
    target: str | None = None
    inode: int | None = None
    handle: int | None = None
    bytes: int | None = None
    offset: int | None = None


class Paths:
    """The paths of inodes, as far as earlier calls show them."""

    def __init__(self) -> None:
        self._path: dict[int, str] = {_ROOT: ""}
        self._child: dict[tuple[int, str], int] = {}

    def of(self, inode: int) -> str:
        """Return the path of an inode; its number if none is known."""
        return self._path.get(inode, str(inode)) or "/"

    def inside(self, parent: int, name: str) -> str:
        """Return the path of a name in a directory."""
        above = self._path.get(parent, str(parent))
        return f"{above}/{name}" if above else name

    def learn(self, parent: int, name: str, inode: int) -> None:
        """Remember which inode a name is of; one that has had operations as a number keeps it."""
        self._child[parent, name] = inode
        self._path.setdefault(inode, self.inside(parent, name))

    def seen(self, inode: int) -> str:
        """Return the path of an inode that a call names, which is its key from now on."""
        return self._path.setdefault(inode, str(inode)) or "/"

    def named(self, parent: int, name: str) -> str:
        """Return the key of a name: that of its inode, if it is known."""
        inode = self._child.get((parent, name))
        return self.inside(parent, name) if inode is None else self.of(inode)

    def remove(self, parent: int, name: str) -> None:
        """Forget a name."""
        self._child.pop((parent, name), None)

    def move(self, parent: int, name: str, to: int, new: str) -> None:
        """Give the inode of a name another one."""
        inode = self._child.pop((parent, name), None)
        if inode is not None:
            self._child[to, new] = inode
            self._path[inode] = self.inside(to, new)
        else:
            self._child.pop((to, new), None)


def _on_mount(paths: Paths, verb: str, arguments: str, result: str | None, handle: str | None, well: bool) -> Named:
    """Return what a call of a mount names."""
    opened = int(handle) if handle and handle != "0" else None
    if verb == "rename":
        found = next((match for pattern in _RENAME if (match := pattern.fullmatch(arguments))), None)
        if found is None:
            return Named()
        parent, name, to, new = int(found[1]), found[2], int(found[3]), found[4]
        named = Named(paths.named(parent, name), paths.inside(to, new))
        if well:
            paths.move(parent, name, to, new)
        return named
    if verb in _NAMES:
        return _in_directory(paths, verb, arguments, result, opened, well)
    if not (leading := _NUMBERS.match(arguments)):
        return Named()
    numbers = [int(part) for part in leading[0].split(",")]
    inode = numbers[0]
    if verb == "copy_file_range":
        if len(numbers) < 5:
            return Named()
        return Named(paths.seen(inode), paths.seen(numbers[2]), inode, None, numbers[4], numbers[1])
    place = _HANDLES.get(verb, len(numbers))
    opened = numbers[place] if place < len(numbers) and numbers[place] else opened
    size, offset = (numbers[at] if at < len(numbers) else None for at in (1, 2))
    return Named(paths.seen(inode), None, inode, opened, size, offset)


def _in_directory(paths: Paths, verb: str, arguments: str, result: str | None, handle: int | None, well: bool) -> Named:
    """Return what a call that names a file by its directory names, and remember the file."""
    found = _NAMES[verb].fullmatch(arguments)
    if found is None:
        return Named()
    parent, name = int(found[1]), found[2]
    if well and verb != "unlink" and result and (inode := _INODE.match(result)):
        paths.learn(parent, name, int(inode[1]))
    key = paths.named(parent, name)
    if well and verb == "unlink":
        paths.remove(parent, name)
    return Named(key, None, None, handle)


def _by_sdk(verb: str, arguments: str) -> Named:
    """Return what a call of the SDK names."""
    found = _SDK[verb].fullmatch(arguments) if verb in _SDK else None
    if found is None:
        return Named()
    if verb == "CopyFileRange":  # to a path and offset, from a path and offset
        return Named(_relative(found[3]), _relative(found[1]), None, None, int(found[5]), int(found[4]))
    numbers = [int(part) for part in found.groups()[1:] if part.isdigit()]
    target = _relative(found[2]) if verb == "Rename" else None
    size = numbers[0] if numbers else None
    offset = numbers[1] if len(numbers) > 1 else size if verb == "ReaddirPlus" else 0
    return Named(_relative(found[1]), target, None, None, size, offset)


def _relative(path: str) -> str:
    return path.strip("/") or "/"


def _divide(paths: Paths) -> Callable[[Lines], pl.DataFrame]:
    """Return a function that divides lines, and tells the names in them by those before."""
    calls = matches(CALL)

    def divide(lines: Lines) -> pl.DataFrame:
        rows = calls(lines).with_columns(**FORMS).with_columns(**PARTS)
        rows = rows.with_columns(status=_status, sdk=_sdk, got=number(pl.col("result").str.extract(r"(\d+)")))
        columns = ("verb", "arguments", "result", "handle", "status", "sdk")
        named = [
            Named()
            if verb is None or arguments is None or verb not in _OPERATIONS
            else _by_sdk(verb, arguments)
            if sdk
            else _on_mount(paths, verb, arguments, result, handle, status == "OK")
            for verb, arguments, result, handle, status, sdk in rows.select(columns).iter_rows()
        ]
        kinds = {"key": pl.String, "target": pl.String} | dict.fromkeys(
            ("inode", "handle", "bytes", "offset"), pl.Int64
        )
        found = pl.DataFrame(named, schema=kinds, orient="row")
        return rows.drop("handle").hstack(found)

    return divide


_verb, _op, _result = pl.col("verb"), pl.col("op"), pl.col("result")
_sdk = _verb.str.contains("^[A-Z]")
_status = (
    pl.when(_sdk & pl.col("status").is_null())
    .then(
        pl.when(_verb.str.starts_with("Readdir"))
        .then(_result.str.replace(r",\d+$", ""))
        .otherwise(_result.str.replace(r"^\d+,", ""))
    )
    .otherwise(pl.col("status"))
    .replace("EOF", "OK")  # a read behind the end of a file
)
_well, _moves = pl.col("status") == "OK", _op.is_in([_READ, _WRITE])
_kind = _result.str.extract(r"\[(.)[^\]]*\]")
_attributes_size = number(_result.str.extract(r"\[[^\]]*,(\d+)\]"))


def _layout(paths: Paths) -> Layout:
    return Layout(
        divide=_divide(paths),
        steps=({"op": operation(_verb, _OPERATIONS)},),
        verdicts=(
            leave_out(pl.col("text") == "#", "the mark of a second without operations"),
            refuse(_verb.is_null(), "is not a line of an access log"),
            leave_out(_op.is_null(), NO_OBJECT),
            refuse(pl.col("arguments").is_null() | pl.col("status").is_null(), "ends before it should"),
            leave_out(pl.col("inode") >= OWN_INODE, "a file of JuiceFS itself"),
            refuse(
                pl.col("key").is_null() | (_moves & (pl.col("bytes").is_null() | pl.col("offset").is_null())),
                "its arguments cannot be read",
            ),
            leave_out((_op == _READDIR) & (pl.col("offset") > 0), "a further page of a directory"),
            refuse((_op == _READ) & _well & pl.col("got").is_null(), "its result cannot be read"),
        ),
        columns={
            "end_ns": END_NS,
            "local": pl.lit(True),
            "latency_ns": decimal(pl.col("seconds"), 9),
            "op": _op,
            "key": pl.col("key"),
            "size_bytes": pl.when(_op == _COPY)
            .then("bytes")
            .when(_kind.is_not_null() & (_kind != "-"))
            .then(0)
            .when((_op == _CREATE) & _well)
            .then(_attributes_size.fill_null(0))
            .when(_well)
            .then(_attributes_size),
            "transfer_bytes": pl.when(_well & (_op == _READ))
            .then("got")
            .when(_well & (_op == _WRITE))
            .then("bytes")
            .otherwise(0),
            "range_start_bytes": pl.when(_moves | (_op == _COPY)).then("offset"),
            "range_bytes": pl.when((_op == _READ) & _well)
            .then("got")
            .when(_moves | (_op == _COPY))
            .then("bytes"),
            "client": pl.col("process").str.extract(r"pid:(\d+)"),
            "error": pl.when(~_well).then("status"),
            "target": pl.col("target"),
            "handle": pl.col("handle"),
        },
    )  # fmt: skip


def _parse(_: Path) -> Parse:
    """Return the function that parses the blocks of a file in their order."""
    return parser(_layout(Paths()))


FORMAT = Format(
    "juicefs-files",
    "JuiceFS access log, as operations on files",
    True,
    lambda head: False,
    in_turn(_parse),
    of=juicefs.FORMAT.name,
)
