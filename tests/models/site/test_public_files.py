"""Output of commands in public issues and documents, with their numbers and structure only, compared by hand.

Sources: ceph/ceph pull request 26764, red-hat-storage/ocs-operator 4163, rook/rook 14435 and 6061, TheJJ/ceph-balancer
issue 22; minio/mc 4918, 4162, 3284 and 4448, minio/minio 8096; and installation notes with `ceph osd tree` of Jewel and
Mimic. Names are replaced, and hosts of large clusters left out.
"""

from __future__ import annotations

from typing import Any

import pytest

from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from models.store import store_named
from tests.paths import SAMPLES
from traces.errors import InputError

ALL = (*store_named("ceph").setup.readers, *store_named("minio").setup.readers, *READERS)

CASES: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("osd-tree-stray", "ceph osd tree", {"hosts": 2, "drives": 1}, ["1 OSDs on no host are left out"]),
    ("osd-tree-mimic", "ceph osd tree", {"hosts": 3, "drives": 1, "drive": "hdd-7k2", "drive.capacity": "107GB"}, []),
    ("osd-tree-racks", "ceph osd tree", {"hosts": 1, "drives": 1, "drive.capacity": "1100GB"}, []),
    ("osd-tree-uneven", "ceph osd tree", {"hosts": 2, "drives": 4, "drive.capacity": "2162GB"},
     ["drives of different sizes"]),
    ("osd-tree-zones", "ceph osd tree", {"hosts": 3, "drives": 1}, ["class ssd does not say"]),
    ("osd-tree-pods", "ceph osd tree", {"hosts": 2, "drives": 1, "drive": "hdd-7k2"}, []),
    ("osd-df-tree-nautilus", "ceph osd df tree", {"hosts": 2, "drives": 3, "drive.capacity": "11GB"},
     ["1 of 6 OSDs are down", "11 to 11 % full"]),
    ("osd-df-tree-reef", "ceph osd df tree", {"hosts": 2, "drives": 1, "drive.capacity": "550GB"}, ["class ssd"]),
    ("osd-df-tree-large", "ceph osd df tree",
     {"hosts": 1, "drives": 4, "drive": "hdd-7k2", "drive.capacity": "8026GB"}, ["86 to 86 % full"]),
    ("mc-info-one", "mc admin info",
     {"hosts": 1, "drives": 4, "set-size": 4, "parity": 2, "release": "2024-04-15", "objects": 5498}, []),
    ("mc-info-pools", "mc admin info",
     {"hosts": 1, "drives": 4, "pools": [{"hosts": 1, "drives": 4}], "set-size": 4, "release": "2022-07-20"}, []),
    ("mc-info-2020", "mc admin info", {"hosts": 4, "drives": 1, "release": "2020-06-18"}, []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "facts", "notes"), CASES)
def test_what_files_of_other_sites_say(name, kind, facts, notes):
    (read,) = read_files([SAMPLES / "sites" / f"{name}.txt"], ALL)
    assert read.kind == kind
    assert {fact: read.found.facts.get(fact) for fact in facts} == facts
    for note in notes:
        assert any(note in each for each in read.found.notes), read.found.notes
    if not notes:
        assert read.found.notes == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mc-info-two-pools-in-one", "a server is in several pools"),
        ("mc-info-2019", "it says of no server which drives it has"),
    ],
)
def test_what_is_not_enough_is_refused(name, why):
    with pytest.raises(InputError, match=why):
        read_files([SAMPLES / "sites" / f"{name}.txt"], ALL)


def test_text_without_indentation_has_its_hosts(tmp_path):
    text = (SAMPLES / "sites" / "osd-tree-mimic.txt").read_text()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    path = tmp_path / "tree.txt"
    path.write_text("\n".join(lines))
    (read,) = read_files([path], ALL)
    assert (read.found.facts["hosts"], read.found.facts["drives"]) == (3, 1)
