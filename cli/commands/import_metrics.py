"""`tailcast import-metrics`: a workload, targets of a fit and the utilisation of a store from its metrics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.common import progress, say, warn_if_slow
from cli.options import (
    FiguresOption,
    ForceOption,
    FormatOption,
    JsonOption,
    PageOption,
    ProfileOption,
    SeedOption,
    SetOption,
    SpecArgument,
    duration,
)
from traces.errors import InputError

TOKEN = "TAILCAST_PROMETHEUS_TOKEN"
"""The variable with a bearer token for the server."""


def command(
    spec: SpecArgument,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Responses of Prometheus in JSON (query, query_range), or at least two snapshots of metrics as text.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=f"Read from this Prometheus, such as http://prometheus:9090; {TOKEN} may have a bearer token "
            "(default: read files).",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start of the window, such as 2026-01-31T12:00:00Z (default: see --last)."),
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="End of the window (default: now; of files, the last sample).")
    ] = None,
    last: Annotated[
        float | None,
        typer.Option(
            metavar="TIME", parser=duration, help="Length of the window, such as 30m (default: 1h; of files, all)."
        ),
    ] = None,
    select: Annotated[
        str, typer.Option(metavar="MATCHERS", help="With --url, only series with these labels, such as 'site=\"a\"'.")
    ] = "",
    host: Annotated[
        str, typer.Option(metavar="REGEX", help="Instances of node_exporter that are storage hosts.")
    ] = ".*",
    drive: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Names of their data drives (default: all whole drives in use).")
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="Names of their network interfaces (default: all physical ones)."),
    ] = None,
    parts: Annotated[
        int, typer.Option(min=1, max=100, help="Parts of the window, each with rows of its own in the table.")
    ] = 4,
    workload: Annotated[
        Path | None, typer.Option(metavar="FILE.yaml", help="Write the workload to this file (default: none).")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write targets for 'calibrate --table' to this file (default: none)."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Write the samples, which this command reads (default: none)."),
    ] = None,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    seed: SeedOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Read a store's metrics from Prometheus: a workload, targets of a fit, and utilisation.

    It reads requests, bytes and times of the store, and processors, drives and links of node_exporter, and shows each
    figure next to the forecast for these requests.

    Example: tailcast import-metrics site.yaml --url http://prometheus:9090 --last 1h --workload hour.yaml
    """
    from cli.answers.fitted import write_workload
    from cli.answers.metrics import metrics_answer
    from cli.figures.figure_files import PageFiles
    from cli.made import Made
    from cli.outputs import check_file_output
    from cli.parse.spec import described
    from cli.present import Outputs, present
    from models.site.hardware.host_metrics import DRIVES, LINKS
    from models.store import required, store_of
    from traces.metrics.files import saved
    from traces.metrics.server import Server
    from traces.tables import atomic_file
    from validate.metrics.measured import HostChoice, measured
    from validate.metrics.reading import Window, from_files, from_server
    from validate.metrics.targets import table_text, target_rows
    from validate.metrics.utilisation import compared
    from validate.metrics.workload import workload_fields, workload_notes

    if bool(files) == (url is not None):
        raise InputError("import-metrics: give either files with metrics or --url of a Prometheus")
    for file in files or ():
        if str(file).startswith(("http:/", "https:/")):
            raise InputError(f"import-metrics: {file} is an address, not a file; give it by --url")
    for path in (workload, table, save):
        check_file_output(path, force)
    read = described(spec, None, profile, tuple(assignments or ()))
    meaning = required(store_of(read.spec).metrics, read.spec, "meaning of metrics")
    outputs = Outputs(as_json, pages=PageFiles(report, figures_to, figure_format))
    choice = HostChoice(*(_pattern(f"--{name}", text) for name, text in
                          (("host", host), ("drive", drive or DRIVES), ("link", link or LINKS))))  # fmt: skip
    window = Window(*_window(start, end, last), last)
    if url is None:
        metrics = from_files(files or [], meaning, window)
    else:
        with progress("reading metrics", total=1) as advance:
            metrics = from_server(Server(url, os.environ.get(TOKEN)), meaning, window, select, advance)
    intervals = max(1, min(60, round(metrics.duration_s / 60)))
    whole = measured(metrics, meaning, choice, intervals)
    if save is not None:
        with atomic_file(save) as temporary:
            temporary.write_text(saved(metrics.series))
        say(f"Samples written to {save}")
    if workload is not None:
        fields = workload_fields(whole, read.spec.workload)
        write_workload(workload, fields, "From metrics.", list(workload_notes(whole)))
    if table is not None:
        each = [measured(part, meaning, choice, 1) for part in metrics.parts(parts)]
        rows = target_rows(each, whole, read.spec)
        if not rows:
            raise InputError(f"{table}: is not written, as the metrics have no time of requests and no CPU time")
        with atomic_file(table) as temporary:
            temporary.write_text(table_text(rows))
        say(f"{len(rows)} rows of targets written to {table}")
    warn_if_slow()
    result = compared(read.spec, whole, seed or 0)
    present(metrics_answer(whole, result, read, str(spec), Made.of(read.spec, seed or 0, read)), outputs)


def _pattern(option: str, text: str) -> str:
    import re

    try:
        re.compile(text)
    except re.error as error:
        raise InputError(f"{option}: {text!r} is no regular expression: {error}") from error
    return text


def _window(start: str | None, end: str | None, last: float | None) -> tuple[float | None, float | None]:
    """Return start and end of the window in s since 1970, as far as they are given."""
    from cli.parse.instant import instant_of

    if start is not None and last is not None:
        raise InputError("--start and --last both say when the window begins; give one")
    start_s = None if start is None else instant_of("--start", start)
    end_s = None if end is None else instant_of("--end", end)
    if start_s is not None and end_s is not None and end_s <= start_s:
        raise InputError("--end must be after --start")
    if last is not None and not last > 0:
        raise InputError("--last must be longer than 0")
    return start_s, end_s
