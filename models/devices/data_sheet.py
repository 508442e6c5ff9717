"""Times of a drive or volume from the figures of its data sheet: IOPS, bandwidths, and latencies of one access.

An access has an exclusive part, during which others wait, of 1 / IOPS for a small one and 1 / bandwidth for each byte;
the rest of the latency at queue depth 1 overlaps with other accesses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from models.network.service_demand import ServiceDemand
from traces.errors import InputError
from traces.spec.field_notes import Basis, Unit
from traces.spec.spec_file import parsed_yaml
from traces.spec.text_file import text_of
from traces.spec.units import BytesPerSecond, Seconds
from traces.workload.distributions import Lognormal, Shape, Strict

BLOCK_BYTES = 4096
"""Size of the accesses whose latency and IOPS data sheets give."""

_NORMAL = {0.999: 3.090232306167813, 0.99999: 4.264890793923841}
"""Quantiles of the standard normal distribution (`scipy.special.ndtri`, whose import takes 0.1 s), by probability."""

_MOST_BYTES = 64 << 20
_NO_DEFAULT = "no default: the figure of the data sheet"
Iops = Annotated[float, Unit("1/s", "90000"), Basis(_NO_DEFAULT, 50, 3e6)]
Bandwidth = Annotated[BytesPerSecond, Basis(_NO_DEFAULT, 2e7, 3e10)]
Latency = Annotated[Seconds, Basis("assumed: 1 / IOPS, as of a drive that serves one access at a time", 5e-6, 0.02)]


class DataSheet(Strict):
    """What a data sheet says of a drive, or the limits of a volume; accesses are of 4 KiB, at random addresses.

    Text names a file with these figures, such as one of `tailcast probe`, from the working folder.
    """

    read_iops: Iops = Field(gt=0, description="Reads per second with many at the same time.")
    write_iops: Iops = Field(gt=0, description="Writes per second with many at the same time, sustained.")
    read_bandwidth: Bandwidth = Field(gt=0, description="Bytes per second of large reads.")
    write_bandwidth: Bandwidth = Field(gt=0, description="Bytes per second of large writes, sustained.")
    read_latency: Latency | None = Field(None, gt=0, description="Time of one read alone; absent: 1 / read_iops.")
    write_latency: Latency | None = Field(None, gt=0, description="Time of one write alone; absent: 1 / write_iops.")
    flush: Annotated[Seconds, Basis("assumed: the drive has power-loss protection", 0, 0.05)] = Field(
        0.0, description="Additional time until a write is durable; milliseconds without power-loss protection."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_file(cls, data: Any) -> Any:
        return _figures_in(data) if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the schema, which allows the name of a file."""
        return {"anyOf": [handler(schema), {"type": "string"}]}

    @model_validator(mode="after")
    def _is_consistent(self) -> DataSheet:
        for kind in ("read", "write"):
            latency_s, iops = getattr(self, f"{kind}_latency"), getattr(self, f"{kind}_iops")
            if latency_s is not None and latency_s < 1 / iops:
                raise ValueError(
                    f"{kind}_latency is {latency_s:g} s; at least 1 / {kind}_iops, {1 / iops:g} s, is allowed"
                )
        return self

    @property
    def times(self) -> dict[str, ServiceDemand]:
        """The demands of a device: `read`, `write`, and the rest of their latencies."""
        found = {}
        for kind, shape in (("read", read_shape()), ("write", write_shape())):
            iops, latency_s = getattr(self, f"{kind}_iops"), getattr(self, f"{kind}_latency")
            found[kind] = exclusive(iops, getattr(self, f"{kind}_bandwidth"))
            found[f"{kind}_latency"] = rest(latency_s or 1 / iops, iops, shape)
        return found


def exclusive(iops: float, bandwidth: float) -> ServiceDemand:
    """Return the exclusive time of an access; `bandwidth` in bytes per second."""
    per_byte_s = 1 / bandwidth
    return ServiceDemand(constant=max(1 / iops - BLOCK_BYTES * per_byte_s, 0.0), per_byte=per_byte_s)


def rest(latency_s: float, iops: float, shape: Shape) -> ServiceDemand:
    """Return the overlapping rest of the latency at queue depth 1."""
    return ServiceDemand(constant=latency_s - 1 / iops, distribution=shape)


def lognormal(latency_s: float, iops: float, probability: float, quantile_s: float) -> Lognormal:
    """Return the shape (assumed lognormal) of the rest of a latency of which mean and one quantile are published."""
    ratio = (quantile_s - 1 / iops) / (latency_s - 1 / iops)
    z = _NORMAL[probability]
    sigma = z - math.sqrt(z**2 - 2 * math.log(ratio))  # quantile / mean = exp(z sigma - sigma² / 2)
    return Lognormal(cv=math.sqrt(math.expm1(sigma**2)))


@cache
def read_shape() -> Lognormal:
    """Return the shape of reads of the Intel SSD DC S4500; assumed for flash with no published quantile."""
    return lognormal(110e-6, 72_000, 0.999, 300e-6)


@cache
def write_shape() -> Lognormal:
    """Return the shape of writes of the Intel SSD DC S4500; assumed for flash with no published quantile."""
    return lognormal(52e-6, 33_000, 0.999, 800e-6)


def _figures_in(name: str) -> Any:
    """Return the figures in a file: YAML or JSON with the section `data_sheet`, or one of `tailcast probe`.

    Raises:
        ValueError: the file is missing, broken, or has no such section.
    """
    try:
        text = text_of(Path(name), _MOST_BYTES)
        found = json.loads(text) if text.lstrip().startswith("{") else parsed_yaml(text, name)
    except InputError as error:
        raise ValueError(str(error)) from error
    except ValueError as error:
        raise ValueError(f"{name}: is no JSON: {error}") from error
    within = found if isinstance(found, Mapping) else {}
    section = within.get("data_sheet") or (within.get("probe") or {}).get("data_sheet")
    if not isinstance(section, Mapping):
        raise ValueError(f"{name}: has no section data_sheet; name a file that tailcast probe has written, or has one")
    return section
