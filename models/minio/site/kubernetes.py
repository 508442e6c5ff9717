"""Reads MinIO on Kubernetes: tenants of its operator, and values of the Helm charts of MinIO and of Bitnami.

Formats: minio/operator, docs/tenant_crd.adoc; minio/minio, helm/minio/values.yaml; bitnami/charts,
bitnami/minio/values.yaml. In both charts a pool has as many servers as there are replicas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from models.minio.site.volumes import with_further
from models.site.kubernetes import chart_values, limit, quantity, volume_bytes
from models.site.reader import Facts, Found, Reader, SiteFile
from models.site.uneven import even_hosts, mean_capacity

_SERVERS = "its servers are taken as hosts of their own"
_STANDARD = "MINIO_STORAGE_CLASS_STANDARD"


def _tenants(file: SiteFile) -> list[Mapping[str, Any]]:
    """Return the specs of MinIO's tenants on Kubernetes, also of those in values of its Helm chart."""
    specs = [
        each.get("spec") or {}
        for each in file.documents
        if str(each.get("apiVersion", "")).startswith("minio.min.io") and each.get("kind") == "Tenant"
    ]
    specs += [each["tenant"] for each in file.documents if isinstance(each.get("tenant"), Mapping)]
    return [each for each in specs if isinstance(each.get("pools") or each.get("zones"), list)]


def read_tenant(file: SiteFile) -> Found:
    """Return what a tenant says: pools with servers and volumes, their size and cores, parity and release.

    Raises:
        ValueError: a template stands for a number.
    """
    tenant = _tenants(file)[0]
    pools, sizes, cores = [], [], []
    for pool in tenant.get("pools") or tenant["zones"]:
        servers, volumes = (_whole(name, pool[name]) for name in ("servers", "volumesPerServer"))
        pools.append(even_hosts([volumes] * servers))
        size = volume_bytes(pool.get("volumeClaimTemplate")) if "size" not in pool else quantity(pool["size"])
        sizes += [size] if size is not None else []
        cores += [found] if (found := limit(pool, "cpu")) is not None else []
    facts, notes = with_further(pools)
    of_capacity, about = mean_capacity(sizes)
    facts |= of_capacity
    notes += about
    if cores:
        facts["cores"] = max(1, round(cores[0]))
    facts |= _parity(tenant.get("env")) | _release(tenant)
    return Found(facts, (*notes, _SERVERS))


def _whole(name: str, value: Any) -> int:
    """Return a whole number above 0.

    Raises:
        ValueError: it is another one, or a template stands for it.
    """
    if not str(value).isdigit() or int(value) < 1:
        raise ValueError(f"{name} is {str(value).replace('TEMPLATE', 'a mark of a template')}")
    return int(value)


def _parity(variables: Any) -> Facts:
    """Return the parity of environment variables: a list with names and values, or a mapping."""
    pairs = (
        variables if isinstance(variables, Mapping) else {each["name"]: each.get("value") for each in variables or ()}
    )
    match = re.fullmatch(r"EC:(\d+)", str(pairs.get(_STANDARD, "")))
    return {"parity": int(match[1])} if match else {}


def _release(part: Mapping[str, Any]) -> Facts:
    image = part.get("image")
    return release_of(str(image.get("tag", "")) if isinstance(image, Mapping) else str(image))


def release_of(image: str) -> Facts:
    """Return the release of an image; nothing if its tag has none."""
    match = re.search(r"RELEASE\.(\d{4}-\d\d-\d\d)T", image)
    return {"release": match[1]} if match else {}


def _charts(file: SiteFile) -> Iterator[Mapping[str, Any]]:
    """Yield the values of charts of MinIO."""
    if "minio" not in file.text.lower():
        return
    for values in chart_values(file.documents):
        if values.get("mode") in ("distributed", "standalone") and _sizes(values).keys() & _OF_CHART:
            yield values


_OF_CHART = {"replicas", "replicaCount", "drivesPerNode"}


def _sizes(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part with the numbers of servers and drives, which Bitnami's chart has below `statefulset`."""
    own = values.get("statefulset")
    return own if isinstance(own, Mapping) and own.keys() & _OF_CHART else values


def read_chart(file: SiteFile) -> Found:
    """Return what values of a chart say: pools with servers and drives, the size of a drive, cores and release.

    Raises:
        ValueError: a number is missing, or a template.
    """
    values = next(_charts(file))
    sizes = _sizes(values)
    is_one = values["mode"] == "standalone"
    servers = 1 if is_one else sizes.get("replicas", sizes.get("replicaCount"))
    drives = 1 if is_one else sizes.get("drivesPerNode", 1)
    pools = 1 if is_one else sizes.get("pools", sizes.get("zones", 1))
    if servers is None:
        raise ValueError("it has no replicas, whose number is then that of the chart's release")
    pool = even_hosts([_whole("drivesPerNode", drives)] * _whole("replicas", servers))
    facts, notes = with_further([pool] * _whole("pools", pools))
    persistence = values.get("persistence") or {}
    if "size" in persistence:
        of_capacity, _ = mean_capacity([quantity(persistence["size"])])
        facts |= of_capacity
    if (cores := limit(values, "cpu")) is not None:
        facts["cores"] = max(1, round(cores))
    facts |= _parity(values.get("environment") or values.get("extraEnvVars")) | _release(values)
    return Found(facts, (*notes, _SERVERS))


READERS = (
    Reader("definition of a MinIO tenant", lambda file: bool(_tenants(file)), read_tenant),
    Reader("values of a MinIO chart", lambda file: any(_charts(file)), read_chart),
)
"""The readers of definitions."""
