"""Definitions of clusters: Rook, cephadm and ceph-ansible, tenants and command lines of MinIO, and options of Ceph."""

from __future__ import annotations

from typing import Any

import pytest

from models.site.gathered import read_files
from models.site.hardware.readers import READERS
from models.store import store_named
from tests.paths import SAMPLES
from traces.errors import InputError

SITES = SAMPLES / "sites"
ROOK = (SITES / "rook.yaml").read_text()
CLAIMS = (SITES / "rook-claims.yaml").read_text()
CEPHADM = (SITES / "cephadm.yaml").read_text()
INVENTORY = (SITES / "ceph-ansible.ini").read_text()
POOLS = (SITES / "pool-ls-detail.txt").read_text()
COLD = f"{POOLS}pool 12 'default.rgw.cold.data' replicated size 3 min_size 2 crush_rule 4 pg_num 256 pgp_num 256\n"
CONFIG = (SITES / "config-dump.txt").read_text()
TENANT = (SITES / "tenant.yaml").read_text()
CHART = (SITES / "tenant-chart.yaml").read_text()
CONF = """\
[global]
fsid = 00000000-0000-0000-0000-000000000000
mon host = 10.0.0.1,10.0.0.2
osd memory target = 6442450944 ; of each
[client.rgw.a]
rgw_frontends = "beast port=80 tcp_nodelay=1"
"""
ROOK_NVME = """\
kind: ConfigMap
data:
  config: |
    [global]
    osd_pool_default_size = 1
---
apiVersion: ceph.rook.io/v1
kind: CephCluster
spec:
  cephVersion: {image: "quay.io/ceph/ceph:v17"}
  storage:
    nodes:
    - {name: a, devices: [{name: /dev/disk/by-id/scsi-SNVMe_P5_X1}, {name: /dev/disk/by-id/scsi-SNVMe_P5_X2}]}
    - {name: b, devices: [{name: nvme0n1}, {name: nvme1n1}]}
"""
ROOK_DATABASES = """\
apiVersion: ceph.rook.io/v1
kind: CephCluster
spec:
  storage:
    config: {metadataDevice: config-should-override}
    nodes:
    - name: a
      devices:
      - {name: sdb, config: {metadataDevice: vg0/scratch1}}
      - {name: sdc, config: {metadataDevice: vg0/scratch2}}
    - {name: b, devices: [{name: sdb, config: {metadataDevice: vg0/x}}, {name: sdc}]}
"""
OPENSHIFT = """\
apiVersion: ocs.openshift.io/v1
kind: StorageCluster
spec:
  storageDeviceSets: [{count: 2, replica: 3, dataPVCTemplate: {spec: {resources: {requests: {storage: 2Ti}}}}}]
"""
VERSIONS = """\
{"mon": {"ceph version 18.2.4 (e7ad) reef (stable)": 3},
 "osd": {"ceph version 18.2.4 (e7ad) reef (stable)": 20, "ceph version 17.2.7 (b12a) quincy (stable)": 4},
 "overall": {"ceph version 18.2.4 (e7ad) reef (stable)": 27}}
"""
ANSIBLE = """\
osd_scenario: lvm
lvm_volumes:
  - {data: data-1, data_vg: vg1, db: db-1, db_vg: nvme-a}
  - {data: data-2, data_vg: vg2, db: db-2, db_vg: nvme-a}
"""
UNIT = "[Service]\nExecStart=/usr/local/bin/minio server http://host{1...4}/mnt/disk{1...8} --address :9000\n"
BENCH = (
    '{"bytes_written": 1073741824, "blocksize": 4194304, "elapsed_sec": 6.1, "bytes_per_sec": 176023249.8, "iops": 42}'
)
ZONE = """\
{"id": "0", "name": "default", "placement_pools": [{"key": "default-placement", "val": {
  "index_pool": "default.rgw.buckets.index", "storage_classes": {
    "STANDARD": {"data_pool": "default.rgw.buckets.data", "compression_type": "zstd"}}}}]}
"""
SMALL = '{"bytes_written": 12288000, "blocksize": 4096, "elapsed_sec": 5, "bytes_per_sec": 2457600, "iops": 600}'


