"""Presets of OpenIO's gateways, hosts, directory and drives; none has been measured with OpenIO."""

from __future__ import annotations

from models.devices.drive_times import drive_presets
from models.devices.presets import Preset, Presets
from models.swift.spec import presets as swift

_ASSUMED = "Assumed, not measured with OpenIO"

HOST = Preset(
    "openio-host",
    f"{_ASSUMED}: a rawx service is an HTTP server in Go, which takes the MD5 of what it stores (600 MB/s on a core).",
    {
        "cpu": {
            "GET": {"constant": 0.1e-3, "per_byte": 0.3e-9},
            "PUT": {"constant": 0.15e-3, "per_byte": 1.7e-9},
            "DELETE": {"constant": 0.1e-3},
        },
    },
)
DIRECTORY = Preset(
    "openio-directory",
    f"{_ASSUMED}: transactions of some rows of a cached SQLite base without a sync, in C, and a page of 1,000 rows.",
    {
        "proxy": {"constant": 0.1e-3},
        "read": {"constant": 0.15e-3},
        "write": {"constant": 0.3e-3},
        "replicate": {"constant": 0.15e-3},
        "list": {"constant": 4e-3},
    },
)


def gateways() -> Presets:
    """Return the presets of the section `gateways`: the CPU times of Swift's proxy, the same server in Python."""
    proxy = swift.proxies()["swift-2.30-proxy"]
    text = f"{_ASSUMED}: OpenIO's gateway is a proxy of Swift with another back end. {proxy.source}"
    return {"openio-gateway": Preset("openio-gateway", text, proxy.values, proxy.measured_on)}


def drives() -> Presets:
    """Return the presets of the section `drives`: one for each device."""
    return drive_presets(("queue_depth", "read", "write", "read_latency", "disk"))
