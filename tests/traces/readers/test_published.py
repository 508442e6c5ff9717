"""The readers of published traces (IBM, libCacheSim, Twitter) and of JuiceFS's access log."""

import struct
from collections import Counter

import pyarrow as pa
import pytest

from tests.paths import SAMPLES
from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import OPS
from traces.readers.formats import Head
from traces.readers.records import RECORDS
from traces.readers.source import BLOCK_LINES, Source
from traces.readers.stores import juicefs, s3_access_log
from traces.readers.tools import ibm_object_store, libcachesim_csv, oracle_general, time_id_size, twitter_cache_trace

NO_OBJECT = "not an operation on an object or a listing"
PROCESS = "[uid:0,gid:0,pid:77]"
SECOND = 10**9


def read(format, path, zone="UTC"):
    report = ImportReport()
    rows = pa.Table.from_batches(list(format.read(Source(path, zone), report)), RECORDS).to_pylist()
    assert report.balanced and len(rows) == report.kept
    for row in rows:
        row["op"] = OPS[row["op"]]
    return rows, report


def of(tmp_path, format, *lines, zone="UTC"):
    path = tmp_path / "log"
    path.write_text("\n".join(lines))
    return read(format, path, zone)


def values(row, *names):
    return tuple(row[name] for name in names)


def test_ibm_sample():
    rows, report = read(ibm_object_store.FORMAT, SAMPLES / "ibm-object-store.txt")
    assert report.rows == 345 and report.left_out == Counter({NO_OBJECT: 16}) and not report.unreadable
    assert values(rows[0], "time_ns", "op", "key", "size_bytes") == (1219008 * 10**6, "PUT", "8d4fcda3d675bac9", 1056)
    assert values(rows[1], "op", "size_bytes") == ("HEAD", 528)
    assert values(rows[3], "op", "size_bytes", "range_start_bytes", "range_bytes") == ("GET", 1168, None, None)
    assert values(rows[-1], "time_ns", "size_bytes", "range_bytes") == (196535044 * 10**6, 0, None)


def test_ibm_ranges_and_oddities(tmp_path):
    rows, report = of(
        tmp_path,
        ibm_object_store.FORMAT,
        "5 REST.GET.OBJECT aa 1000 0 999",
        "6 REST.GET.OBJECT aa 1000 0 99",
        "7 REST.GET.OBJECT aa 1000 900 999",
        "8 REST.GET.OBJECT aa",
        "9 REST.GET.OBJECT aa ",
        "10 REST.DELETE.OBJECT aa",
        "11 REST.COPY.OBJECT aa 7",
        "",
        "12 REST.GET.OBJECT aa 1000 99 0\r",
        "13 REST.GET.OBJECT aa -1168 0 1167",
        "x REST.GET.OBJECT aa",
        "14 GET aa",
        "15 REST.GET.OBJECT",
    )
    assert [values(row, "size_bytes", "range_start_bytes", "range_bytes") for row in rows] == [
        (1000, None, None), (1000, 0, 100), (1000, 900, 100), *3 * [(None, None, None)],
    ]  # fmt: skip
    assert report.left_out == Counter({NO_OBJECT: 1})
    assert {why for _, why in report.unreadable} == {
        "range cannot be read", "size cannot be read", "time cannot be read", "type of request cannot be read",
        "has too few fields; 3 are needed",
    }  # fmt: skip


def test_oracle_general_and_csv_samples_are_the_same_requests():
    rows, report = read(oracle_general.FORMAT, SAMPLES / "sample.oracleGeneral.zst")
    same, _ = read(libcachesim_csv.FORMAT, SAMPLES / "libcachesim.csv")
    assert report.rows == 1500 and rows[:400] == same
    assert values(rows[0], "time_ns", "op", "key", "size_bytes") == (0, "GET", "12491860408939512344", 7920)


