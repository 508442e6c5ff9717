"""The file of a campaign: a store of the lab, its loads and faults, and the spec that predicts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override, validated
from traces.spec.units import Fraction, Seconds
from traces.workload.distributions import Strict
from validate.lab.box.shape import Shape, read_shape
from validate.lab.registry import kind_of
from validate.lab.store import Form

Values = dict[str, object]
"""Values by dotted path."""

Figure = Literal["p25", "p50", "mean", "client_cpu"]


class FormSection(Strict):
    """Hosts and drives of the store; those that are absent are as in its usual form."""

    hosts: int | None = Field(None, ge=1, description="Number of hosts with drives.")
    drives: int | None = Field(None, ge=1, description="Number of drives of each of them.")
    set_size: int | None = Field(None, ge=1, description="Number of drives of an erasure set.")
    gateways: int | None = Field(None, ge=0, description="Number of gateways or proxies.")
    monitors: int | None = Field(None, ge=0, description="Number of hosts with a monitor.")
    balancers: int | None = Field(None, ge=0, description="Number of hosts with a load balancer.")

    def of(self, form: Form) -> Form:
        """Return a form with these counts."""
        return form._replace(**self.model_dump(exclude_none=True))


class Reshard(Strict):
    """A reshard of the bucket's index during the load, in a Ceph."""

    at: Seconds = Field(description="Time of the command from the start of the load.")
    shards: int = Field(ge=1, description="Number of index shards afterwards.")


class Load(Strict):
    """A load, or several that differ in some values."""

    name: str = Field(
        min_length=1, description="Name; with `vary`, each value's place is the last part of its path in braces."
    )
    workload: Values = Field({}, description="Fields of the workload, besides those of the campaign.")
    of: str = Field("", description="Load whose throughput the rate of an open loop is a fraction of.")
    fraction: Annotated[Fraction, Field(gt=0)] | None = Field(None, description="This fraction; requires `of`.")
    vary: dict[str, tuple[Any, ...]] = Field(
        {}, description="Values by path of the load, such as `workload.clients`; all combinations are loads."
    )
    faults: tuple[str, ...] = Field((), description="Faults, written as for `tailcast lab fault`, with their times.")
    reshard: Reshard | None = Field(None, description="A reshard of the bucket's index.")
    client: Values = Field({}, description="Policies of the clients, as in the section `client` of a spec.")
    form: FormSection = Field(FormSection(), description="Hosts and drives, besides those of the campaign.")
    options: dict[str, str] = Field({}, description="Options of the store, besides those of the campaign.")
    set: Values = Field({}, description="Values of the spec that predicts it, by path.")


class FittedValue(Strict):
    """How a value of the spec follows from a measured load."""

    load: str = Field(description="Load whose figure the prediction has to meet.")
    figure: Figure = Field(
        "p50",
        description="Figure of its latencies; `client_cpu` is the CPU time that its client measured for a request, "
        "and is taken as it is.",
    )


class Limits(Strict):
    """Fractions of the machine's CPU time above which a measurement is discarded and repeated."""

    other: Fraction = Field(1.0, gt=0, description="Of processes that are not of the store or its clients.")
    steal: Fraction = Field(1.0, gt=0, description="Of the hypervisor.")


class CampaignFile(Strict):
    """A campaign as it is written."""

    store: str = Field(description="Store of the lab.")
    form: FormSection = Field(FormSection(), description="Hosts and drives.")
    shape: str | Values | None = Field(
        None, description="Drives and links of the box: a file, or its content; absent: plain folders on loopback."
    )
    options: dict[str, str] = Field({}, description="Options of the store.")
    keep: bool = Field(True, description="Whether objects stay until the store is stopped, so that no deletes disturb.")
    limits: Limits = Field(Limits(), description="When a measurement is repeated; default: never.")
    workload: Values = Field({}, description="Fields of the workload of all loads.")
    loads: tuple[Load, ...] = Field(min_length=1, description="Loads in the order in which they are measured.")
    spec: str = Field(description="File of the spec that predicts the loads.")
    set: Values = Field({}, description="Values of this spec, by path.")
    set_for: dict[str, Values] = Field(
        {}, description="Values of this spec for some loads, by a pattern of their names, such as `get-4KiB-*`."
    )
    fit: dict[str, FittedValue] = Field({}, description="Values of this spec that follow from measured loads, by path.")
    any_placement: bool = Field(
        False, description="Whether each simulation has another placement of the objects, as it is not recorded."
    )


@dataclass(frozen=True)
class Campaign:
    """A campaign with the files that it names.

    Attributes:
        path: its file.
        shape: of the box; None: plain folders on loopback.
        spec: the content of the spec's file.
        spec_path: the name of that file.
    """

    path: Path
    file: CampaignFile
    shape: Shape | None
    spec: Mapping[str, Any]
    spec_path: Path

    @property
    def form(self) -> Form:
        """Hosts and drives of the store."""
        return self.file.form.of(next(iter(kind_of(self.file.store).forms.values())))


def read_campaign(path: Path, assignments: Sequence[str] = ()) -> Campaign:
    """Read a campaign; files that it names are found from its folder.

    Args:
        assignments: overrides, ``path.to.value=VALUE``.

    Raises:
        InputError: a file is missing or wrong; the message names it with line or field.
    """
    return campaign_of(override(load_mapping(path), assignments), path)


def campaign_of(data: Mapping[str, Any], path: Path, name: str = "") -> Campaign:
    """Return the campaign of a file's content, or of a part of it.

    Args:
        data: the content.
        path: the file; files that the campaign names are found from its folder.
        name: of the part in messages.

    Raises:
        InputError: a value is wrong, or a file that it names.
    """
    source = f"{path}: {name}" if name else str(path)
    file = validated(CampaignFile, data, source)
    kind_of(file.store)
    shape = file.shape
    read = read_shape(path.parent / shape) if isinstance(shape, str) else None
    if isinstance(shape, dict):
        read = validated(Shape, shape, source, "shape")
    spec_path = path.parent / file.spec
    spec = load_mapping(spec_path)
    if spec.get("store") != file.store:
        raise InputError(f"{source}: spec: {spec_path} is of store {spec.get('store')!r}, not {file.store!r}")
    return Campaign(path, file, read, spec, spec_path)
