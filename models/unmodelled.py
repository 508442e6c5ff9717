"""Stores without a model: the nearest one that has one, and what its forecast would get wrong.

From the projects' documentation; nothing of it is measured.
"""

from __future__ import annotations

NEAREST: dict[str, tuple[str, str]] = {
    "aistor": ("minio", "its code is closed since 2025, so requests may differ from those of MinIO's last release"),
    "openmaxio": ("minio", "it is MinIO's server of 2025 with the old console, so give a release before 2025-05"),
    "vaults3": ("minio", "metadata are in BoltDB behind Raft on each node, 600 bytes an object, instead of in xl.meta"),
    "ozone": ("ceph", "keys are in a Raft group of one Ozone Manager, and blocks of 256 MB in pipelines of 3 nodes"),
    "cubefs": ("seaweedfs", "replicas are written by chains or Raft, and metadata are in Raft groups in memory"),
    "juicefs-gateway": ("juicefs", "`store: juicefs` has the gateway: give `access: gateway`"),
    "cephfs": ("juicefs", "files are RADOS objects of 4 MiB without S3 below, and metadata are in an MDS"),
    "rook": ("ceph", "it runs Ceph on Kubernetes, whose network and limits of CPU come on top"),
    "rgw": ("ceph", "that is its name: the gateways of Ceph"),
    "zenko": ("openio", "metadata are in MongoDB, and data in any other store behind it"),
    "cloudserver": ("versitygw", "metadata are in LevelDB or MongoDB, instead of attributes of files"),
    "s3proxy": ("versitygw", "it passes requests on to another store, whose times are not those of a file system"),
    "rclone": ("versitygw", "`rclone serve s3` buffers objects, and lists by walking folders"),
    "localstack": ("versitygw", "it holds objects in one Python process, and is made for tests"),
    "moto": ("versitygw", "it holds objects in memory of one Python process, and is made for tests"),
    "leofs": ("bob", "objects are in append-only files with a ring of nodes, and gateways cache them"),
    "ambry": ("bob", "blobs are in append-only partitions with replication without a quorum of reads"),
    "riak-cs": ("garage", "blocks of 1 MB are in a ring with vector clocks, and reads ask all copies"),
    "gluster": ("versitygw", "files are in bricks with replicas that clients write to"),
    "aws-s3": ("minio", "its partitions allow 3,500 writes and 5,500 reads a second for each prefix, then send 503"),
}  # fmt: skip
"""The nearest store with a model and the main difference, by the names that users give, without hyphens and case."""


def nearest(name: str) -> tuple[str, str] | None:
    """Return the nearest store to one without a model, and what would differ; None if the name is not known."""
    return next((near for other, near in NEAREST.items() if _plain(other) == _plain(name)), None)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