def test_oracle_general_of_many_blocks_ends_within_a_record(tmp_path):
    count = (1 << 16) + 3
    path = tmp_path / "w80.oracleGeneral.bin"
    largest = 2**63 - 1
    records = [struct.pack("<IQIq", i // 9, 2**64 - 1 - i, 2**32 - 1, largest) for i in range(count)]
    records[2] = struct.pack("<IQIq", 0, 7, 1, -3)
    path.write_bytes(b"".join(records) + b"\1" * 23)
    assert oracle_general.FORMAT.recognises(Head(path.name, Source(path).head())) is False  # the third is no record
    rows, report = read(oracle_general.FORMAT, path)
    assert report.rows == count + 1 and report.kept == count - 1
    assert report.where == [
        f"{path}: line 3: is no record: its next access is negative",
        f"{path}: line {count + 1}: is an incomplete record: 23 of 24 bytes",
    ]
    assert values(rows[-1], "time_ns", "key", "size_bytes") == (
        (count - 1) // 9 * SECOND, str(2**64 - count), 2**32 - 1,
    )  # fmt: skip


def test_oracle_general_is_told_from_text_and_by_name():
    record = struct.pack("<IQIq", 3, 99, 4096, -1)
    assert oracle_general.FORMAT.recognises(Head("a.oracleGeneral.sample10.zst", record))
    assert not oracle_general.FORMAT.recognises(Head("a.bin", record))  # one record alone proves nothing
    assert oracle_general.FORMAT.recognises(Head("a.bin", record * 8))
    assert not oracle_general.FORMAT.recognises(Head("a.oracleGeneral", b"1,2,3,-1\n" * 30))


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("clock_time,obj_id,obj_size,next_access_vtime", "7,42,100,-2"),
        ("# time\tobj-size\tobject", "7\t100\t42"),
        ("\ufeffTime|obj_id|size|tenant", "7.0|42|100|3"),
    ],
)
def test_libcachesim_csv_goes_by_its_header(tmp_path, header, row):
    rows, report = of(tmp_path, libcachesim_csv.FORMAT, "", header, row, "", row + "9", "7")
    assert libcachesim_csv.FORMAT.recognises(Head("log", f"{header}\n{row}\n".encode()))
    assert values(rows[0], "time_ns", "op", "key", "size_bytes") == (7 * SECOND, "GET", "42", 100)
    assert (
        report.rows == 3 and report.kept == 2 and report.where[0].endswith("line 6: has too few fields; 3 are needed")
    )


def test_libcachesim_csv_with_blanks_around_its_fields(tmp_path):
    lines = (
        "# time, object, size, next_access_vtime",
        "0, 13053225291711363978, 737, 13",
        "1, 61177148907475485, 248, -1",
    )
    rows, _ = of(tmp_path, libcachesim_csv.FORMAT, *lines)
    assert [values(row, "time_ns", "key", "size_bytes") for row in rows] == [
        (0, "13053225291711363978", 737), (SECOND, "61177148907475485", 248),
    ]  # fmt: skip
    assert libcachesim_csv.FORMAT.recognises(Head("log", "\n".join(lines).encode()))


def test_time_id_size(tmp_path):
    rows, report = of(tmp_path, time_id_size.FORMAT, "1 0 68", "2 1  7454 3 9", "2\t17\t0", "x 1 2", "3 4", "5 6 -7")
    assert [values(row, "time_ns", "op", "key", "size_bytes") for row in rows] == [
        (SECOND, "GET", "0", 68), (2 * SECOND, "GET", "1", 7454), (2 * SECOND, "GET", "17", 0),
    ]  # fmt: skip
    assert report.unreadable.total() == 3
    recognises = time_id_size.FORMAT.recognises
    assert recognises(Head("log", b"1 0 68\n2 1 7454\n"))
    for other in (b"2 1 7\n1 1 7\n", b"1 2\n", b"1 a 5\n", b"1,2,3\n", b""):
        assert not recognises(Head("log", other))


