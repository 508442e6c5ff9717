"""`tailcast replay`: the requests of a trace on a real store."""

from __future__ import annotations

import json as jsonlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.common import print_grid, print_json, print_lines, say
from cli.ending import perform_in_child
from cli.live.history import Subject
from cli.live.watching import watching
from cli.options import ForceOption, JsonOption, OutOption, PortOption, SeedOption, SetOption, duration, fraction
from cli.outputs import check_run_output
from cli.parse.spec import overridden
from cli.tables.forecast.runs import mean_attempts, summary_grid
from cli.tables.measured.quality import run_warnings
from cli.words import seconds
from models.shared.client_policy import ClientPolicies
from models.store import load_spec
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import validated
from traces.statistics.summary import summarise
from traces.trace import Trace
from validate.compare.server_trace import IN_RUN
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.fault_text import parse_lab_fault
from validate.lab.file_systems import lifecycle
from validate.lab.registry import kind_of
from validate.lab.request_trace import recording
from validate.lab.store import Store
from validate.mount.mount_path import MOUNT
from validate.replay.bucket_record import clean_up
from validate.replay.plan import Options, plan_of
from validate.replay.replay import replay, resume
from validate.replay.resume import remaining
from validate.replay.schedule import kept_sentence
from validate.s3.account import Target

_DEFAULT = Options()


def command(
    trace: Annotated[
        Path | None,
        typer.Argument(metavar="TRACE", help="Trace file: parquet or CSV, by its ending.", show_default=False),
    ] = None,
    endpoint_url: Annotated[
        str | None, typer.Option("--endpoint-url", help="URL of the store (default: that of the AWS configuration).")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--aws-profile", help="Profile of the AWS configuration (default: that of the environment)."),
    ] = None,
    mount: Annotated[
        Path | None,
        typer.Option(
            "--mount",
            metavar="DIR",
            help="Folder of a mounted file system that takes the place of a store: keys are paths of files below a new "
            "folder in it (default: requests of S3).",
        ),
    ] = None,
    use_lab: Annotated[bool, typer.Option("--lab", help="Use the store that 'tailcast lab up' started.")] = False,
    speed: Annotated[
        float, typer.Option("--speed", help="Open loop: speed-up relative to the trace.")
    ] = _DEFAULT.speed,
    max_in_flight: Annotated[
        int,
        typer.Option("--max-in-flight", help="Open loop: greatest number of requests in progress; others start late."),
    ] = _DEFAULT.max_in_flight,
    processes: Annotated[
        int, typer.Option("--processes", help="Number of client processes, which divide the load.")
    ] = _DEFAULT.processes,
    pin: Annotated[
        bool, typer.Option("--pin", help="Pin clients and store to separate cores, if there are enough.")
    ] = False,
    data_path: Annotated[
        str, typer.Option("--data-path", help="Client library: obstore or boto3.")
    ] = _DEFAULT.data_path,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="TIME",
            parser=duration,
            help=f"Timeout of an attempt, with --mount of a request (default: {_DEFAULT.timeout_s:g}s).",
            show_default=False,
        ),
    ] = _DEFAULT.timeout_s,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="SPEC.yaml",
            help="Spec with the clients' retry, hedging and upload policies (default: none).",
        ),
    ] = None,
    assignments: SetOption = None,
    resumed: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="RUN", help="Interrupted replay of the same trace to continue (default: none)."
        ),
    ] = None,
    server_pid: Annotated[
        list[int] | None,
        typer.Option(
            "--server-pid",
            min=1,
            help="Local process of the store, for its CPU time; repeatable (default: none, or that of --lab).",
        ),
    ] = None,
    server_trace: Annotated[
        bool,
        typer.Option("--server-trace", help="Record the server-side times of each request, which costs CPU."),
    ] = False,
    host: Annotated[
        int | None,
        typer.Option(
            "--host", min=0, help="Host of the lab's store that all requests go to (default: all hosts, in turn)."
        ),
    ] = None,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="FAULT",
            help="Fault to stage on the lab's store, as for 'lab fault', with times from the start of the replay, such "
            "as 'drive 3 x5 at 10s for 20s'; repeatable.",
        ),
    ] = None,
    verify: Annotated[
        float,
        typer.Option(
            "--verify",
            metavar="FRACTION",
            parser=fraction,
            help="Fraction of GETs whose bodies are compared with what was written; the lengths of all are checked "
            f"(default: {100 * _DEFAULT.verify:g}%).",
            show_default=False,
        ),
    ] = _DEFAULT.verify,
    keep: Annotated[bool, typer.Option("--keep", help="Do not remove the buckets and objects afterwards.")] = False,
    clean: Annotated[
        bool,
        typer.Option(
            "--clean-up",
            help="Remove the buckets and folders that killed replays left, with all in them; with --endpoint-url, only "
            "those on that store. No trace is replayed.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan without issuing requests.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Serve a local page on which the replay is watched while it runs.")
    ] = False,
    port: PortOption = 0,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> int:
    """Issue the requests of a trace to a real store, and record their outcomes.

    The requests use new buckets, which are removed afterwards; nothing else on the store is touched. With --mount, they
    are calls on files below a new folder: those of file systems, and of S3 as calls on whole files (PUT creates, writes
    and closes a file, GET opens and reads it, HEAD is stat, DELETE is unlink, LIST reads a folder). If all requests
    fail, or the store does not respond at the end, the exit code is 1.
    Retries, hedged requests and multipart uploads: --set client.retry.retries=2 --set client.hedge.after=p95
    --set client.multipart.part_size=16MiB, or --policy SPEC.yaml.

    Example: tailcast replay trace.parquet --endpoint-url http://10.0.0.1:9000 --out measured
    """
    if clean:
        if trace is not None:
            raise InputError("--clean-up replays no trace; leave out TRACE")
        return _clean_up(endpoint_url, profile)
    if trace is None:
        raise InputError("TRACE is missing: name the trace to replay")
    if mount is not None:
        _check_mount(use_lab or server_trace, endpoint_url, profile, data_path)
        data_path = MOUNT
    options = Options(
        speed=speed, max_in_flight=max_in_flight, processes=processes, pin=pin, data_path=data_path, timeout_s=timeout,
        policies=_policies(policy, assignments or []), keep=keep, seed=seed or 0, verify=verify,
    )  # fmt: skip
    if port and not live:
        raise InputError(f"--port {port} is one of the page; add --live")
    staged = [parse_lab_fault(text) for text in faults or []]
    if mount is not None and not dry_run:
        perform_in_child()
    if host is not None and not use_lab:
        raise InputError("--host is one of a store of the lab; add --lab, or name the host by --endpoint-url")
    if staged and not use_lab and (mount is None or lifecycle.around(mount) is None):
        raise InputError("--fault is staged on a store of the lab; add --lab, or --mount with a mount of the lab")
    requested = Trace.read(trace)
    partial = None if resumed is None else Run.read(resumed)
    if dry_run:
        facts = plan_of(requested if partial is None else remaining(requested, options, partial), options).facts()
        print_json({"dry_run": facts}) if json else _print_plan(facts)
        return 0
    if out is not None:
        # A Run that is continued is part of the result that replaces it.
        check_run_output(out, force or (resumed is not None and out.resolve() == resumed.resolve()))
    elif server_trace:
        raise InputError("--server-trace writes to the folder of the Run; add --out")
    store = _lab_store(endpoint_url, profile) if use_lab else None
    target = Target(endpoint_url, profile, server_pids=tuple(server_pid or ()))
    if store is not None:
        target = store.target if host is None else store.target_host(host)
    if mount is not None:
        target, store = _mounted(target, mount)
    schedule = None if store is None else FaultSchedule(store, staged)
    with ExitStack() as stack:
        stack.enter_context(_left_is_said())
        to_issue = requested if partial is None else remaining(requested, options, partial)
        subject = Subject.of(to_issue, options.speed, trace.name, str(mount or target.endpoint_url or "the store"))
        watched = stack.enter_context(watching(subject, options, port if live else None))
        server_times = stack.enter_context(recording(target, server_trace))
        if partial is None:
            run = replay(requested, target, options, watched.progress, schedule, watched.see)
        else:
            run = resume(partial, requested, target, options, watched.progress, schedule, watched.see)
        watched.end(_closing(run))
    if store is not None and store.box is not None and mount is None:
        if partial is None:
            run = with_accesses(store.box, run, kind_of(store.name).file_name)
        else:
            say("warning: the accesses of the drives are left out; the parts of a continued Run differ in their time 0")
    for problem in schedule.problems if schedule is not None else ():
        say(f"warning: {problem}")
    if out is not None:
        run.write(out)
    if server_times is not None and out is not None:
        server_times.write(out / IN_RUN)
    return _report(run, options, out, json)


