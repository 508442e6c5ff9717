"""The registry of log formats. The first format that recognises a file is used, so specific ones come first."""

from __future__ import annotations

from traces.readers import (
    elbencho,
    generic_csv,
    ibm_object_store,
    juicefs,
    libcachesim_csv,
    minio_audit,
    minio_trace,
    oracle_general,
    rgw_beast_log,
    rgw_ops_log,
    s3_access_log,
    s3dlio,
    swift_proxy_log,
    twitter_cache_trace,
    warp,
)
from traces.readers.formats import Format

FORMATS: tuple[Format, ...] = (
    generic_csv.FORMAT,
    rgw_ops_log.FORMAT,
    rgw_beast_log.FORMAT,
    swift_proxy_log.FORMAT,
    s3_access_log.FORMAT,
    minio_trace.FORMAT,
    minio_audit.FORMAT,
    s3dlio.FORMAT,
    warp.FORMAT,
    elbencho.FORMAT,
    juicefs.FORMAT,
    ibm_object_store.FORMAT,
    twitter_cache_trace.FORMAT,
    libcachesim_csv.FORMAT,
    oracle_general.FORMAT,
)
