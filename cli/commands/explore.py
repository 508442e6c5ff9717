"""`tailcast explore`: a local page on which the main values of a spec are moved."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.common import say, warn_if_slow
from cli.options import PortOption, ProfileOption, SeedOption, SetOption, SloOption, SpecArgument


def command(
    spec: SpecArgument,
    slos: SloOption = None,
    profile: ProfileOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    requests: Annotated[
        int, typer.Option("--requests", min=100, help="Most requests of a run: fewer make the page follow sooner.")
    ] = 10_000,
    port: PortOption = 0,
) -> None:
    """Serve a local page with the main values of a spec as sliders, and what follows from them.

    It listens on 127.0.0.1 only, until Ctrl-C.

    Example: tailcast explore examples/minio.yaml --slo 'GET.p99<20ms'
    """
    from cli.explore.local_server import dash, serve

    dash()
    from cli.explore.explorer import Explorer
    from cli.explore.page import page_of
    from cli.parse.slo import parse_slos
    from cli.parse.spec import spec_mapping

    warn_if_slow()
    options = [] if profile is None else ["--profile", str(profile)]
    options += [word for each in assignments or () for word in ("--set", each)]
    options += [word for each in slos or () for word in ("--slo", each)]
    data = spec_mapping(spec, profile, assignments)
    explorer = Explorer(data, str(spec), options, parse_slos(slos), seed or 0, requests)
    explorer.verdict(())  # what cannot be simulated is refused before there is a page
    page = page_of(explorer)
    serve(page.server, port, lambda url: print(url, flush=True))
    say("ended")
