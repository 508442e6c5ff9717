"""tailcast forecasts the tail latency, throughput and capacity of object stores, and proves the forecast on a real one.

Installed, this is the project's one package; its parts are `tailcast.cli`, `tailcast.models`, `tailcast.sim`,
`tailcast.traces` and `tailcast.validate`. In a checkout these are folders next to this one.

The functions below do what the commands of the same names do, and return a `Result`:

>>> import tailcast
>>> spec = tailcast.load_spec(tailcast.EXAMPLES / "minio.yaml", set={"workload.operations": 2000})
>>> forecast = tailcast.simulate(spec, slos=["GET.p99<50ms"])
>>> forecast.value.objectives[0].status
'met'
>>> forecast.to_polars().select("op", "count")["op"].to_list()
['GET', 'PUT']
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailcast.api import (
        InputError,
        Result,
        Spec,
        calibrate,
        compare,
        failures,
        find,
        import_trace,
        load_spec,
        plan,
        read_run,
        simulate,
        whatif,
    )

__all__ = [
    "EXAMPLES",
    "InputError",
    "Result",
    "Spec",
    "calibrate",
    "compare",
    "failures",
    "find",
    "import_trace",
    "load_spec",
    "plan",
    "read_run",
    "simulate",
    "whatif",
]


def _examples() -> Path:
    """Return the folder of the examples: in this package, or next to it in a checkout."""
    here = Path(__file__).parent
    return next(folder for folder in (here / "examples", here.parent / "examples") if folder.is_dir())


def __getattr__(name: str) -> Any:
    """Return a name of the API, which is imported when it is first used: the commands do not need it."""
    if name == "EXAMPLES":
        return _examples()
    if name in __all__:
        return getattr(import_module(f"{__name__}.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
