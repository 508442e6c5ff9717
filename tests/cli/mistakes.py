"""Mistakes that users make, each with a command that makes it and what tailcast must answer.

`python -m tests.cli.mistakes_table` prints them as a table with what is printed now.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from cli.main import main
from tests.paths import ROOT
from tests.runs import disturbed_run
from tests.specs import minio


@dataclass(frozen=True)
class Answer:
    """What a command has left.

    Attributes:
        code: exit code.
        out, err: stdout and stderr.
    """

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that is printed."""
        return self.out + self.err


@dataclass(frozen=True)
class Mistake:
    """A mistake, or what looks like one, as a command in the folder of `prepared`.

    Attributes:
        what: the mistake, as in the list.
        should: what the user should get.
        command: arguments of tailcast.
        code: exit code.
        says: texts that must be printed, whatever their case.
        hides: texts that must not be printed.
        around: a context in which the command runs.
        after: checks the folder afterwards.
        run: runs the command in another way than within this process.
    """

    what: str
    should: str
    command: list[str]
    code: int = 2
    says: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext
    after: Callable[[Path], None] = field(default=lambda folder: None)
    run: Callable[[list[str], Path], Answer] | None = None

    def answer(self, folder: Path) -> Answer:
        """Run the command in a folder."""
        with contextlib.chdir(folder), self.around():
            return (self.run or in_process)(self.command, folder)


_APP = {"rate": "20/s", "object_size": "4KiB"}


def prepared(folder: Path) -> Path:
    """Fill a folder with what the commands need: specs, a trace, Runs, and files that are none of these."""
    small = minio("workload.operations=200", "workload.clients=2")
    files = {
        "minio.yaml": small,
        "open.yaml": minio("workload.operations=200", "workload.rate=200/s"),
        "host.yaml": small | {"host": {"cores": 4}},
        "both.yaml": small | {"workload": small["workload"] | {"rate": 200}},
        "two.yaml": small | {"hots": {"cores": 2}, "workload": small["workload"] | {"cleints": 3}},
        "five-hosts.yaml": _ceph({"count": 5}, {"data": "ec 4+2"}),
        "rados.yaml": _ceph({"count": 2}, {"data": "replica 2"}) | {"access": "rados"},
        "ceph.yaml": _ceph({"count": 8}, {"data": "replica 3"}),
        "groups.yaml": small | {"workload": {"duration": "1s", "groups": {"app": _APP, "backup": _APP}}},
        "loopless.yaml": small | {"workload": {"duration": "1s", "groups": {"app": {"object_size": "1KiB"}}}},
        "bare.yaml": {"store": "minio", "workload": small["workload"], "hosts": {"cores": 2}, "drives": {"count": 1}},
    }
    for name, data in files.items():
        (folder / name).write_text(yaml.safe_dump(data))
    (folder / "list.yaml").write_text("- store: minio\n")
    (folder / "number.yaml").write_text("42\n")
    (folder / "broken.yaml").write_text("store: minio\nworkload: [1, 2\nhost: 3\n")
    (folder / "tabs.yaml").write_text("store: minio\nworkload:\n\tclients: 3\n")
    twice = "store: minio\nworkload:\n  groups:\n    app: {rate: 1}\n    app: {rate: 2}\n"
    (folder / "same-groups.yaml").write_text(twice)
    (folder / "twice.yaml").write_text("store: minio\nstore: ceph\n")
    shutil.copy(ROOT / "README.md", folder / "README.md")
    with contextlib.chdir(folder):
        for arguments in (
            ["trace", "generate", "minio.yaml", "--out", "trace.parquet"],
            ["simulate", "minio.yaml", "--out", "run"],
            ["simulate", "minio.yaml", "--out", "other", "--set", "hosts.cores.count=4", "--seed", "1"],
        ):
            done = in_process(arguments, folder)
            assert done.code == 0, done.text
        disturbed_run().write(Path("busy"))
        disturbed_run("open", 0.12).write(Path("late"))
        slow = in_process(["simulate", "minio.yaml", "--out", "traceless", "--set", "workload.think_time=20ms"], folder)
        assert slow.code == 0, slow.text
        Path("traceless/trace.parquet").unlink()
    return folder