def test_a_file_of_zeros_is_no_trace():
    assert not oracle_general.FORMAT.recognises(Head("a.oracleGeneral", bytes(4096)))


def test_libcachesim_csv_with_operations(tmp_path):
    scsi = ("version,time,op,size,lbn", "1,33898,2a,512,42932745", "1,33899,28,4096,5", "1,33899,35,0,5")
    rows, report = of(tmp_path, libcachesim_csv.FORMAT, *scsi)
    assert [values(row, "op", "key", "size_bytes") for row in rows] == [("PUT", "42932745", 512), ("GET", "5", 4096)]
    assert report.left_out == Counter({NO_OBJECT: 1})
    rows, _ = of(tmp_path, libcachesim_csv.FORMAT, "time,object,size,op", "0,k,5,SET", "1,k,5,get", "2,k,0,delete")
    assert [row["op"] for row in rows] == ["PUT", "GET", "DELETE"]


def test_libcachesim_csv_needs_a_header(tmp_path):
    with pytest.raises(InputError, match="read it as csv with named columns"):
        of(tmp_path, libcachesim_csv.FORMAT, "1,2,3", "2,3,4")
    for other in (b"time,obj_id,obj_size,status\n1,2,3,200\n", b"time,key,size\n", b"1,2,3\n"):
        assert not libcachesim_csv.FORMAT.recognises(Head("log", other))  # another's CSV


def test_twitter_sample():
    rows, report = read(twitter_cache_trace.FORMAT, SAMPLES / "twitter-cache-trace.csv")
    lines = [line.rsplit(",", 5) for line in (SAMPLES / "twitter-cache-trace.csv").read_text().splitlines()]
    assert report.rows == report.kept == 400
    verbs = {"get": "GET", "gets": "GET", "delete": "DELETE"}
    assert [row["op"] for row in rows] == [verbs.get(line[4], "PUT") for line in lines]
    assert [row["key"] for row in rows] == [line[0].partition(",")[2] for line in lines]
    assert any("," in row["key"] for row in rows)


def test_twitter_sizes_and_oddities(tmp_path):
    rows, report = of(
        tmp_path,
        twitter_cache_trace.FORMAT,
        "timestamp,anonymized key,key size,value size,client id,operation,TTL",
        "0,a:b,3,120,9,get,0",
        "0,a:b,3,0,9,gets,0",
        "1,a,b,3,77,9,set,3600",
        "1,a,1,0,9,incr,0",
        "2,a,1,0,9,delete,0",
        "3,a,1,0,9,touch,0",
        "4,a,1,x,9,get,0",
        "5,a,get",
    )
    assert [values(row, "time_ns", "op", "key", "size_bytes", "client") for row in rows] == [
        (0, "GET", "a:b", 120, "9"), (0, "GET", "a:b", None, "9"), (SECOND, "PUT", "a,b", 77, "9"),
        (SECOND, "PUT", "a", 0, "9"), (2 * SECOND, "DELETE", "a", None, "9"),
    ]  # fmt: skip
    assert report.left_out == Counter({"the names of the columns": 1, NO_OBJECT: 1}) and len(report.unreadable) == 2


def test_juicefs_sample():
    rows, report = read(juicefs.FORMAT, SAMPLES / "juicefs.accesslog")
    assert report.rows == 312 and not report.unreadable
    assert report.left_out == Counter({
        NO_OBJECT: 200, "a directory or a link": 28, "a further page of a directory": 2,
    })  # fmt: skip
    assert Counter(row["op"] for row in rows) == Counter(GET=10, PUT=22, HEAD=44, DELETE=4, LIST=2)
    assert Counter(row["error"] for row in rows) == {None: len(rows) - 27, "no such file or directory": 27}
    keys = {row["key"] for row in rows}
    assert {"3/x,y (1): OK <0.1>", "3/é", "3/nope", "2/f5", "4"} <= keys
    written = next(row for row in rows if row["op"] == "PUT")
    ended = 1795296906168866000  # 2026.11.21 21:35:06.168866
    assert values(written, "time_ns", "latency_ns", "key", "size_bytes", "client") == (
        ended - 50_000, 50_000, "4", 7040, "16934",
    )  # fmt: skip