def _check_mount(of_store: bool, endpoint_url: str | None, profile: str | None, data_path: str) -> None:
    if of_store or endpoint_url is not None or profile is not None or data_path != _DEFAULT.data_path:
        raise InputError(
            "--mount is no store; leave out --lab, --endpoint-url, --aws-profile, --data-path, --server-trace"
        )


def _mounted(target: Target, mount: Path) -> tuple[Target, Store | None]:
    """Return a mount as the target, and the store of the lab that it is on, if any."""
    target = replace(target, mount=mount.resolve())
    fs = lifecycle.around(mount)
    store = None if fs is None else lab.status(fs.store)
    if fs is None or store is None:
        return target, None
    found = fs.target_on(store)
    return replace(found, mount=target.mount, server_pids=target.server_pids or found.server_pids), store


def _report(run: Run, options: Options, out: Path | None, json: bool) -> int:
    """Print the result, and return the exit code."""
    _warn(run, options)
    problems = _problems(run)
    warnings = [*problems, *run_warnings(run)]
    if json:
        ops: dict[str, Any] = dict(summarise(run)["ops"])
        if options.policies != ClientPolicies():
            ops = {op: figures | {"attempts": mean_attempts(run, op)} for op, figures in ops.items()}
        facts = {name: run.info[name] for name in ("schedule", "cpu", "aborted")}
        print_json({"ops": ops, "duration_s": run.duration_s, **facts, "warnings": warnings})
        for text in warnings:
            say(f"warning: {text}")
    else:
        _print_summary(run)
        for text in problems:
            print_lines([f"warning: {text}"])
    if not run.info["aborted"]:
        return 1 if problems else 0
    hint = f"; --resume {out} issues the rest" if out is not None and "unissued" in run.info else ""
    say(f"interrupted: {len(run)} requests had been issued{hint}")
    return 130