def in_process(arguments: list[str], folder: Path) -> Answer:
    """Run a command within this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as left:
            return Answer(int(left.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("main returned")


_INTERRUPTED_AT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from cli.main import main
main()
"""


def interrupted_at(module: str) -> Callable[[list[str], Path], Answer]:
    """Return a function that runs a command as a process, which is interrupted when it imports a module."""

    def run(arguments: list[str], folder: Path) -> Answer:
        done = subprocess.run(
            [sys.executable, "-c", _INTERRUPTED_AT.format(module=module), *arguments],
            capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, preexec_fn=_heed_interrupts,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it


def _ceph(hosts: dict[str, Any], pools: dict[str, Any]) -> dict[str, Any]:
    workload = {"clients": 2, "operations": 200, "object_size": "4KiB", "keys": {"kind": "uniform", "count": 1000}}
    return {
        "store": "ceph",
        "release": "quincy",
        "workload": workload,
        "hosts": {"drives": 2, "cores": 8} | hosts,
        "gateways": {"cpu": {"GET": "1ms", "PUT": "2ms", "LIST": "4ms"}},
        "device": "nvme",
        "pools": pools,
    }


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set only these variables of AWS, and no files of the user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    files = {"AWS_CONFIG_FILE": "absent", "AWS_SHARED_CREDENTIALS_FILE": "absent", "AWS_EC2_METADATA_DISABLED": "true"}
    with mock.patch.dict(os.environ, kept | files | values, clear=True):
        yield


def _short_key() -> contextlib.AbstractContextManager[None]:
    return _environment(AWS_ACCESS_KEY_ID="t", AWS_SECRET_ACCESS_KEY="o", AWS_REGION="us-east-1")


class _Refusing(BaseHTTPRequestHandler):
    """A store that knows no key."""

    def do_PUT(self) -> None:
        body = b"<Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist.</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


@contextlib.contextmanager
def _refusing_store() -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with _environment(
            AWS_ACCESS_KEY_ID="WRONGKEYID", AWS_SECRET_ACCESS_KEY="wrong", AWS_REGION="us-east-1", AWS_ENDPOINT_URL=url
        ):
            yield
        server.shutdown()


@contextlib.contextmanager
def _full_disk() -> Iterator[None]:
    """Let no file grow beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _no(name: str) -> Callable[[Path], None]:
    def check(folder: Path) -> None:
        assert not [path.name for path in folder.iterdir() if name in path.name]

    return check


def _sim(*options: str, spec: str = "minio.yaml") -> list[str]:
    return ["simulate", spec, *options]


def _whatif(*options: str, vary: str = "hosts.cores.count=2,4") -> list[str]:
    return ["whatif", "minio.yaml", "--vary", vary, "--replications", "2", "--workers", "1", *options]


def _slo(objective: str) -> list[str]:
    return _whatif("--slo", objective)


def _compare(*options: str) -> list[str]:
    return ["compare", "run", "other", *options]


_DRIVE_DOWN = "kind: drive_down, drive: 0"
_FIND_HEDGE = ["find", "minio.yaml", "best client.hedge.after in 1ms..4ms", "--target", "GET.p99", "--workers", "1"]
_FIND_RATE = ["find", "open.yaml", "max workload.rate in 100..200", "--replications", "2", "--workers", "1"]
_REPLAY = ["replay", "trace.parquet", "--endpoint-url", "http://127.0.0.1:1"]
_NO_LAB = partial(mock.patch.dict, os.environ, {"TAILCAST_STATE": "no-lab"})

MISTAKES = [
    Mistake("`tailcast --version`", "the version, exit 0", ["--version"], 0, ("tailcast 0.",)),
    Mistake("`tailcast simualte`", "did you mean simulate?", ["simualte"], says=("did you mean", "simulate")),
    Mistake(
        "spec `minio.yml` where `minio.yaml` is there", "no such file; did you mean …", _sim(spec="minio.yml"),
        says=("minio.yml: no such file", "did you mean minio.yaml?"),
    ),
    Mistake(
        "`--set workload.cleints=3`", "unknown field; did you mean clients?", _sim("--set", "workload.cleints=3"),
        says=("--set workload.cleints: unknown field", "did you mean clients?"), hides=("think_time", "minio.yaml"),
    ),
    Mistake(
        "`--set workload.groups.ap.rate=5/s`", "no such group; did you mean app?",
        _sim("--set", "workload.groups.ap.rate=5/s", spec="groups.yaml"),
        says=("workload.groups.ap.rate", "'ap'", "did you mean app?"),
    ),
    Mistake(
        "a group of clients without a load", "give rate or clients", _sim(spec="loopless.yaml"),
        says=("loopless.yaml: workload: groups.app", "rate", "clients"),
    ),
    Mistake(
        "two groups of the same name", "line and name", _sim(spec="same-groups.yaml"),
        says=("same-groups.yaml: line 5", "'app'", "twice"),
    ),
    Mistake(
        "an objective of a group that the workload does not have", "the workload's groups and operations",
        _sim("--slo", "ap.GET.p99<1s", spec="groups.yaml"), says=("ap.GET", "app.GET", "backup.GET"),
    ),
    Mistake(
        "`client.machines=0`", "at least 1", _sim("--set", "client.machines=0"), says=("client.machines", "1"),
    ),
    Mistake(
        "`client.on_host=true`, the former name", "the present name", _sim("--set", "client.on_host=true"),
        says=("client.on_host", "placement"),
    ),
    Mistake(
        "`host:` in a spec of a store that has hosts", "what this store's spec has instead", _sim(spec="host.yaml"),
        says=("host.yaml: host: unknown field", "hosts", "minio"), hides=("prices",),
    ),
    Mistake(
        "`object_size=1Mb`", "the unit, and what is accepted", _sim("--set", "workload.object_size=1Mb"),
        says=("--set workload.object_size", "1Mb", "MB", "MiB"),
    ),
    Mistake(
        "`rate=300rps`", "the unit, and what is accepted", _sim("--set", "workload.rate=300rps", spec="open.yaml"),
        says=("--set workload.rate", "rps", "/s"),
    ),
    *(
        Mistake(
            f"`bandwidth={text}`", "accepted as 25 Gbit/s, or the line names the accepted spelling",
            _sim("--set", f"hosts.nic={text}", spec="ceph.yaml"), 0, ("GET",),
        )
        for text in ("25Gbps", "25Gb/s", "25GbE")
    ),
    Mistake("`mix: {GET: 60%}`", "accepted as 60", _sim("--set", "workload.mix={GET: 60%, PUT: 40}"), 0, ("PUT",)),
    Mistake(
        "rate and clients both in one file", "error: open or closed loop?", _sim(spec="both.yaml"),
        says=("both.yaml: workload", "rate", "clients", "open", "closed loop"),
    ),
    Mistake(
        "`--set workload.rate=…` on a closed loop", "switches it, and says so", _sim("--set", "workload.rate=200"), 0,
        ("workload.rate", "open loop", "clients"),
    ),
    Mistake(
        "`--set workload.clients=…` on an open loop", "switches it, and says so",
        _sim("--set", "workload.clients=2", spec="open.yaml"), 0, ("workload.clients", "closed loop", "rate"),
    ),
    Mistake("`--slo 'GET.p99<30'`", "needs a unit, e.g. 30ms", _slo("GET.p99<30"), says=("unit", "30ms")),
    Mistake(
        "`--slo 'GET.errors<1'`", "1 is 100 %: every run passes; say 1%", _slo("GET.errors<1"), says=("100 %", "1%")
    ),
    Mistake(
        "`compare --tolerance 15 --check`", "15 is 1500 %; did you mean 15%?", _compare("--tolerance", "15", "--check"),
        says=("--tolerance", "1500 %", "did you mean 15%?"),
    ),
    Mistake(
        "`--precision 5`", "out of range, did you mean 5%?", _sim("--precision", "5"),
        says=("--precision", "500 %", "did you mean 5%?"),
    ),
    Mistake(
        "`--extra-load 5`", "out of range, did you mean 5%?", [*_FIND_HEDGE, "--extra-load", "5"],
        says=("--extra-load", "500 %", "did you mean 5%?"),
    ),
    Mistake("`--tolerance 15%`", "accepted", _compare("--tolerance", "15%"), 0, ("15%",)),
    Mistake(
        "`--keys 10%`", "accepted", ["trace", "sample", "trace.parquet", "--keys", "10%", "--out", "sample.parquet"], 0,
        ("requests of",),
    ),
    Mistake(
        "`--precision 5%`", "accepted", _sim("--precision", "5%"), 0, ("± 5% reached", "GET"),
    ),
    Mistake("`GET.p999`", "p99.9", _slo("GET.p999<30ms"), says=("p999", "did you mean p99.9?")),
    *(
        Mistake(f"`{text}`", "case ignored", _slo(f"{text}<30ms"), 0, ("GET.p99",))
        for text in ("GET.P99", "get.p99")
    ),
    Mistake(
        "SLO on an operation that is not in the workload", "right line", _slo("HEAD.p99<30ms"), says=("HEAD", "GET"),
    ),
    Mistake(
        "`--vary hosts.cores.count=2-8`", "ranges are 2..8",
        _whatif(vary="hosts.cores.count=2-8"), says=("hosts.cores.count", "2..8"),
    ),
    Mistake(
        "`--failure node`", "did you mean host?", ["failures", "minio.yaml", "node"],
        says=("node", "did you mean host?"),
    ),
    Mistake(
        "an address among the files of `import-metrics`", "give it by --url",
        ["import-metrics", "minio.yaml", "http://127.0.0.1:9090/"], says=("is an address, not a file", "--url"),
    ),
    Mistake(
        "`simulate --slo` on an operation that the workload does not have", "the workload's operations, at once",
        _sim("--slo", "READ.p99<1s"), says=("the workload has no READ requests; it has",), hides=("has not settled",),
    ),
    Mistake(
        "a rate at which no request arrives", "a longer duration", _sim("--set", "workload.rate=1e-6/s", "--set",
        "workload.operations=null", "--set", "workload.duration=1s", spec="open.yaml"),
        says=("workload: no request arrives within 1 s",),
    ),
    Mistake(
        "`failures … host host`", "is given twice", ["failures", "open.yaml", "host", "host"],
        says=("failure host: is given twice",),
    ),
    *(
        Mistake(
            f"`{command}` with operations on files", "the operations that the store serves",
            [command, "minio.yaml", "--set", "workload.mix={READ: 1}"],
            says=("workload: has READ; store minio serves GET, PUT",), hides=("give times",),
        )
        for command in ("check", "bounds", "simulate")
    ),
    Mistake(
        "a spec that is a list", "a mapping is needed", ["check", "list.yaml"],
        says=("list.yaml: contains a list; a mapping of fields is needed",),
    ),
    Mistake(
        "a spec that is a number", "a mapping is needed", ["check", "number.yaml"],
        says=("number.yaml: contains a number; a mapping of fields is needed",),
    ),
    Mistake(
        "`find --with-failure node`", "did you mean host?",
        [*_FIND_RATE, "--slo", "GET.p99<10s", "--with-failure", "node"], says=("node", "did you mean host?"),
    ),
    Mistake(
        "`find --with-failure drive:99`", "names the drives that there are",
        [*_FIND_RATE, "--slo", "GET.p99<10s", "--with-failure", "drive:99"],
        says=("faults.0.drive: there is no drive 99", "allowed are 0 to"),
    ),
    Mistake(
        "`find --with-failure slow-drive=0.5`", "must be above 1",
        [*_FIND_RATE, "--slo", "GET.p99<10s", "--with-failure", "slow-drive=0.5"], says=("slow-drive=0.5", "above 1"),
    ),
    Mistake(
        "two failures of one host that overlap", "says which one and from when it is allowed",
        _sim("--set", f"faults=[{{{_DRIVE_DOWN}, at: 1s, back_at: 3s}}, {{{_DRIVE_DOWN}, at: 2s}}]"),
        says=("faults.1.at: is 2 s", "drive 0 is down already (faults.0)", "allowed is from 3 s"),
    ),
    Mistake(
        "import of a file that is missing", "names that file",
        ["trace", "import", "absent.log", "--format", "minio-trace", "--out", "new.parquet"],
        says=("absent.log: no such file",), hides=("new.parquet", "written"),
    ),
    Mistake(
        "`compare RUN trace.parquet`", "is a trace, not a Run folder", ["compare", "run", "trace.parquet"],
        says=("trace.parquet: is a trace", "Run"), hides=("Not a directory",),
    ),
    Mistake(
        "endpoint not reachable", "host and port, and the reason", _REPLAY, says=("127.0.0.1:1", "Could not connect"),
        hides=("***",), around=_short_key,
    ),
    Mistake(
        "credentials missing", "how to give them", _REPLAY, says=("no credentials", "AWS_ACCESS_KEY_ID"),
        around=_environment,
    ),
    Mistake(
        "credentials wrong", "the store's error code", ["replay", "trace.parquet"],
        says=("InvalidAccessKeyId",), hides=("WRONGKEYID",), around=_refusing_store,
    ),
    Mistake(
        "disk full", "nothing half-written", _sim("--out", "full"), says=("full: cannot be written",),
        around=_full_disk, after=_no("full"),
    ),
    Mistake(
        "`--out` names an existing Run", "refuses; `--force`", _sim("--out", "run"), says=("run", "--force"),
    ),
    Mistake("`--out README.md`", "not a Run", _sim("--out", "README.md"), says=("README.md", "not a Run")),
    Mistake("broken YAML", "line and reason", _sim(spec="broken.yaml"), says=("broken.yaml: line 3", "YAML")),
    Mistake("tabs", "line and reason", _sim(spec="tabs.yaml"), says=("tabs.yaml: line 3", "\\t")),
    Mistake("double keys", "line and reason", _sim(spec="twice.yaml"), says=("twice.yaml: line 2", "'store'", "twice")),
    Mistake(
        "two errors in a spec", "both reported", _sim(spec="two.yaml"),
        says=("workload.cleints: unknown field; did you mean clients?",
              "hots: unknown field of a minio spec; did you mean hosts?"),
    ),
    Mistake(
        "EC 4+2 on 5 hosts", "needs 6, or failure_domain", _sim(spec="five-hosts.yaml"),
        says=("pools.data", "6 hosts", "failure_domain"),
    ),
    Mistake(
        "offered rate above capacity", 'verdict "overloaded: N of M op/s served; X saturates at …", exit 0',
        _sim("--set", "workload.rate=100000", spec="open.yaml"), 0, ("overloaded", "saturates"),
    ),
    Mistake(
        "spec without CPU or drive times", "refused, or presets used and named", _sim(spec="bare.yaml"),
        says=("hosts.cpu.GET", "drives.read", "tailcast presets"),
    ),
    Mistake("`osd.cache.hit_ratio=1`", "works", _sim("--set", "osd.cache.hit_ratio=1", spec="ceph.yaml"), 0, ("GET",)),
    Mistake(
        "a field by its former name", "the present name",
        _sim("--set", "stored.warm=1", spec="ceph.yaml"), says=("stored.warm", "osd.cache.hit_ratio"),
    ),
    Mistake("`access: rados` with 2 hosts and no index pool", "works", _sim(spec="rados.yaml"), 0, ("GET",)),
    Mistake(
        "LIST-only workload", "works with the stored objects' size", _sim("--set", "workload.mix={LIST: 1}",
        spec="ceph.yaml"), 0, ("LIST",), hides=("full",),
    ),
    Mistake("`--workers 1` on one run", "works", _sim("--workers", "1"), 0, ("GET",)),
    Mistake(
        "`--find` where every value meets the objective", 'says so, exit 0: "20,000/s still meets it; search higher"',
        [*_FIND_RATE, "--slo", "GET.p99<10s"], 0, ("200/s", "still meets"),
    ),
    *(
        Mistake(
            "Ctrl-C within the first second", '"interrupted", 130',
            _sim(), 130, ("tailcast: interrupted",), hides=("Traceback",), run=interrupted_at(module),
        )
        for module in ("typer.core", "cli.commands.simulate", "numpy.linalg")
    ),
    Mistake(
        "replay on a disturbed machine", "warning in the table, in `compare` and on the page",
        ["compare", "run", "busy"], 0, ("warning: busy: disturbed: other work took 31 %",),
    ),
    Mistake(
        "`replay --processes 2` late", '"late: …" with a figure that explains', ["compare", "run", "late"], 0,
        ("warning: late: late: 100 % of the requests started", "behind schedule", "p99 120 ms"),
    ),
    Mistake(
        "`calibrate` on Runs without a trace", "names the Runs, and how to record a trace",
        ["calibrate", "minio.yaml", "traceless", "--workers", "1"], says=("traceless", "trace", "replay"),
    ),
    Mistake(
        "NIC, drive or host slower than the workload needs", "`check` and `simulate` name it before the run",
        _sim("--set", "hosts.nic=1Mbit/s", "--set", "workload.rate=500", spec="ceph.yaml"), 0, ("hosts.nic",),
    ),
    Mistake(
        "`lab up --nodes 4`", "the new name, and what changed", ["lab", "up", "--nodes", "4"],
        says=("no --nodes", "--hosts", "--drives is the number per host"),
    ),
    Mistake(
        "17 drives, which make no erasure sets", "numbers that do", ["lab", "up", "minio", "--drives", "17"],
        says=("17 drives", "possible are 15, 16, 18"),
    ),
    Mistake(
        "`lab up --hosts 3 --drives 4 --set-size 5`", "the sizes that are possible",
        ["lab", "up", "minio", "--hosts", "3", "--drives", "4", "--set-size", "5"],
        says=("allowed are sets of 3, 6, 12",),
    ),
    Mistake(
        "`lab up --shape` with a spec", "fields of a shape", ["lab", "up", "minio", "--shape", "minio.yaml"],
        says=("minio.yaml", "drives"),
    ),
    Mistake(
        "`lab up --shape` with a file that is missing", "names it", ["lab", "up", "minio", "--shape", "hdd.yaml"],
        says=("hdd.yaml: no such file",),
    ),
    Mistake("`lab up --seed 3` without a shape", "names --shape", ["lab", "up", "--seed", "3"], says=("--shape",)),
    Mistake(
        "`lab fault` without a store", "how to start one", ["lab", "fault", "drive 3 x5"], says=("tailcast lab up",),
        around=_NO_LAB,
    ),
    *(
        Mistake(
            f"`lab fault '{text}'`", should, ["lab", "fault", text], says=(f"fault '{text}'", *says), around=_NO_LAB
        )
        for text, should, says in (
            ("disk 3 x5", "did you mean drive?", ("did you mean drive?",)),
            ("drive 3 x5 for 20", "needs a unit", ("20s",)),
            ("drive 3 frozn", "did you mean frozen?", ("did you mean frozen?", "x5")),
            ("host 1 kill", "did you mean killed?", ("did you mean killed?",)),
            ("link 2 10", "needs a unit", ("10Mbit/s", "10%")),
            ("drive x5", "needs a number", ("number",)),
        )
    ),
    Mistake(
        "`replay --fault` on a store that is not the lab's", "names --lab",
        [*_REPLAY, "--fault", "drive 0 x5"], says=("--fault", "--lab"),
    ),
    Mistake(
        "`replay --fault` with nonsense", "names the fault", [*_REPLAY, "--fault", "rain"],
        says=("fault 'rain'", "drive"),
    ),
]  # fmt: skip