def call(text):
    return f"2022.03.01 08:00:01.500000 {PROCESS} {text} <0.250000>"


EARLIER = (
    call("read (5,4096,8192): OK (1000)"),
    call("read (5,4096,8192): input/output error (0)"),
    call("write (5,8666,4993160): OK"),
    call("lookup (1,a (b): c - d): OK (5,[-rw-r--r--:0100644,1,0,0,1,2,3,9000])"),
    call("lookup (1,a (b): c - d): no such file or directory"),
    call("getattr (5): OK (5,[-rw-r--r--:0100644,1,0,0,1,2,3,9000])"),
    call("unlink (1,x - y): OK"),
    call("unlink (1,x): operation not permitted"),
    call("readdir (7,4096,0): OK (3)"),
    call("getattr (7): OK (7,[drwxr-xr-x:0040755,2,0,0,1,2,3,4096])"),
    call("open (5): OK [fh:9]"),
    call("create (1,a,-rw-r--r--:0100644): OK (5,[-rw-r--r--:0100644,1,0,0,1,2,3,0]) [fh:4]"),
)
LATER = (
    call("read (5,4096,8192,3): (1000) - OK"),
    call("read (5,4096,8192,3): (0) - input/output error"),
    call("write (5,8666,4993160,3) - OK"),
    call("lookup (1,a (b): c - d): (5,[-rw-r--r--:0100644,1,0,0,1,2,3,9000]) - OK"),
    call("lookup (1,a (b): c - d): - no such file or directory"),
    call("getattr (5): (5,[-rw-r--r--:0100644,1,0,0,1,2,3,9000]) - OK"),
    call("unlink (1,x - y) - OK"),
    call("unlink (1,x) - operation not permitted"),
    call("readdir (7,4096,0,true): (3) - OK"),
    call("getattr (7): (7,[drwxr-xr-x:0040755,2,0,0,1,2,3,4096]) - OK"),
    call("open (5,0x8000) [fh:9] - OK"),
    call("create (1,a,-rw-r--r--:0100644): (5,[-rw-r--r--:0100644,1,0,0,1,2,3,0]) [fh:4] - OK"),
)


