"""What a spec says of clients and links, if the store and its clients are processes of one machine."""

from __future__ import annotations

from models.site.known import Known, Tree, assumed, given

MEASURED = "measured on a virtual machine with two cores (examples/minio.yaml, examples/minio-erasure-set.yaml)"
COMMIT_S = "0.4ms"
"""Time in which the file system makes a small file durable."""

_CLIENT_CPU = {
    "GET": {"constant": "0.2ms", "per_byte": "0.7ns", "later_byte_factor": 0.6},
    "PUT": {"constant": "0.24ms", "per_byte": "1ns", "later_byte_factor": 0.8},
    "HEAD": "0.2ms",
    "DELETE": "0.2ms",
    "LIST": "0.4ms",
}
_COMMIT = {"constant": COMMIT_S, "distribution": {"kind": "slow_mode", "probability": 0.01, "factor": 10}}


def client() -> Tree:
    """Return the section `client`."""
    return {"placement": given("storage_hosts"), "cpu": assumed(_CLIENT_CPU, MEASURED)}


def latency() -> Known:
    """Return the latency between two processes."""
    return assumed("0.15ms", f"system calls and wake-ups, {MEASURED}", "0.05ms", "0.5ms")


def commit() -> Known:
    """Return the time in which the file system makes a small file durable."""
    return assumed(_COMMIT, MEASURED)
