"""CPU time of encryption: of clients' connections (TLS), of objects (SSE), between daemons (msgr v2 secure mode)."""

from __future__ import annotations

from dataclasses import dataclass

from traces.operations import Op


@dataclass(frozen=True)
class CipherTime:
    """CPU time in s of a request: a constant, and more for each byte of its object."""

    constant_s: float = 0.0
    per_byte_s: float = 0.0

    def __add__(self, other: CipherTime) -> CipherTime:
        return CipherTime(self.constant_s + other.constant_s, self.per_byte_s + other.per_byte_s)


_TLS: dict[Op, CipherTime] = {"GET": CipherTime(0.18e-3, 0.57e-9), "PUT": CipherTime(0.20e-3, 2.2e-9)}
"""What TLS adds to a gateway's CPU time: the line through the published differences at 64 KiB and 4 MiB.

48 gateways on Xeon Gold 6438N (ceph.io, "Benchmarking performance with Ceph object storage", part 3, 2025) used 6.11
and 6.37 cores each for 137 and 130 K/s of GETs of 64 KiB without and with TLS, 3.19 and 4.46 for 24.1 and 24.0 K/s of
4 MiB; for PUTs 2.20 and 2.45 for 75 and 67 K/s, 3.62 and 6.19 for 14.5 and 13.9 K/s.
"""
_TLS_WITHOUT_BODY = CipherTime(0.19e-3)
"""The same for requests without a body: the mean of the constants."""

_SSE: dict[Op, CipherTime] = {
    "GET": CipherTime(0.2e-3, 0.15e-9), "PUT": CipherTime(0.2e-3, 1.2e-9), "COPY": CipherTime(0.4e-3, 1.35e-9)
}  # fmt: skip
"""What server-side encryption adds to a gateway's CPU time.

RGW encrypts with AES-256-CBC (src/rgw/rgw_crypt.cc). Each block of 16 bytes needs the one before it for encryption: 14
rounds of 4 cycles; decryption does two rounds a cycle: 3.5 and 0.44 cycles a byte at 3 GHz. The request for the key and
the parsing of its response: assumed. A copy decrypts and encrypts.
"""

SECURE_S_PER_BYTE = 0.3e-9
"""CPU time in s per byte of secure mode at each end of a transfer, by AES-128-GCM.

About a cycle a byte, for AES and GHASH. Published: gateways used 0.56 ns a byte more for PUTs of 4 MiB, none for GETs
(the same source).
"""


def gateway_work(op: Op, *, tls: bool, sse: bool, secure: bool) -> CipherTime:
    """Return what encryption adds to the CPU time of a gateway for a request."""
    work = CipherTime()
    if tls:
        work += _TLS.get(op, _TLS_WITHOUT_BODY)
    if sse:
        work += _SSE.get(op, CipherTime())
    if secure and op in ("GET", "PUT", "COPY"):
        work += CipherTime(per_byte_s=SECURE_S_PER_BYTE * (2 if op == "COPY" else 1))
    return work
