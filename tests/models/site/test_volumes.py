"""MinIO's volumes on command lines and in charts, as public issues and repositories have them.

Sources: minio/minio issues 5871, 8096 and 11525, minio/mc pull request 4448 and issue 3425, and the values of charts in
public repositories; names are replaced.
"""

from __future__ import annotations

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


def facts_of(folder, text):
    """Return the facts that MinIO's readers find in a text."""
    path = folder / "file"
    path.write_text(text)
    (read,) = read_files([path], store_named("minio").setup.readers)
    return read.found.facts


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
    found = facts_of(tmp_path, text)
    assert {name: found.get(name) for name in facts} == facts


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
        facts_of(tmp_path, text)
