"""Records and arrays that Python and the kernel exchange, declared once.

`header` converts the declarations to `kernel/records.h`, which `make header` writes. Python fills NumPy structures made
from the same declarations. The kernel reads raw memory, so `packed` checks the type and contiguity of each array before
its address leaves Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.network.discipline import DISCIPLINES
from models.network.retry_policy import HEDGE_SAMPLES
from models.network.scenario import ActionKind
from models.network.station import UNBOUNDED, Choice
from models.network.visit_draws import PASSES_BY, POSITIONS
from sim.engine.latency_histogram import BINS, LEAST_EXPONENT, SUB_BINS
from sim.engine.outcome import JITTER_STREAM, Failure

HEADER = Path(__file__).parent / "kernel" / "records.h"

_C_TYPES = {
    "float64": "double",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint64": "uint64_t",
    "uint8": "uint8_t",
}


@dataclass(frozen=True)
class Field:
    """A number in a record."""

    name: str
    dtype: str
    meaning: str = ""


@dataclass(frozen=True)
class Array:
    """An array in a record: in C a pointer to its elements, followed by their number, `<name>_count`.

    Attributes:
        of: the type of an element: the name of a numeric type, or a record.
        writable: the kernel writes to it.
    """

    name: str
    of: str | Record
    meaning: str = ""
    writable: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of an element."""
        return self.of.dtype if isinstance(self.of, Record) else np.dtype(self.of)

    @property
    def c_type(self) -> str:
        """The C type of an element."""
        name = self.of.name if isinstance(self.of, Record) else _C_TYPES[self.of]
        return name if self.writable else f"const {name}"


