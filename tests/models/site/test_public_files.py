"""Output of commands in public issues and documents, with their numbers and structure only, compared by hand.

Sources: ceph/ceph pull request 26764, red-hat-storage/ocs-operator 4163, rook/rook 14435, 6061, 9268 and 14058,
TheJJ/ceph-balancer issue 22, HeinleinSupport/check_mk_extensions 25, att/netarbiter 5, red-hat-storage/cephci 3483,
carmstrong/multinode-ceph-vagrant 21, Crapworks/ceph-dash 63, rochaporto/collectd-ceph 4, ceph/cephmetrics 104,
akash-network/support 97, IBM's documentation of Storage Ceph 5 (usage statistics) and 9 (placement groups), ceph/ceph
pull requests 26614 and 43403, rochaporto/collectd-ceph 3; minio/dperf pull request 7; borgbackup/borg 45; minio/mc
4918, 4162, 3284 and 4448, minio/minio 8096, rustfs/cli 225; and notes on installations and failures with `ceph osd
tree` of Jewel to Reef, among them those of `pasted-…`, `osd-tree-tiers`, `-domains`, `-unspaced` and `-comment`.
Names are replaced, and hosts of large clusters left out.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from models.store import store_named
from tests.paths import SAMPLES
from traces.errors import InputError

ALL = (*store_named("ceph").setup.readers, *store_named("minio").setup.readers, *READERS)


def _placed(text: str) -> list[dict[str, int]]:
    """Return placement groups and primaries of OSDs from ``0: 3 1``: OSD 0 has three, and is the primary of one."""
    rows = [[int(word) for word in re.findall(r"\d+", row)] for row in text.split(",")]
    return [{"osd": osd, "pgs": pgs, "primaries": primaries} for osd, pgs, primaries in rows]


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
    ("osd-tree-tiers", "ceph osd tree", {"hosts": 2, "drives": 5, "drive.capacity": "299GB"},
     ["OSDs of the root storage-tier, which has most bytes, are taken; those of gold-tier are left out"]),
    ("osd-tree-domains", "ceph osd tree", {"hosts": 3, "drives": 4}, ["1 of 12 OSDs are down, 1 out"]),
    ("osd-tree-unspaced", "ceph osd tree", {"hosts": 4, "drives": 1, "drive": "hdd-7k2", "drive.capacity": "2678GB"},
     []),
    ("osd-tree-comment", "ceph osd tree", {"hosts": 2, "drives": 1, "drive": "hdd-7k2", "index-drives": 1},
     ["1 OSDs of class ssd are taken as the index pool's"]),
    ("osd-df-tree-mimic", "ceph osd df tree", {"hosts": 3, "drives": 1, "drive": "hdd-7k2"}, ["5 to 10 % full"]),
    ("osd-metadata-one", "ceph osd metadata -f json",
     {"hosts": None, "drive": "hdd-7k2", "drive.capacity": "537GB", "db": "none", "release": "reef"},
     ["it is one OSD"]),
    ("mc-info-table", "mc admin info",
     {"hosts": 4, "drives": 2, "set-size": 8, "parity": 2, "objects": 43_481, "release": "2026-06-09"}, []),
    ("status-luminous", "ceph -s", {"objects": 3_816_000, "stored-size": "4098002B", "gateways": None},
     ["RADOS objects"]),
    ("status-luminous-degraded", "ceph -s", {"objects": 59, "stored-size": "2417057B"}, ["RADOS objects"]),
    ("status-empty", "ceph -s", {"objects": None, "stored-size": None}, ["the cluster is empty"]),
    ("status-reef", "ceph -s", {"objects": 443_490, "stored-size": "970869B", "gateways": None}, ["RADOS objects"]),
    ("status-gateways", "ceph -s", {"objects": 1120, "stored-size": "2780224B", "gateways": 2}, ["RADOS objects"]),
    ("status-octopus", "ceph -s -f json", {"objects": 19_552, "stored-size": "4043981B"}, ["RADOS objects"]),
    ("status-reef-json", "ceph -s -f json", {"objects": 2_937_887, "stored-size": "4164339B"}, ["RADOS objects"]),
    ("df-emperor", "ceph df detail -f json", {"objects": 9, "stored-size": "2545440B"}, ["in the pool images"]),
    ("df-jewel", "ceph df detail", {"objects": 49_996_056, "stored-size": "1390992B"}, ["in the pool data"]),
    ("df-quincy", "ceph df detail", {"objects": 135_450, "stored-size": "3892265B"}, ["in the pool pool-a"]),
    ("df-gateways", "ceph df detail", {"objects": 3, "stored-size": "275456B"},
     ["in the pool default.rgw.buckets.data", "more bytes are in source-ecpool-86"]),
    ("mc-info-one", "mc admin info",
     {"hosts": 1, "drives": 4, "set-size": 4, "parity": 2, "release": "2024-04-15", "objects": 5498}, []),
    ("mc-info-pools", "mc admin info",
     {"hosts": 1, "drives": 4, "pools": [{"hosts": 1, "drives": 4}], "set-size": 4, "release": "2022-07-20"}, []),
    ("pg-dump-nautilus", "ceph pg dump", {"placement-groups": 3, "osd-pgs": _placed("0: 3 1, 1: 3 2, 2: 3 0")}, []),
    ("pg-dump-reef", "ceph pg dump", {"placement-groups": 1, "osd-pgs": _placed("1: 1 0, 3: 1 0, 4: 1 1")},
     ["those of pool 1, which has most bytes"]),
    ("pg-dump-firefly", "ceph pg dump", {"placement-groups": 1, "osd-pgs": _placed("0: 1 1, 1: 1 0")},
     ["those of pool 3, which has most bytes"]),
    ("pg-dump-brief", "ceph pg dump", {"placement-groups": 2, "osd-pgs": _placed("0: 2 0, 1: 2 2, 2: 2 0")},
     ["those of pool 2, which has most placement groups, as no bytes are given", "1 of 2 placement groups are not"]),
    ("pg-ls-erasure", "ceph pg dump",
     {"placement-groups": 2, "osd-pgs": _placed("0: 2 0, 1: 1 0, 2: 1 1, 3: 1 1, 4: 1 0, 5: 1 0")},
     ["1 of 2 placement groups are not clean"]),
    ("dperf", "dperf --verbose",
     {"drive.read.bandwidth": 1.6 * 2**30, "drive.write.bandwidth": pytest.approx(1.1 * 2**30)}, []),
    ("openssl-speed", "openssl speed", {}, ["is not used"]),
    ("mc-info-2020", "mc admin info", {"hosts": 4, "drives": 1, "release": "2020-06-18"},
     ["2 drives are offline"]),
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
    ("name", "outputs"),
    [
        ("pasted-jewel", {"ceph status": {"objects": 20, "stored-size": "98B"},
                          "ceph osd tree": {"hosts": 3, "drives": 1, "drive.capacity": "11GB"}}),
        ("pasted-mail", {"ceph status": {"objects": 5315, "stored-size": "4188977B"},
                         "ceph osd tree": {"hosts": 3, "drives": 2, "drive.capacity": "1979GB"}}),
        ("pasted-comments", {"ceph osd df": {"hosts": None, "drive.capacity": "480GB"},
                             "ceph osd tree": {"hosts": 3, "drives": 2, "drive.capacity": "480GB"}}),
        ("pasted-wrapped", {"podman exec -it ceph-mon-node-1 ceph osd df": {"drive.capacity": "3057GB"},
                            "podman exec -it ceph-mon-node-1 ceph -s":
                                {"objects": 4_180_000, "stored-size": "473474B"}}),
        ("pasted-rook", {"ceph osd df": {"hosts": None, "drive.capacity": "11GB"},
                         "ceph osd tree": {"hosts": 3, "drives": 1, "drive.capacity": "11GB"}}),
    ],
)  # fmt: skip
def test_several_outputs_in_one_file(name, outputs):
    read = read_files([SAMPLES / "sites" / f"{name}.txt"], ALL)
    assert [each.name for each in read] == [f"{name}.txt: {command}" for command in outputs]
    for one, facts in zip(read, outputs.values(), strict=True):
        assert {fact: one.found.facts.get(fact) for fact in facts} == facts


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


def test_sums_of_all_drives_are_no_rate_of_a_drive(tmp_path):
    path = tmp_path / "dperf.txt"
    text = (SAMPLES / "sites" / "dperf.txt").read_text()
    path.write_text(text[text.index("TotalREAD") :])
    with pytest.raises(InputError, match="dperf --verbose has those of each"):
        read_files([path], ALL)


def test_a_slow_drive_among_others_is_noted(tmp_path):
    path = tmp_path / "dperf.txt"
    text = (SAMPLES / "sites" / "dperf.txt").read_text()
    path.write_text(text.replace("/mnt/d5  │ 1.6 GiB/s", "/mnt/d5  │ 400 MiB/s"))
    (read,) = read_files([path], ALL)
    assert read.found.notes == ("drives read 419 to 1,718 MB/s; the mean is taken",)


def test_a_placement_group_without_its_osds_is_refused(tmp_path):
    path = tmp_path / "pgs.txt"
    text = (SAMPLES / "sites" / "pg-dump-brief.txt").read_text()
    path.write_text(text.replace("[1,0,2]          1 [1,0,2]              1", "", 1))
    with pytest.raises(InputError, match=r"looks like ceph pg dump, but is broken: placement group 2\.7 lacks"):
        read_files([path], ALL)


def test_text_without_indentation_has_its_hosts(tmp_path):
    text = (SAMPLES / "sites" / "osd-tree-mimic.txt").read_text()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    path = tmp_path / "tree.txt"
    path.write_text("\n".join(lines))
    (read,) = read_files([path], ALL)
    assert (read.found.facts["hosts"], read.found.facts["drives"]) == (3, 1)


DETAIL = """\
--- POOLS ---
POOL                ID  PGS   STORED   (DATA)  (OMAP)  OBJECTS     USED   (DATA)  (OMAP)  %USED  MAX AVAIL  QUOTA OBJECTS  QUOTA BYTES  DIRTY  USED COMPR  UNDER COMPR
.mgr                 1    1  449 KiB  449 KiB     0 B        2  1.3 MiB  1.3 MiB     0 B      0     32 GiB            N/A          N/A    N/A         0 B          0 B
rgw.buckets.data     2   32  2.0 TiB  2.0 TiB     0 B    1.50M  6.0 TiB  6.0 TiB     0 B  12.00     32 GiB            N/A          N/A    N/A         0 B          0 B
"""  # noqa: E501  # columns of Pacific (src/mon/PGMap.cc, PGMapDigest::dump_pool_stats_full)


def test_the_columns_of_detail(tmp_path):
    path = tmp_path / "df.txt"
    path.write_text(DETAIL)
    (read,) = read_files([path], ALL)
    assert read.found.facts == {"objects": 1_500_000, "stored-size": f"{round(2 * 2**40 / 1.5e6)}B"}


@pytest.mark.parametrize(
    ("line", "why"),
    [("data 1 64", "its pool data has 3 columns instead of 6"), ("data 1 x 0 1 5", "'x' is no size"),
     ("data 1 5G 0 1G many", "'many' is no number of objects")],
)  # fmt: skip
def test_a_broken_table_is_refused(tmp_path, line, why):
    path = tmp_path / "df.txt"
    path.write_text(f"POOLS:\n    NAME ID USED %USED MAX AVAIL OBJECTS\n    {line}\n")
    with pytest.raises(InputError, match=why):
        read_files([path], ALL)
