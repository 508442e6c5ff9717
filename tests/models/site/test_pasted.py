"""Text as people keep it: prompts, quotes, fences, escapes, other encodings, and files of another store."""

from __future__ import annotations

import gzip
import json

import pytest

from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from models.site.pasted import outputs
from models.store import store_named
from tests.paths import SAMPLES
from traces.errors import InputError

CEPH = (*store_named("ceph").setup.readers, *READERS)
TREE = (SAMPLES / "sites" / "osd-tree-unspaced.txt").read_text().partition("\n")[2]
COUNTS = 4, 1
OSD = {"hostname": "a", "osd_objectstore": "bluestore", "bluestore_bdev_type": "hdd", "bluestore_bdev_size": "1e12"}


def counts(path) -> tuple[object, object]:
    (read,) = read_files([path], CEPH)
    return read.found.facts["hosts"], read.found.facts["drives"]


@pytest.mark.parametrize(
    "text",
    [
        TREE,
        TREE.replace("\n", "\r\n"),
        "".join(f"> {line}\n" for line in TREE.splitlines()),
        "".join(f">> {line}\n" for line in TREE.splitlines()),
        "".join(f"        {line}\n" for line in TREE.splitlines()),
        f"```console\n{TREE}```\n",
        f"\x1b[1mroot@a:~#\x1b[0m ceph osd tree\n{TREE}root@a:~# \n",
        f"[ceph: root@a /]# ceph osd tree\n{TREE}",
        f"$ kubectl -n rook-ceph exec -it deploy/rook-ceph-tools -- ceph osd tree\n{TREE}",
        f"$ sudo microceph.ceph osd tree\n{TREE}",
        f"ceph osd tree\n{TREE}",
        TREE.replace(" osd.", "\n   osd."),
        f"\ufeff{TREE}",
    ],
)
def test_a_tree_however_it_was_kept(tmp_path, text):
    path = tmp_path / "tree.txt"
    path.write_bytes(text.encode())
    assert counts(path) == COUNTS


@pytest.mark.parametrize("data", [TREE.encode("utf-16"), gzip.compress(TREE.encode(), mtime=0)])
def test_other_encodings(tmp_path, data):
    (tmp_path / "tree").write_bytes(data)
    assert counts(tmp_path / "tree") == COUNTS


def test_documents_one_after_the_other():
    found = outputs(f"{json.dumps(OSD)}\n{json.dumps([OSD], indent=1)}\n")
    assert [json.loads(each.text) for each in found] == [OSD, [OSD]]
    found = outputs(f"a$ ceph osd metadata 0\n{json.dumps(OSD, indent=1)}\na$ ceph health\nHEALTH_OK\na$ exit\n")
    assert [each.command for each in found] == ["ceph osd metadata 0", "ceph health"]
    assert json.loads(found[0].text) == OSD


def test_broken_json_stays_whole():
    assert [each.text for each in outputs('{"nodes": [1,')] == ['{"nodes": [1,']


def test_outputs_of_no_known_kind_are_named(tmp_path):
    path = tmp_path / "all.txt"
    path.write_text(f"# ceph health\nHEALTH_OK\n# ceph osd tree\n{TREE}")
    (read,) = read_files([path], CEPH)
    assert read.found.notes[-1] == "all.txt: outputs of no known kind are left out: ceph health"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b'{"nodes": [', "looks like JSON, but is broken: Expecting value: line 1 column 12"),
        (gzip.compress(TREE.encode(), mtime=0)[:40], "is compressed by gzip, and cut off or broken"),
        (b"\x80\x81", "is neither UTF-8 nor UTF-16 text"),
        (b"MINIO_VOLUMES=http://h{1...4}/d{1...4}", "is environment of MinIO, of another store; init minio reads it"),
        (b"# HELP minio_node_drive_total Drives\n# TYPE minio_node_drive_total gauge\nminio_node_drive_total 4\n",
         "has metrics, which are not of one moment; tailcast import-metrics takes them"),
        (b"HEALTH_OK", "its kind is not recognised; read are"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_one_line(tmp_path, data, said):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        read_files([path], CEPH, lambda: [("minio", store_named("minio").setup.readers)])
    (message,) = error.value.messages
    assert message.startswith(f"{path}: {said}")
