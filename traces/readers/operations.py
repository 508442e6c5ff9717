"""Names of operations in logs and tools, and those of an object store that they correspond to."""

from __future__ import annotations

from collections.abc import Mapping

from traces.operations import FILE, OPS

CACHE_OPERATIONS: Mapping[str, str] = {
    "get": "GET",
    "gets": "GET",
    **dict.fromkeys(("set", "add", "replace", "cas", "append", "prepend", "incr", "decr"), "PUT"),
    "delete": "DELETE",
}
"""Operations of memcached (doc/protocol.txt)."""

S3_LOG_OPERATIONS: Mapping[str, str] = {
    **{f"{way}.{op}.OBJECT": op for way in ("REST", "WEBSITE", "SOAP") for op in ("GET", "PUT", "HEAD", "DELETE")},
    "REST.GET.BUCKET": "LIST",
    "REST.GET.BUCKETVERSIONS": "LIST",
    "REST.PUT.PART": "PUT",
    "REST.POST.OBJECT": "PUT",
    "REST.COPY.OBJECT": "PUT",
    "REST.COPY.PART": "PUT",
    "REST.COPY.OBJECT_GET": "GET",
    "REST.COPY.PART_GET": "GET",
    "BATCH.DELETE.OBJECT": "DELETE",
}
"""Operations of Amazon S3's server access log (S3 user guide, LogFormat)."""

RGW_OPERATIONS: Mapping[str, str] = {
    "get_obj": "GET",
    "put_obj": "PUT",
    "post_obj": "PUT",
    "copy_obj": "PUT",
    "delete_obj": "DELETE",
    "list_bucket": "LIST",
}
"""Operations of Ceph RADOS gateway (src/rgw/rgw_op.h); a HEAD is a get_obj by the method HEAD, a part a put_obj."""

BUCKET_LOG_OPERATIONS: Mapping[str, str] = {
    **{f"REST.{way}.{name}": op for name, op in RGW_OPERATIONS.items() for way in ("GET", "PUT", "POST", "DELETE")},
    "REST.HEAD.get_obj": "HEAD",
}
"""Operations of RADOS gateway's bucket logs."""

API_OPERATIONS: Mapping[str, str] = {
    "GetObject": "GET",
    "PutObject": "PUT",
    "UploadPart": "PUT",
    "PutObjectPart": "PUT",
    "PostObject": "PUT",
    "CopyObject": "PUT",
    "HeadObject": "HEAD",
    "DeleteObject": "DELETE",
    "ListObjects": "LIST",
    "ListObjectsV1": "LIST",
    "ListObjectsV2": "LIST",
    "ListObjectVersions": "LIST",
}
"""Operations of the S3 API, and of MinIO's handlers."""

_PLAIN = {
    "GET": ("get", "read", "download", "get_range"),
    "PUT": ("put", "write", "upload", "putpart"),
    "HEAD": ("head", "stat"),
    "DELETE": ("delete", "del", "remove", "unlink"),
    "LIST": ("list", "ls", "readdir"),
}

_IN_FORMATS: Mapping[str, str] = {
    name.lower(): op
    for names in (
        CACHE_OPERATIONS,
        S3_LOG_OPERATIONS,
        RGW_OPERATIONS,
        BUCKET_LOG_OPERATIONS,
        API_OPERATIONS,
        {f"s3{sign}{name}": op for name, op in API_OPERATIONS.items() for sign in ".:"},
        {name: op for op, names in _PLAIN.items() for name in names},
    )
    for name, op in names.items()
}  # fmt: skip


def any_operation() -> dict[str, str]:
    """Return the operation of each name in all formats, in lower case; a name of `OPS` is that operation.

    But for names of file operations that formats have for those of objects, such as "read".
    """
    own = {op.lower(): op for op in OPS}
    return {**own, **_IN_FORMATS, **{name: op for name, op in own.items() if op not in FILE}}
