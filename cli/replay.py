"""`tailcast replay`: a trace on a real store."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.common import JsonOption, OutOption, print_json, progress, say, stdout
from traces.errors import InputError
from traces.run import Run
from traces.statistics import summarise
from traces.tables import check_folder
from traces.trace import Trace
from validate import lab
from validate.replay import Progress, replay
from validate.replay_plan import Options, plan_of
from validate.s3 import Target

_DEFAULT = Options()


def command(
    trace: Annotated[Path, typer.Argument(help="The trace: parquet, or CSV by the name's end.")],
    endpoint_url: Annotated[
        str | None, typer.Option("--endpoint-url", help="The store's URL; else as the AWS configuration says.")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Profile of the AWS configuration.")] = None,
    use_lab: Annotated[bool, typer.Option("--lab", help="The store that 'tailcast lab up' started.")] = False,
    speed: Annotated[float, typer.Option(help="Open loop: how much faster than the trace.")] = _DEFAULT.speed,
    max_in_flight: Annotated[
        int, typer.Option(help="Open loop: requests under way at most; later ones are late.")
    ] = _DEFAULT.max_in_flight,
    data_path: Annotated[str, typer.Option(help="The client: obstore or boto3.")] = _DEFAULT.data_path,
    timeout: Annotated[
        float, typer.Option(help="Seconds a request may take; nothing is retried.")
    ] = _DEFAULT.timeout_s,
    server_pid: Annotated[
        int | None, typer.Option(min=1, help="The store's process here, for its CPU time; --lab knows it.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the buckets and objects there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen; touch nothing.")] = False,
    out: OutOption = None,
    json: JsonOption = False,
) -> int:
    """Issue a trace's requests on a real store and record what happens.

    Requests go into buckets that are made for it and removed afterwards; nothing else on the store is touched.
    """
    options = Options(speed, max_in_flight, data_path, timeout, keep)
    asked = Trace.read(trace)
    if dry_run:
        facts = plan_of(asked, options).facts()
        print_json({"dry_run": facts}) if json else _print_plan(facts)
        return 0
    if out is not None:
        check_folder(out)
    target = _target(endpoint_url, profile, use_lab, server_pid)
    with bars() as report:
        run = replay(asked, target, options, report)
    for line in run.info["left_behind"]:
        say(f"warning: {line}")
    if out is not None:
        run.write(out)
    summary = summarise(run) | {name: run.info[name] for name in ("schedule", "cpu", "aborted")}
    print_json(summary) if json else _print_summary(run, summary)
    if run.info["aborted"]:
        say(f"interrupted: {len(run)} requests had been issued")
        return 130
    return 0


def _target(endpoint_url: str | None, profile: str | None, use_lab: bool, server_pid: int | None) -> Target:
    if not use_lab:
        return Target(endpoint_url, profile, server_pid=server_pid)
    if endpoint_url is not None or profile is not None:
        raise InputError("--lab has its own endpoint and credentials; give either it or --endpoint-url and --profile")
    store = lab.status()
    if store is None:
        raise InputError("the lab's store is not up; start it by 'tailcast lab up minio'")
    return store.target


@contextmanager
def bars() -> Iterator[Progress]:
    """A progress bar for each stage, one after the other."""
    names = {"prepare": "writing the objects that are read", "replay": "replaying"}
    with ExitStack() as stack:
        shown: dict[str, Any] = {}

        def report(stage: str, done: float, total: float) -> None:
            if stage not in shown:
                stack.close()
                shown[stage] = stack.enter_context(progress(names[stage], total))
            shown[stage](done)

        yield report


def _print_plan(facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        stdout.print(f"{name}: {jsonlib.dumps(value) if isinstance(value, dict) else value}", markup=False)


def _print_summary(run: Run, summary: dict[str, Any]) -> None:
    table = Table("op", *("count", "errors", "ops/s", "p50 ms", "p90 ms", "p99 ms", "max ms"))
    for column in table.columns[1:]:
        column.justify = "right"
    for op, s in summary["ops"].items():
        latency_ms = [f"{1000 * s['latency_s'][q]:.2f}" for q in ("p50", "p90", "p99", "max")]
        table.add_row(op, str(s["count"]), str(s["errors"]), f"{s['throughput_ops']:.1f}", *latency_ms)
    stdout.print(table)
    schedule, cpu = summary["schedule"], summary["cpu"]
    if len(run):
        late = f"{1000 * schedule['lag_p99_s']:.2f} ms late at p99, {1000 * schedule['lag_max_s']:.1f} ms at most"
        stdout.print(
            f"starts: {late}; {100 * schedule['late_share']:.2f} % more than {1000 * schedule['late_s']:.0f} ms"
        )
        shares = {"other load": cpu["other_share"], "steal": cpu["steal_share"]}
        told = [f"{name} {100 * share:.1f} %" for name, share in shares.items() if share is not None]
        server = cpu["server_per_op_s"]
        told += [f"server {1000 * server:.2f} ms/op"] if server is not None else []
        stdout.print(f"CPU: client {1000 * cpu['client_per_op_s']:.2f} ms/op", *told, sep=", ")
    errors = sorted({e for e in run.requests.column("error").to_pylist() if e})
    for text in errors[:3]:
        stdout.print(f"error: {text}", markup=False)
