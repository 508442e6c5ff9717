"""Quantities and resources in definitions of Kubernetes, and the values of Helm charts in them.

Formats: reference/kubernetes-api, common definitions (Quantity); fluxcd.io (HelmRelease); argo-cd.readthedocs.io
(Application).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from traces.errors import InputError
from traces.spec.spec_file import parsed_yaml

_UNITS = {
    "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip


def quantity(text: Any) -> float:
    """Return a quantity such as ``500m``, ``8Gi`` or ``4`` as a number.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([A-Za-z]{0,2})", str(text).strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no quantity, such as 8Gi")
    return float(match[1]) * _UNITS[match[2]]


def limit(owner: Mapping[str, Any] | None, resource: str) -> float | None:
    """Return the limit of a resource, or what is requested of it, of a part with `resources`; None: there is none."""
    resources = (owner or {}).get("resources") or {}
    for kind in ("limits", "requests"):
        if (found := (resources.get(kind) or {}).get(resource)) is not None:
            return quantity(found)
    return None


def volume_bytes(claim: Mapping[str, Any] | None) -> float | None:
    """Return the size that a template of a volume's claim requests; None: it has none."""
    return limit((claim or {}).get("spec"), "storage")


def chart_values(documents: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield what may be values of a chart: documents, those of releases in them, and the parts for charts below."""
    for document in documents:
        for values in (document, *_of_release(document.get("spec"))):
            yield values
            yield from (part for part in values.values() if isinstance(part, Mapping))


def _of_release(spec: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the values of Flux's HelmRelease and of Argo CD's Application."""
    if not isinstance(spec, Mapping):
        return
    found = [spec.get("values")]
    for source in (spec.get("source"), *(spec.get("sources") or ())):
        helm = source.get("helm") if isinstance(source, Mapping) else None
        if isinstance(helm, Mapping):
            found += [helm.get("valuesObject"), _parsed(helm.get("values"))]
    yield from (each for each in found if isinstance(each, Mapping))


def _parsed(text: Any) -> Any:
    try:
        return parsed_yaml(text, "values") if isinstance(text, str) else None
    except InputError:
        return None
