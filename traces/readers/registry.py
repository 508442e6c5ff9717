"""The registry of log formats. The first format that recognises a file is used, so specific ones come first."""

from __future__ import annotations

from traces.readers.applications import strace
from traces.readers.formats import Format
from traces.readers.proxies import caddy, envoy, haproxy, nginx, nginx_json, traefik
from traces.readers.stores import (
    athena,
    gcs_usage_log,
    juicefs,
    juicefs_files,
    minio_audit,
    minio_trace,
    minio_trace_text,
    minio_trace_verbose,
    rgw_beast_log,
    rgw_ops_log,
    s3_access_log,
    swift_proxy_log,
)
from traces.readers.tools import (
    elbencho,
    generic_csv,
    ibm_object_store,
    libcachesim_csv,
    oracle_general,
    s3dlio,
    time_id_size,
    twitter_cache_trace,
    warp,
)

FORMATS: tuple[Format, ...] = (
    generic_csv.FORMAT,
    rgw_ops_log.FORMAT,
    rgw_beast_log.FORMAT,
    swift_proxy_log.FORMAT,
    s3_access_log.FORMAT,
    athena.FORMAT,
    minio_trace.FORMAT,
    minio_trace_text.FORMAT,
    minio_trace_verbose.FORMAT,
    minio_audit.FORMAT,
    s3dlio.FORMAT,
    warp.FORMAT,
    elbencho.FORMAT,
    gcs_usage_log.FORMAT,
    traefik.FORMAT,
    traefik.FORMAT_JSON,
    haproxy.FORMAT,
    envoy.FORMAT,
    envoy.FORMAT_JSON,
    caddy.FORMAT,
    nginx.FORMAT,
    nginx_json.FORMAT,
    juicefs.FORMAT,
    juicefs_files.FORMAT,
    strace.FORMAT,
    ibm_object_store.FORMAT,
    twitter_cache_trace.FORMAT,
    libcachesim_csv.FORMAT,
    time_id_size.FORMAT,
    oracle_general.FORMAT,
)
