"""Presets of SeaweedFS's services and drives."""

from __future__ import annotations

from models.devices.presets import Preset

_SOURCE = (
    "SeaweedFS 4.48 on loopback with two cores, one copy: CPU of a PUT of 4 KiB (master 0.33, volume server 0.33, "
    "filer 1.07, gateway 1.07 ms) and 1 MiB (volume server 4.5, gateway 7.5 ms), of a GET of 4 KiB (0.27, 0.3, 0.8 ms)."
)
_LATER = "HEAD, DELETE, LIST, and the bytes of a GET: estimates."
_MEASURED = "two cores with all services on loopback"
HOST = Preset(
    "seaweedfs-volume-4.48",
    f"{_SOURCE} {_LATER}",
    {
        "cpu": {
            "GET": {"constant": 0.27e-3, "per_byte": 1e-9},
            "PUT": {"constant": 0.33e-3, "per_byte": 4e-9},
            "DELETE": {"constant": 0.2e-3},
        },
    },
    measured_on=_MEASURED,
)
GATEWAY = Preset(
    "seaweedfs-s3-4.48",
    f"{_SOURCE} {_LATER}",
    {
        "cpu": {
            "GET": {"constant": 0.8e-3, "per_byte": 1e-9},
            "PUT": {"constant": 1.07e-3, "per_byte": 6.1e-9},
            "HEAD": {"constant": 0.6e-3},
            "DELETE": {"constant": 0.8e-3},
            "LIST": {"constant": 4e-3},
        },
    },
    measured_on=_MEASURED,
)
FILER = Preset(
    "seaweedfs-filer-4.48",
    f"{_SOURCE} Of the filer's PUT, 0.2 ms are taken to be that of its store, and 0.2 ms of an assignment. {_LATER}",
    {
        "read": {"constant": 0.3e-3},
        "write": {"constant": 0.87e-3},
        "list": {"constant": 5e-3},
        "assign": {"constant": 0.2e-3},
    },
    measured_on=_MEASURED,
)
