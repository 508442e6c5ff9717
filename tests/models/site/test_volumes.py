"""MinIO's volumes on command lines and in charts, as public issues and repositories have them.

Sources: minio/minio issues 5871, 8096 and 11525, minio/mc pull requests 3397 and 4448 and issue 3425,
minio/minio pull request 18613, minio/madmin-go issue 434, and the values of charts in
public repositories; names are replaced.
"""

from __future__ import annotations

import json

import pytest

from models.site.gathered import read_files
from models.store import store_named
from traces.errors import InputError

HELM = """\
# values for the MinIO chart
mode: distributed
drivesPerNode: 2
replicas: 8
pools: 1
resources: {requests: {memory: 100Mi}}
"""
BITNAMI = """\
mode: distributed
auth: {existingSecret: minio}
statefulset: {podManagementPolicy: Parallel, replicaCount: 3, zones: 1, drivesPerNode: 2}
resources: {requests: {cpu: 2000m}, limits: {cpu: 2000m}}
persistence: {size: 500Gi}
extraEnvVars: [{name: MINIO_STORAGE_CLASS_STANDARD, value: "EC:2"}]
"""
RELEASE = """\
kind: HelmRelease
metadata: {name: minio}
spec:
  values:
    mode: distributed
    replicas: 4
    pools: 2
    drivesPerNode: 4
    persistence: {size: 1Ti}
    image: {tag: RELEASE.2024-12-18T13-15-44Z}
    environment: {MINIO_STORAGE_CLASS_STANDARD: "EC:3"}
"""
APPLICATION = """\
kind: Application
spec:
  source:
    chart: minio
    helm:
      values: |
        minio: {mode: standalone, replicas: 1, persistence: {size: 10Gi}}
"""
COMPOSE = """\
services:
  a: {image: "docker.io/bitnami/minio:2023", environment: ["MINIO_DISTRIBUTED_NODES=a,b,c,d"]}
  b: {image: "docker.io/bitnami/minio:2023", environment: ["MINIO_DISTRIBUTED_NODES=a,b,c,d"]}
"""


def found(folder, text):
    """Return what MinIO's readers find in a text."""
    path = folder / "file"
    path.write_text(text)
    (read,) = read_files([path], store_named("minio").setup.readers)
    return read.found


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("minio server http://a/mnt/sd{d..e}1/x http://b/mnt/sd{d..e}1/x", {"hosts": 2, "drives": 2}),
        ("minio server http://a{01..12}/{x,y,z}", {"hosts": 12, "drives": 3}),
        ("minio server http://node{1...4}/mnt/sd{a...f}", {"hosts": 4, "drives": 6}),
        ("$ minio server --address 127.0.0.1:9000 .minio_data{1...10}", {"hosts": 1, "drives": 10}),
        ("minio server --certs-dir /etc/minio --address :9001 /i/x /j/x /k/x /l/x", {"hosts": 1, "drives": 4}),
        ("minio server --quiet --console-address=:9001 /data{1...6} > /tmp/log 2>&1 &", {"hosts": 1, "drives": 6}),
        ("docker run quay.io/minio/minio:RELEASE.2023-09-04T19-57-37Z server \\\n  /data{1...8}", {"drives": 8}),
        ("./minio server ./data/host{1...13}/disk{1...60} ./data/more{1...7}/disk{1...60}",
         {"hosts": 1, "drives": 780, "pools": [{"hosts": 1, "drives": 420}]}),
        (HELM, {"hosts": 8, "drives": 2}),
        (BITNAMI, {"hosts": 3, "drives": 2, "drive.capacity": "537GB", "cores": 2, "parity": 2}),
        (RELEASE, {"hosts": 4, "drives": 4, "pools": [{"hosts": 4, "drives": 4}], "drive.capacity": "1100GB",
                   "parity": 3, "release": "2024-12-18"}),
        (APPLICATION, {"hosts": 1, "drives": 1, "drive.capacity": "11GB"}),
        (COMPOSE, {"hosts": 4, "drives": 1}),
    ],
)  # fmt: skip
def test_volumes(tmp_path, text, facts):
    facts_found = found(tmp_path, text).facts
    assert {name: facts_found.get(name) for name in facts} == facts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ExecStart=/usr/local/bin/minio server $MINIO_OPTS $MINIO_VOLUMES", "its command names no volumes"),
        ("minio server /data{1..900000}", "stands for more than 100,000 names"),
        ("minio server /data{1..400}/{1..400}", "stands for more than 100,000 names"),
        (HELM.replace("replicas: 8", ""), "it has no replicas"),
        (HELM.replace("8", "{{ .Values.servers }}"), "replicas is a mark of a template"),
    ],
)
def test_what_is_not_enough_is_refused(tmp_path, text, why):
    with pytest.raises(InputError, match=why):
        found(tmp_path, text)


SERVER = """\
●  {}:9000
   Uptime: {}
   Network: 3/4 OK
   Drives: {} OK
{}
"""
OFFLINE = "".join([
    SERVER.format("a", "1 minute", "4/4", "   Pool: 1"), SERVER.format("b", "1 minute", "3/4", "   Pool: 1"),
    SERVER.format("c", "offline", "0/4", ""),
])  # fmt: skip


def test_servers_that_are_offline(tmp_path):
    one = found(tmp_path, OFFLINE)
    assert (one.facts["hosts"], one.facts["drives"]) == (3, 4)
    assert one.notes == ("5 drives are offline; the spec has them, as in a healthy cluster",)
    two = found(tmp_path, OFFLINE + SERVER.format("d", "1 minute", "8/8", "   Pool: 2"))
    assert (two.facts["hosts"], two.facts["pools"]) == (2, [{"hosts": 1, "drives": 8}])
    assert any(note.startswith("1 servers that are offline are left out") for note in two.notes)


@pytest.mark.parametrize("further", [False, True])
def test_drives_that_are_offline_in_json(tmp_path, further):
    drives = {"a": [0, -1], "b": [0, 0], "c": [1, 1] if further else [0, 0], "d": [-1, -1] if further else [0, 0]}
    servers = [
        {
            "state": "online",
            "endpoint": host,
            "version": "",
            "drives": [{"pool_index": pool, "state": "offline" if pool < 0 else "ok"} for pool in pools],
        }
        for host, pools in drives.items()
    ]
    read = found(tmp_path, json.dumps({"info": {"servers": servers}}))
    assert read.facts["hosts"] == (2 if further else 4)
    assert read.facts["drives"] == 2
    assert any(note.startswith(f"{3 if further else 1} drives are offline") for note in read.notes)
    assert any("2 drives that are offline are left out" in note for note in read.notes) == further
