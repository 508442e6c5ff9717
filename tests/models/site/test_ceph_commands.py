"""CRUSH rules and maps, erasure codes, and lists of Ceph's orchestrator, as public issues and documents have them.

Sources: ceph/ceph (documentation of erasure codes and of placement groups; pull requests 16446, 17083 and 28224),
rook/rook issues 3267, 6908 and 9543, SUSE/doc-ses issue 820, ceph/ceph-medic issue 66, O'Reilly's Learning Ceph
(chapter 6), and notes on an installation with root_rgw. Names are replaced.
"""

from __future__ import annotations

import json

import pytest

from models.site.gathered import read_files
from models.site.known import Known
from models.site.setup import Site
from models.store import store_named
from tests.models.site.test_definitions import POOLS
from traces.errors import InputError

PROFILE = """\
[root@a ~]# ceph osd erasure-code-profile get rgw_ec_profile
crush-device-class=
crush-failure-domain=host
crush-root=root_rgw
k=4
m=2
plugin=isa
technique=reed_sol_van
"""
OLD_PROFILE = "k=2\nm=1\nplugin=jerasure\nruleset-failure-domain=osd\ntechnique=reed_sol_van\n"
CLAY = json.dumps({"crush-failure-domain": "rack", "k": "8", "m": "3", "plugin": "clay", "stripe_unit": "16384"})


def rule(name: str, taken: str, *types: str) -> dict[str, object]:
    """Return a rule that chooses parts of some types."""
    chosen = [{"op": "chooseleaf_indep", "num": 0, "type": each} for each in types]
    return {"rule_id": 0, "rule_name": name, "type": 3, "steps": [{"op": "take", "item": -1, "item_name": taken},
                                                                  *chosen, {"op": "emit"}]}  # fmt: skip


MAP_TEXT = """\
# begin crush map
device 0 osd.0 class ssd
device 1 osd.1 class ssd
device 2 osd.2 class hdd
device 3 osd.3 class hdd
type 0 osd
type 1 host
host a {
        id -3           # do not change unnecessarily
        # weight 0.137
        alg straw
        item osd.3 weight 0.093
        item osd.0 weight 0.044
}
host b {
        id -5
        item osd.2 weight 0.093
        item osd.1 weight 0.044
}
rule replicated_hdd {
        type replicated
        step take default class hdd
        step chooseleaf firstn 0 type rack
        step emit
}
"""
MAP = {
    "devices": [{"id": 0, "name": "osd.0", "class": "nvme"}, {"id": 1, "name": "osd.1", "class": "nvme"}],
    "buckets": [
        {"id": -1, "name": "default", "type_name": "root", "items": [{"id": -2, "weight": 65536, "pos": 0}]},
        {"id": -2, "name": "a", "type_name": "host", "items": [{"id": number, "weight": 65536} for number in (0, 1)]},
        {"id": -3, "name": "a~nvme", "type_name": "host", "items": [{"id": 0, "weight": 65536}]},
    ],
    "rules": [rule("r", "default", "osd")],
}
LIMITS = [{"user_id": "u", "buckets": [
    {"bucket": "a", "num_objects": 610001, "num_shards": 0, "objects_per_shard": 610001},
    {"bucket": "b", "num_objects": 2, "num_shards": 11, "objects_per_shard": 0},
    {"bucket": "c", "num_objects": 0, "num_shards": 0, "objects_per_shard": 0}]}]  # fmt: skip
HOSTS = """\
HOST  ADDR       LABELS          STATUS
a     10.0.0.10  _admin,mon,osd
b     10.0.0.11  mon osd
c     10.0.0.12  osd,rgw         Offline
d     10.0.0.13  rgw
4 hosts in cluster
"""
DEVICES = """\
HOST  PATH          TYPE  DEVICE ID              SIZE  AVAILABLE  REFRESHED  REJECT REASONS
a     /dev/nvme0n1  ssd   SAMSUNG_MZ_S1         1600G  No         3m ago     Insufficient space, LVM detected, locked
a     /dev/sda      hdd   HGST_HUS72_K1         4000G  No         3m ago     Insufficient space, LVM detected, locked
a     /dev/sdb      hdd   HGST_HUS72_K2         4000G  Yes        3m ago
b     /dev/nvme0n1  ssd   SAMSUNG_MZ_S2         1600G  No         3m ago     LVM detected
b     /dev/sda      hdd   HGST_HUS72_K3         4000G  No         3m ago     LVM detected
b     /dev/sdb      hdd   HGST_HUS72_K4         4000G  No         3m ago     LVM detected
"""
DEVICES_OCTOPUS = """\
Hostname  Path      Type  Serial                Size   Health   Ident  Fault  Available
a         /dev/vdb  hdd   0d8a57dc-1ea0-488b-8  10.7G  Unknown  N/A    N/A    No
a         /dev/vdc  hdd                         10.7G  Unknown  N/A    N/A    No
"""
DEVICES_JSON = [
    {"name": host, "addr": "", "devices": [
        {"path": "/dev/nvme1n1", "human_readable_type": "ssd", "available": False, "sys_api": {"size": 3.84e12}}]}
    for host in "abc"
]  # fmt: skip
TRUNCATED = """\
ID  WEIGHT    TYPE NAME           UP/DOWN REWEIGHT PRIMARY-AFFINITY
 -1 974.89661 root default
-14 330.76886     rack r1
 -2  83.56099         host a
  0   3.48199             osd.0       up  1.00000          1.00000
...
 23   3.48199             osd.23      up  1.00000          1.00000
 -3   3.48199         host b
 24   3.48199             osd.24      up  1.00000          1.00000
"""
LEGACY = POOLS.replace("stripe_width 32768", "stripe_width 4096")