@dataclass(frozen=True)
class Record:
    """A C structure and the NumPy structure with the same layout."""

    name: str
    meaning: str
    fields: tuple[Field | Array, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type; an array is an address and a count."""
        fields: list[tuple[str, str]] = []
        for field in self.fields:
            if isinstance(field, Array):
                fields += [(field.name, "uint64"), (f"{field.name}_count", "int64")]
            else:
                fields.append((field.name, field.dtype))
        return np.dtype(fields, align=True)

    def declaration(self) -> str:
        """Return the declaration in C."""
        lines = [f"/* {self.meaning} */", "typedef struct {"]
        for field in self.fields:
            comment = f" /* {field.meaning} */" if field.meaning else ""
            if isinstance(field, Array):
                lines += [f"    {field.c_type} *{field.name};{comment}", f"    int64_t {field.name}_count;"]
            else:
                lines.append(f"    {_C_TYPES[field.dtype]} {field.name};{comment}")
        return "\n".join([*lines, f"}} {self.name};", f"_Static_assert(sizeof({self.name}) == {self.dtype.itemsize},"
                         f' "{self.name} is laid out as in Python");'])  # fmt: skip


def _numbers(dtype: str, **meanings: str) -> tuple[Field, ...]:
    return tuple(Field(name, dtype, meaning) for name, meaning in meanings.items())


IDENTITY = Field("identity", "uint64", "the stream of its random words")
STATION = Record("StationLayout", "A station.", (
    *_numbers("int64", discipline="", role="", servers="", queue_limit="", poll_limit="", repeat_limit="",
              shares_server="number of parts of a batch, if with the station before it; 0: not shared"),
    *_numbers("float64", batch_item_s="", flush_s="", poll_s="0: waiting jobs do not poll",
              period_s="0: the scenario opens a gate", phase_s="", queue_s="0: none", queued_each_s="", setup_s="",
              repeat_s="", age_bias="", cold_penalty_s="0: no caches", warm_up_s="", decay_s=""),
    IDENTITY,
))  # fmt: skip
ROUTE = Record("RouteLayout", "The stages of a request type, and its client's policy.", (
    *_numbers("int64", first_stage="", end_stage="", first_position="", visits="", priority="",
              first_with_policy="route with an equal policy, whose state is used",
              starts="number of its visits that start sub-requests",
              attempts="maximum number", retries="", cancels="", tied="",
              squares="pauses before retries"),
    *_numbers("float64", timeout_s="", backoff_s="", backoff_max_s="", jitter="",
              retry_budget="tokens for each request begun", retry_tokens="of a full bucket", hedge_budget="",
              hedge_tokens="",
              second_s="delay of a second attempt; infinity: never, or after a quantile", quantile="0: none"),
))  # fmt: skip
STAGE = Record("StageLayout", "A fork of branches; `need` of them join it.",
               _numbers("int64", need="", delivers="", first_branch="", end_branch=""))  # fmt: skip
POSITION = Record("PositionLayout", "A visit's place in its route.",
                  _numbers("int32", stage="", is_last="of its branch", releases="2: early", ties="", timer="",
                           claims="", flushes="", starts="1 + index of its sub-requests; 0: none"))  # fmt: skip
SUB_REQUESTS = Record("SubRequestsLayout", "What a visit starts when it is over.",
                      _numbers("int64", ordinal="among those of its route", parallel="0: all", need="0: all",
                               cancels="", delivers="", first_kept="in kept_groups", end_kept=""))  # fmt: skip
GROUP = Record("GroupLayout", "Alternatives bound at run time. With `rows`, members are columns of a placement table.",
               (*_numbers("int64", choice="", members="", positions="", first_member="in member_station",
                          rows="0: members are stations", columns="", first_row="in placement_station",
                          join="below 0: none; otherwise members are coordinators, positions columns of a join"),
                IDENTITY))  # fmt: skip
JOIN = Record("JoinLayout", "A table joined from rows of keys and of coordinators; see models/network/joined_table.py.",
              _numbers("int64", keys="", key_parts="", first_key="in placement_station",
                       coordinators="of all epochs", coordinator_parts="", first_coordinator="in member_station",
                       epochs="", first_of_epochs="in join_of_key; epoch after epoch",
                       near="of each key", first_near="in near_coordinator; key after key",
                       joins="", first_part="in joined_part; join after join"))  # fmt: skip
ACTION = Record("ActionLayout", "An entry of the scenario.",
                (*_numbers("int64", kind="", target="", member=""),
                 *_numbers("float64", at_s="", value="")))  # fmt: skip
LOOP = Record("LoopLayout", "The clients of a closed loop.",
              (*_numbers("int64", first_client="", end_client=""),
               *_numbers("float64", stagger_s="", limit_s="no request begins at this time or later")))  # fmt: skip
BACKGROUND = Record("BackgroundLayout", "A background load: rows of the background sheet.",
                    _numbers("int64", first_row="", end_row=""))  # fmt: skip

SHEET = Record("Sheet", "A chunk of requests of a source; see models/network/demand_sheet.py.", (
    *_numbers("int64", first="index of its first request, within the source", is_last="no request follows"),
    Array("route", "int32"), Array("arrival_s", "float64"), Array("think_s", "float64"), Array("phase", "int32"),
    Array("key_hash", "uint64"), Array("first_visit", "int64"),
    Array("station", "int32", "below 0: bound at run time"), Array("demand_s", "float64"),
    Array("first_descendant", "int64", "of each request, and their number; see models/network/descendants.py"),
    Array("first_family", "int64", "of each request, then of each descendant"),
    Array("first_child", "int64", "descendant, of each family, and their number"),
    Array("child_route", "int32", "of each descendant"), Array("child_key_hash", "uint64"),
    Array("child_identity", "uint64"), Array("child_first_visit", "int64"), Array("child_station", "int32"),
    Array("child_demand_s", "float64"),
))  # fmt: skip

PROGRAM = Record("Program", "Everything that is constant during a run.", (
    *_numbers("int64", open_loop="whether the first source is one", clients="of all closed loops",
              classes="of priority", roles="", paths="record critical paths",
              tied="some route has tied attempts", early="some visit releases early",
              position_bits="of a token", attempt_bits="of a token"),
    Field("seed", "uint64"),
    Array("loops", LOOP, "the further sources"),
    Array("stations", STATION), Array("weights", "float64", "stations x classes"),
    Array("routes", ROUTE), Array("stages", STAGE),
    Array("branch_first_position", "int64", "within its route"),
    Array("positions", POSITION),
    Array("sub_requests", SUB_REQUESTS), Array("kept_groups", "int64"),
    Array("groups", GROUP), Array("member_station", "int64", "or column; group after group, member after member"),
    Array("placement_station", "int64", "the tables that groups use, row after row"),
    Array("joins", JOIN), Array("join_of_key", "int64", "that of a coordinator that is not near"),
    Array("near_coordinator", "int64", "number within an epoch"),
    Array("joined_part", "int64", "a station; below 0: -1 - part, those of the key before those of the coordinator"),
    Array("actions", ACTION),
    Array("backgrounds", BACKGROUND),
))  # fmt: skip

RESULTS = Record("Results", "The results for each request, background operation and station.", (
    *_numbers("float64", clock_s="when the last visit or attempt ended"),
    *_numbers("int64", in_flight="", idle_with_queue="stations found with an idle server and a waiting job"),
    *(Array(name, dtype, writable=True) for name, dtype in (
        ("start_s", "float64"), ("first_byte_s", "float64"), ("end_s", "float64"), ("client", "int32"),
        ("failure", "int8"), ("attempts", "int16"), ("winner", "int16"), ("path_s", "float64"),
        ("background_end_s", "float64"), ("visits", "int64"), ("busy_s", "float64"), ("waiting_s", "float64"),
        ("held", "int64"), ("waiting", "int64"),
    )),
))  # fmt: skip

RECORDS = (
    STATION, ROUTE, STAGE, POSITION, SUB_REQUESTS, GROUP, JOIN, ACTION, LOOP, BACKGROUND, SHEET, PROGRAM, RESULTS,
)  # fmt: skip


class KernelStatus(IntEnum):
    """Reasons why the kernel returns."""

    DONE = 0
    NEED_SHEET = 1
    CLOCK_RAN_BACK = 2
    OUT_OF_MEMORY = 3


class InputFault(IntEnum):
    """Faults that the kernel's check of its input may find."""

    NONE = 0
    COUNTS = 1
    STATION = 2
    ROUTE = 3
    STAGE = 4
    POSITION = 5
    GROUP = 6
    ACTION = 7
    BACKGROUND = 8
    SIZES = 9
    SHEET_ROUTE = 10
    SHEET_ARRIVAL = 11
    SHEET_THINK = 12
    SHEET_PHASE = 13
    SHEET_VISITS = 14
    SHEET_STATION = 15
    SHEET_DEMAND = 16
    SHEET_FIRST = 17
    DESCENDANTS = 18


ENUMS: tuple[type[IntEnum], ...] = (ActionKind, Choice, Failure, KernelStatus, InputFault)
PROPERTIES = (
    "infinite", "shares", "batches", "holds_tokens", "is_gate", "counts_commits", "takes_time", "has_one_server",
    "has_classes", "is_weighted", "draws",
)  # fmt: skip
"""Properties of a discipline that the kernel reads."""
_NUMBERS = {
    "HEDGE_SAMPLES": HEDGE_SAMPLES,
    "SUB_BINS": SUB_BINS,
    "BINS": BINS,
    "LEAST_EXPONENT": LEAST_EXPONENT,
    "BOUND_POSITIONS": POSITIONS,
    "UNBOUNDED": UNBOUNDED,
}
_WORDS = {"JITTER_STREAM": JITTER_STREAM}
_REALS = {"PASSES_BY": PASSES_BY}


def _codes(has: str) -> int:
    """Return the disciplines that have a property, as a bit set."""
    return sum(getattr(d, has) << i for i, d in enumerate(DISCIPLINES))


def _constant(enum: type[IntEnum]) -> str:
    """Return the beginning of an enum's constants in C, such as ``ACTION_KIND``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", enum.__name__).upper()


def header() -> str:
    """Return the declarations as a C header."""
    codes = "".join(f"    DISCIPLINE_{d.name} = {d.code},\n" for d in DISCIPLINES)
    enums = [f"enum {{ /* Discipline */\n{codes}    DISCIPLINES,\n}};"]
    enums += [
        f"enum {{ /* {e.__name__} */\n" + "".join(f"    {_constant(e)}_{m.name} = {m.value},\n" for m in e) + "};"
        for e in ENUMS
    ]
    numbers = [f"#define {name} INT64_C({value})" for name, value in _NUMBERS.items()]
    numbers += [f"#define {name} UINT64_C({value:#x})" for name, value in _WORDS.items()]
    numbers += [f"#define {name} ({value})" for name, value in _REALS.items()]
    properties = [
        f"#define {name.upper()}(discipline) (UINT64_C({_codes(name):#x}) >> (discipline) & 1)" for name in PROPERTIES
    ]
    parts = [
        "\n".join(numbers),
        *enums,
        "\n".join(["/* Properties of a discipline. */", *properties]),
        *(record.declaration() for record in RECORDS),
    ]
    first = "/* Generated by sim/engine/compiled/records.py (make header); do not edit. */"
    return "\n\n".join([first, "#ifndef RECORDS_H\n#define RECORDS_H\n\n#include <stdint.h>", *parts, "#endif"]) + "\n"


def packed(record: Record, **values: Any) -> np.ndarray[Any, Any]:
    """Return a record with these values, shape (); it has the addresses of arrays, which must outlive it.

    Raises:
        TypeError: an array does not have the declared type or is not contiguous, or a value is not a number.
    """
    result = np.zeros((), record.dtype)
    for field in record.fields:
        value = values.pop(field.name)
        if isinstance(field, Array):
            _check_array(record, field, value)
            result[field.name] = value.ctypes.data
            result[f"{field.name}_count"] = value.size
        else:
            result[field.name] = value
    assert not values, f"{record.name} has no {', '.join(values)}"
    return result


def _check_array(record: Record, field: Array, value: Any) -> None:
    name = f"{record.name}.{field.name}"
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name}: must be an array of {field.dtype}, not a {type(value).__name__}")
    if value.dtype != field.dtype:
        raise TypeError(f"{name}: must be an array of {field.dtype}, not of {value.dtype}")
    if not value.flags.c_contiguous or not value.flags.aligned:
        raise TypeError(f"{name}: the array must be contiguous and aligned")
    if field.writable and not value.flags.writeable:
        raise TypeError(f"{name}: the array must be writable")


def main(write: Callable[[str], Any] = HEADER.write_text) -> None:
    """Write the header."""
    write(header())


if __name__ == "__main__":
    main()