@pytest.mark.parametrize("lines", [EARLIER, LATER, (*EARLIER, *LATER)], ids=["earlier", "later", "both"])
def test_juicefs_of_both_layouts(tmp_path, lines):
    rows, report = of(tmp_path, juicefs.FORMAT, *lines)
    columns = ("op", "key", "size_bytes", "transfer_bytes", "range_start_bytes", "range_bytes", "error")
    wanted = [
        ("GET", "5", None, 1000, 8192, 1000, None),
        ("GET", "5", None, 0, 8192, 4096, "input/output error"),
        ("PUT", "5", 8666, 8666, None, None, None),
        ("HEAD", "5", 9000, 0, None, None, None),
        ("HEAD", "1/a (b): c - d", None, 0, None, None, "no such file or directory"),
        ("HEAD", "5", 9000, 0, None, None, None),
        ("DELETE", "1/x - y", None, 0, None, None, None),
        ("DELETE", "1/x", None, 0, None, None, "operation not permitted"),
        ("LIST", "7/", None, 0, None, None, None),
    ]
    assert [values(row, *columns) for row in rows] == wanted * (len(lines) // len(EARLIER))
    assert not report.unreadable and report.left_out["a directory or a link"] == len(lines) // len(EARLIER)
    assert {row["latency_ns"] for row in rows} == {SECOND // 4}


SDK = (
    call("Open (/a/b,4): OK"),
    call("Stat (/a/b,c): OK"),
    call("Lookup (/a/d): no such file or directory"),
    call("Pread (/a/b,c,131072,55685619): (16384,OK)"),
    call("Read (/a/b,4096): (100,OK)"),
    call("Pread (/a/b,4096,9000): (0,EOF)"),
    call("Write (/a/b,10): (10,OK)"),
    call("Delete (/a/b): OK"),
    call("Readdir (/a,0): (OK,7)"),
    call("ReaddirPlus (/a/,5): (OK,2)"),
    call("Close (/a/b): OK"),
)


def test_juicefs_of_the_sdk(tmp_path):
    rows, report = of(tmp_path, juicefs.FORMAT, *SDK)
    columns = ("op", "key", "size_bytes", "transfer_bytes", "range_start_bytes", "range_bytes", "error")
    assert [values(row, *columns) for row in rows] == [
        ("HEAD", "a/b,c", None, 0, None, None, None),
        ("HEAD", "a/d", None, 0, None, None, "no such file or directory"),
        ("GET", "a/b,c", None, 16384, 55685619, 16384, None),
        ("GET", "a/b", None, 100, 0, 100, None),
        ("PUT", "a/b", 10, 10, None, None, None),
        ("DELETE", "a/b", None, 0, None, None, None),
        ("LIST", "a/", None, 0, None, None, None),
    ]
    assert report.left_out == Counter({
        NO_OBJECT: 2, "a read behind the file's end": 1, "a further page of a directory": 1,
    })  # fmt: skip


def test_juicefs_oddities(tmp_path):
    rows, report = of(
        tmp_path,
        juicefs.FORMAT,
        "#",
        call("read (9223372032559808513,4096,0,3): (100) - OK"),
        call("read (36028797018963952,4096,0): OK (100)"),
        call("read (5,4096,9000): OK (0)"),
        call("write (5,1): OK"),
        call("read (5,4096,0): OK (x)"),
        call("write (5,1,0): OK")[:-4],
        "2022/03/01 08:00:01.5 juicefs[1] <INFO>: something else",
        zone="Europe/Berlin",
    )
    assert not rows and report.rows == 8
    assert report.left_out == Counter({
        "the mark of a second without operations": 1, "a file of JuiceFS itself": 2, "a read behind the file's end": 1,
    })  # fmt: skip
    assert Counter(why for _, why in report.unreadable) == Counter([
        "its arguments cannot be read", "its result cannot be read", "ends before it should",
        "is not a line of an access log",
    ])  # fmt: skip


def test_juicefs_times_are_of_the_zone_that_is_given(tmp_path):
    (utc,), _ = of(tmp_path, juicefs.FORMAT, LATER[0])
    (berlin,), _ = of(tmp_path, juicefs.FORMAT, LATER[0], zone="Europe/Berlin")
    assert utc["time_ns"] - berlin["time_ns"] == 3600 * SECOND
    assert utc["time_ns"] == 1646121601 * SECOND + SECOND // 4


def test_blocks_of_short_lines_keep_their_line_numbers(tmp_path):
    count = 3 * BLOCK_LINES
    lines = [f"{i} REST.GET.OBJECT {i:016x} 5" for i in range(count)]
    lines[count - 10] = "junk"
    rows, report = of(tmp_path, ibm_object_store.FORMAT, *lines)
    assert report.rows == count and [row["time_ns"] for row in rows[-3:]] == [
        (count - i) * 10**6 for i in (3, 2, 1)
    ]  # fmt: skip
    assert report.where[0].partition("line ")[2].startswith(f"{count - 9}:")


def test_s3_sample():
    rows, report = read(s3_access_log.FORMAT, SAMPLES / "s3-access-log.txt")
    assert report.rows == 100 and not report.unreadable
    lists = [row for row in rows if row["op"] == "LIST"]
    assert lists and {row["key"] for row in lists} == {"photos/2025/"}
    assert {row["error"] for row in rows} == {None, "NoSuchKey"}
