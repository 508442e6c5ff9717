"""JuiceFS's access log: of a mount (``cat MOUNT/.accesslog``) and of its SDK for Java (`juicefs_calls`).

What a store that has a file as an object would have to serve: a read is a GET of a range, a write a PUT of what is
written, lookup and getattr a HEAD, unlink a DELETE, a directory's first readdir a LIST. Keys are inode numbers, or
``directory/name`` where the log has no inode (of unlink and of a name that does not exist), or the SDK's paths. The
log has no sizes of the files that are read; a read of the SDK that names no offset is taken to begin at 0. A write's
latency is that of JuiceFS's buffer. Directories, links, the files that JuiceFS itself serves and all other operations
are left out.
"""

from __future__ import annotations

import polars as pl

from traces.operations import DELETE, GET, HEAD, LIST, PUT
from traces.readers.expressions import decimal, matches, number, operation
from traces.readers.formats import Format, of_lines
from traces.readers.layout import Layout, leave_out, refuse
from traces.readers.records import NO_OBJECT
from traces.readers.stores.juicefs_calls import CALL, END_NS, FORMS, OWN_INODE, PARTS, recognises

_OPERATIONS = {
    **dict.fromkeys(("read", "Read", "Pread"), "GET"),
    **dict.fromkeys(("write", "Write", "Pwrite"), "PUT"),
    **dict.fromkeys(("lookup", "getattr", "Lookup", "Stat"), "HEAD"),
    **dict.fromkeys(("unlink", "Delete"), "DELETE"),
    **dict.fromkeys(("readdir", "Readdir", "ReaddirPlus"), "LIST"),
}
_op, _verb, _arguments, _result = (pl.col(name) for name in ("op", "verb", "arguments", "result"))
_well, _lookup, _sdk = pl.col("status") == "OK", _verb == "lookup", _verb.str.contains("^[A-Z]")


def _argument(place: int) -> pl.Expr:
    """Return an argument from the end for the SDK, whose paths may hold commas, else from the start."""
    return _arguments.str.split(",").list.get(place, null_on_oob=True)


_path = (
    pl.when(_verb.is_in(["Stat", "Lookup", "Delete"]))
    .then(_arguments)
    .when(_verb.is_in(["Pread", "Pwrite"]))
    .then(_arguments.str.replace(r",[^,]*,[^,]*$", ""))
    .otherwise(_arguments.str.replace(r",[^,]*$", ""))
)
_positioned = _verb.is_in(["Pread", "Pwrite"])
_moves, _attributes = _op.is_in([GET, PUT]), pl.col("attributes")

LAYOUT = Layout(
    divide=matches(CALL),
    steps=(
        {
            "op": operation(_verb, _OPERATIONS),
            **FORMS,
        },
        PARTS,
        {
            # The SDK has the status in the result, last but for a listing.
            "status": pl.when(_sdk & pl.col("status").is_null())
            .then(
                pl.when(_op == LIST)
                .then(_result.str.replace(r",\d+$", ""))
                .otherwise(_result.str.replace(r"^\d+,", ""))
            )
            .otherwise(pl.col("status")),
            "got": number(_result.str.extract(r"^(\d+)")),
            "path": _path.str.strip_prefix("/"),
        },
        {
            "inode": number(_argument(0)),
            "bytes": number(
                pl.when(~_sdk)
                .then(_argument(1))
                .when(_positioned)
                .then(_argument(-2))
                .otherwise(_argument(-1))
            ),
            "offset": pl.when(_sdk & ~_positioned & (_verb != "ReaddirPlus"))
            .then(0)
            .otherwise(number(pl.when(_sdk).then(_argument(-1)).otherwise(_argument(2)))),
            "attributes": _result.str.extract(r"\[([^\]]*)\]"),
            "past_end": (_op == GET) & ((_well & (pl.col("got") == 0)) | (pl.col("status") == "EOF")),
        },
    ),
    verdicts=(
        leave_out(pl.col("text") == "#", "the mark of a second without operations"),
        refuse(_verb.is_null(), "is not a line of an access log"),
        leave_out(_op.is_null(), NO_OBJECT),
        refuse(_arguments.is_null() | pl.col("status").is_null(), "ends before it should"),
        leave_out(~_sdk & (pl.col("inode") >= OWN_INODE), "a file of JuiceFS itself"),
        refuse(
            (_moves | (~_sdk & (_op == LIST))) & (pl.col("bytes").is_null() | pl.col("offset").is_null()),
            "its arguments cannot be read",
        ),
        leave_out((_op == LIST) & (pl.col("offset") > 0), "a further page of a directory"),
        leave_out(pl.col("past_end"), "a read behind the file's end"),
        refuse((_op == GET) & _well & pl.col("got").is_null(), "its result cannot be read"),
        refuse((_op == HEAD) & ~_sdk & _well & _result.is_null(), "has no result"),
        leave_out(_attributes.is_not_null() & ~_attributes.str.starts_with("-"), "a directory or a link"),
    ),
    columns={
        "end_ns": END_NS,
        "local": pl.lit(True),
        "latency_ns": decimal(pl.col("seconds"), 9),
        "op": _op,
        "key": pl.when(_sdk & (_op == LIST))
        .then(pl.concat_str(pl.col("path").str.strip_chars_end("/"), pl.lit("/")))
        .when(_sdk)
        .then("path")
        .when(_op == LIST)
        .then(pl.concat_str(_argument(0), pl.lit("/")))
        .when((_op == DELETE) | (_lookup & ~_well))
        .then(_arguments.str.replace(",", "/", literal=True))
        .when(_lookup)
        .then(_result.str.extract(r"^([^,]*)"))
        .otherwise(_argument(0)),
        "size_bytes": pl.when(_op == PUT)
        .then("bytes")
        .when((_op == HEAD) & _well)
        .then(number(_attributes.str.extract(r",(\d+)$"))),
        "transfer_bytes": pl.when(_well & (_op == GET))
        .then("got")
        .when(_well & (_op == PUT))
        .then("bytes")
        .otherwise(0),
        "range_start_bytes": pl.when(_op == GET).then("offset"),
        "range_bytes": pl.when(_op == GET).then(pl.when(_well).then("got").otherwise("bytes")),
        "client": pl.col("process").str.extract(r"pid:(\d+)"),
        "error": pl.when(~_well).then("status"),
    },
)  # fmt: skip


FORMAT = Format("juicefs", "JuiceFS access log, of a mount or of its SDK", True, recognises, of_lines(LAYOUT))