_LATER = "'tailcast replay --clean-up' removes what is left"


@contextmanager
def _left_is_said() -> Iterator[None]:
    """Add to an interrupt that names buckets how they are removed."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(*error.args, *([_LATER] if error.args else [])) from None


def _problems(run: Run) -> list[str]:
    """Return why a replay says nothing about its store, as sentences."""
    problems = []
    if len(run) and run.failed.all():
        (reason, _), *others = Counter(run.requests.column("error").to_pylist()).most_common(2)
        problems.append(f"all {len(run):,} requests failed: {reason}{', and others' if others else ''}")
    if reason := run.info.get("no_response_after"):
        problems.append(f"the store did not respond after the last request: {reason}")
    return problems


def _clean_up(endpoint_url: str | None, profile: str | None) -> int:
    """Remove what killed replays left, and return the exit code."""
    removed, left = 0, 0
    for done in clean_up(endpoint_url, profile):
        print_lines(f"{_place(name)} is removed ({count:,} objects)" for name, count in done.removed.items())
        for line in done.left:
            say(f"warning: {line}")
        removed, left = removed + len(done.removed), left + len(done.left)
    if not removed and not left:
        print_lines(["no replay has left a bucket or a folder"])
    return 1 if left else 0


def _place(name: str) -> str:
    return f"folder {name}" if "/" in name else f"bucket {name}"


def _policies(spec: Path | None, assignments: list[str]) -> ClientPolicies:
    """Return the client policies of a spec, or those of `assignments` without a spec."""
    if any(assignment.partition("=")[0] == "client.connections" for assignment in assignments):
        raise InputError("--set client.connections: a replay has a connection for each request in flight, which "
                         "--max-in-flight limits")  # fmt: skip
    if spec is not None:
        client = load_spec(spec, assignments).client
        return ClientPolicies(**{name: getattr(client, name) for name in ClientPolicies.model_fields})
    data = overridden({}, assignments)
    if others := [name for name in data if name != "client"]:
        raise InputError(f"--set {others[0]}: a replay takes client policies only: client.timeout, client.retry.…, "
                         "client.hedge.…, client.multipart.…")  # fmt: skip
    return validated(ClientPolicies, data.get("client", {}), "--set", "client")


def _lab_store(endpoint_url: str | None, profile: str | None) -> Store:
    if endpoint_url is not None or profile is not None:
        raise InputError("--lab has its own endpoint and credentials; leave out --endpoint-url and --aws-profile")
    store = lab.running()
    if store is None:
        raise InputError("no store of the lab is running; start one with 'tailcast lab up'")
    if not store.ready:
        raise InputError(f"the start of {store.name} was broken off; repeat 'tailcast lab up'")
    return store


def _closing(run: Run) -> list[str]:
    """Return how a replay ended, for those who watch it."""
    ended = f"Ended: {len(run):,} requests in {seconds(run.duration_s)}"
    how = ", interrupted" if run.info["aborted"] else ""
    return [f"{ended}{how}.", kept_sentence(run.info["schedule"]), *_problems(run), *run_warnings(run)]


def _print_plan(facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        print_lines([f"{name}: {jsonlib.dumps(value) if isinstance(value, dict) else value}"])


def _warn(run: Run, options: Options) -> None:
    """Print warnings on stderr, where they are seen with --json as well."""
    for line in run.info["left_behind"]:
        say(f"warning: {line}; {_LATER}")
    if refused := (run.info["pinning"] or {}).get("refused"):
        say(f"warning: clients and store were not pinned: {refused}")
    if options.policies.hedge.cancel and not run.info["client_policies"]["hedge"]["cancel"]:
        say("note: losing attempts ran to completion because they could not be cancelled; to simulate this, set "
            "client.hedge.cancel=false")  # fmt: skip


def _print_summary(run: Run) -> None:
    print_grid(summary_grid(run))
    schedule, cpu = run.info["schedule"], run.info["cpu"]
    if not len(run) or schedule["kept"]:
        print_lines([kept_sentence(schedule)])
    if len(run):
        loads = {"other load": cpu["other_share"], "steal": cpu["steal_share"]}
        parts = [f"{name} {100 * fraction:.1f} %" for name, fraction in loads.items() if fraction is not None]
        server = cpu["server_per_op_s"]
        parts += [f"server {1000 * server:.2f} ms/op"] if server is not None else []
        print_lines([", ".join([f"CPU: client {1000 * cpu['client_per_op_s']:.2f} ms/op", *parts])])
    errors = sorted({e for e in run.requests.column("error").to_pylist() if e})
    for text in errors[:3]:
        print_lines([f"error: {text}"])