@pytest.mark.parametrize(
    ("content", "kind", "facts", "notes"),
    [
        (PROFILE, "ceph osd erasure-code-profile get", {"protection": "ec 4+2", "failure-domain": "host"}, []),
        (OLD_PROFILE, "ceph osd erasure-code-profile get", {"protection": "ec 2+1", "failure-domain": "osd"}, []),
        (CLAY, "ceph osd erasure-code-profile get", {"protection": "ec 8+3", "failure-domain": None},
         ["its failure domain is rack", "by the plugin clay", "its stripe unit is 16384; the model has 4096 bytes"]),
        ([rule("a", "default", "host"), rule("b", "default~hdd", "host")], "ceph osd crush rule dump",
         {"failure-domain": "host"}, ["rule b takes OSDs of class hdd"]),
        (rule("a", "default", "host", "osd"), "ceph osd crush rule dump", {"failure-domain": "osd"},
         ["rule a has several on each host"]),
        ([rule("a", "default", "osd"), rule("b", "default", "rack")], "ceph osd crush rule dump",
         {"failure-domain": None}, ["rule b has the failure domain rack", "rules have different failure domains"]),
        (MAP_TEXT, "map of crushtool",
         {"hosts": 2, "drives": 1, "drive": "hdd-7k2", "drive.capacity": "102GB", "index-drives": 1,
          "failure-domain": "host"}, ["takes OSDs of class hdd", "failure domain rack"]),
        (MAP, "ceph osd crush dump",
         {"hosts": 1, "drives": 2, "drive": "nvme", "drive.capacity": "1100GB", "failure-domain": "osd"}, []),
        (LIMITS, "radosgw-admin bucket limit check", {"buckets": 2, "objects": 610_003, "shards": 6},
         ["the largest bucket has 610,001 of 610,003 objects"]),
        (HOSTS, "ceph orch host ls", {"hosts": 3, "gateways": 2}, []),
        (DEVICES, "ceph orch device ls",
         {"hosts": 2, "drives": 2, "drive": "hdd-7k2", "drive.capacity": "4000GB", "db": "nvme", "db-drives": 1,
          "index-drives": None}, ["1 of 6 drives are not used yet", "which have the system, is not said"]),
        (DEVICES_OCTOPUS, "ceph orch device ls", {"hosts": 1, "drives": 2, "drive.capacity": "11GB"}, []),
        (DEVICES_JSON, "ceph orch device ls",
         {"hosts": 3, "drives": 1, "drive": "nvme", "drive.capacity": "3840GB"}, []),
        (TRUNCATED, "ceph osd tree", {"hosts": 2},
         ["1 of 2 hosts weigh 83.56, the OSDs below them 6.964: the text lacks OSDs"]),
        (LEGACY, "ceph osd pool ls detail", {"protection": None, "erasure-shards": 11}, []),
    ],
)  # fmt: skip
def test_what_commands_say(tmp_path, content, kind, facts, notes):
    path = tmp_path / "output"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    (read,) = read_files([path], store_named("ceph").setup.readers)
    assert read.kind == kind
    assert {name: read.found.facts.get(name) for name in facts} == facts
    for note in notes:
        assert any(note in each for each in read.found.notes), read.found.notes


def test_an_erasure_code_without_its_data_shards_is_asked_for():
    setup = store_named("ceph").setup
    known = {"hosts": 12, "drives": 4, "drive": "hdd-7k2", "nic": "25Gbit/s", "gateways": 2, "objects": 10**6,
             "size": "1MiB", "rate": "100/s", "erasure-shards": 12}  # fmt: skip
    facts = {name: Known(value, "given") for name, value in known.items()}
    with pytest.raises(
        InputError, match="the data pool has 12 shards of an erasure code, of which no file says how many are data"
    ):
        setup.draft(Site(setup.questions, facts))
    drafted = setup.draft(Site(setup.questions, {**facts, "protection": Known("ec 8+4", "given")}))
    assert drafted["pools"]["data"].value == "ec 8+4"