@pytest.mark.parametrize(
    ("store", "text", "kind", "facts", "note"),
    [
        ("ceph", ROOK, "definition of Rook",
         {"hosts": 3, "drives": 3, "db": "nvme", "db-drives": 1, "memory": "6553MiB", "release": "reef", "gateways": 2,
          "gateway-cores": 4, "index-replicas": 3, "protection": "ec 2+1"}, ""),
        ("ceph", CLAIMS, "definition of Rook", {"hosts": None, "drive.capacity": "550GB", "release": "pacific"},
         "3 OSDs are on claimed volumes; on which hosts is not known, ceph osd tree says it"),
        ("ceph", CEPHADM, "service specs of cephadm",
         {"hosts": 3, "drive": "hdd-7k2", "db": "nvme", "gateways": 4, "drives": None},
         "it does not say how many drives a host has"),
        ("ceph", INVENTORY, "inventory of ceph-ansible", {"hosts": 12, "gateways": 2}, ""),
        ("ceph", ANSIBLE, "variables of ceph-ansible", {"drives": 2, "db": "nvme", "db-drives": 1}, ""),
        ("ceph", POOLS, "ceph osd pool ls detail",
         {"protection": "ec 8+3", "placement-groups": 2048, "index-replicas": 3}, ""),
        ("ceph", COLD, "ceph osd pool ls detail", {"protection": "ec 8+3", "placement-groups": 2048},
         "left out: default.rgw.cold.data; pools.second is a data pool on another device class"),
        ("ceph", CONFIG, "ceph config dump", {"memory": "8GiB", "osd-shards": 16, "balancer": False}, ""),
        ("ceph", CONF, "ceph.conf", {"memory": "6GiB", "frontend": "beast", "tcp-nodelay": True}, ""),
        ("ceph", VERSIONS, "ceph versions", {"release": "reef"},
         "4 OSDs have the release quincy; that of most is used"),
        ("ceph", "ceph version 20.2.0 (69f8) tentacle (stable - RelWithDebInfo)", "ceph versions",
         {"release": "tentacle"}, ""),
        ("ceph", BENCH, "ceph tell osd.N bench", {"drive.write.bandwidth": 176023249.8},
         "its writes go through the OSD"),
        ("ceph", ZONE, "radosgw-admin zone get", {}, "they are compressed by zstd, which the model leaves out"),
        ("ceph", SMALL, "ceph tell osd.N bench", {"drive.write.iops": 600.0}, "its writes go through the OSD"),
        ("ceph", ROOK_NVME, "definition of Rook", {"hosts": 2, "drives": 2, "drive": "nvme", "release": "quincy"}, ""),
        ("ceph", ROOK_DATABASES, "definition of Rook",
         {"hosts": 2, "drives": 2, "db": "sata-ssd", "db-drives": 2}, ""),
        ("ceph", OPENSHIFT, "definition of Rook", {"drive.capacity": "2199GB"}, "6 OSDs are on claimed volumes"),
        ("minio", TENANT, "definition of a MinIO tenant",
         {"hosts": 4, "drives": 4, "drive.capacity": "322GB", "cores": 8, "parity": 2, "release": "2024-05-10"},
         "its servers are taken as hosts of their own"),
        ("minio", CHART, "definition of a MinIO tenant", {"hosts": 4, "drives": 1, "drive.capacity": "11GB"}, ""),
        ("minio", UNIT, "command line of MinIO", {"hosts": 4, "drives": 8}, ""),
        ("minio", 'storage_class standard="EC:4" rrs=EC:2\n', "mc admin config get", {"parity": 4}, ""),
    ],
)  # fmt: skip
def test_what_definitions_say(tmp_path, store, text, kind, facts, note):
    read = read_text(tmp_path, store, text)
    assert read.kind == kind
    assert {fact: read.found.facts.get(fact) for fact in facts} == facts
    assert any(each.startswith(note) for each in read.found.notes) or not note, read.found.notes


def read_text(folder: Any, store: str, text: str) -> Any:
    """Return what a reader of a store finds in a text."""
    path = folder / "file"
    path.write_text(text)
    (read,) = read_files([path], (*store_named(store).setup.readers, *READERS))
    return read


@pytest.mark.parametrize(
    ("store", "text", "said"),
    [
        ("minio", TENANT.replace("servers: 4", "servers: {{ .Values.servers }}"), "servers is a mark of a template"),
        ("minio", TENANT.replace("300Gi", "many"), "'many' is no quantity, such as 8Gi"),
        ("ceph", "apiVersion: ceph.rook.io/v1\nkind: CephFilesystem\n", "no resource of it says which OSDs"),
        ("ceph", "service_type: mon\n", "no service of it says which OSDs or gateways"),
        ("ceph", "osd_auto_discovery: true\n", "it lists no devices"),
        ("ceph", "ceph version 9.2.0 (17df) infernalis (stable)", "the release infernalis has no model"),
        ("ceph", CONFIG.replace("8589934592", "lots"), "'lots' is no size"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, store, text, said):
    with pytest.raises(InputError) as error:
        read_text(tmp_path, store, text)
    (message,) = error.value.messages
    assert said in message
