"""Stores for tests: a stub of known latency, and a real MinIO of the lab."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import settings

from cli.main import COLLECTED_AT
from tests import browser
from tests.profiles import NIGHTLY, PROFILE
from validate.lab import lab
from validate.lab.minio import program
from validate.lab.minio.store import Minio
from validate.lab.registry import STORES
from validate.lab.store import Store

ACCESS_KEY, SECRET_KEY = "TESTACCESSKEYID", "test/secret+value/of/forty/characters0000"


settings.load_profile(PROFILE)

_STORES = {"stub", "lab_state", "live_minio"}
_CLOCKED = ("tests/validate/", "tests/traces/logs/", "tests/test_benchmarks.py", "tests/test_readme.py")
"""Where tests of real time are: `make test` collects only these for them."""
_LONGEST = (
    "tests/validate/campaign/test_live_campaign.py", "tests/validate/test_demo.py",
    "tests/validate/campaign/test_measure.py", "tests/validate/lab/test_live_minio.py",
    "tests/validate/lab/box/test_live_box.py", "tests/validate/replay/test_bucket_record.py",
    "tests/validate/lab/ceph/test_live_ceph.py", "tests/validate/lab/test_lab.py",
    "tests/test_tutorial.py", "tests/test_benchmarks.py", "tests/sim/test_random_specs.py",
    "tests/sim/capacity/test_plan.py", "tests/sim/analysis/test_saturation.py",
    "tests/validate/reference/test_ceph.py", "tests/sim/capacity/test_timeline.py",
    "tests/sim/experiments/test_fault_times.py", "tests/traces/readers/test_fuzz.py",
    "tests/validate/forecast/test_validation.py", "tests/cli/pages/test_report.py",
    "tests/cli/commands/test_simulate.py", "tests/sim/engine/test_engines_examples.py",
)  # fmt: skip
"""Files that take longest, of which the first: a worker that begins one last leaves the other without work."""


def pytest_configure(config: pytest.Config) -> None:
    """Give each parallel worker a core of its own, so that commands start no processes by default.

    Tests of real time (`-m "clock …"`) have all cores. Ctrl-C and SIGHUP are not ignored, although a shell without
    job control, and nohup, start commands so.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)
    cores, worker = sorted(os.sched_getaffinity(0)), os.environ.get("PYTEST_XDIST_WORKER")
    if worker is not None and not config.option.markexpr.startswith("clock"):
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what asks a store, or runs alone: it measures real time. Leave out what only `nightly` runs, and order the
    longest first.

    Raises:
        pytest.UsageError: a test of real time is where `make test` does not look for such.
    """
    for item in items:
        if _STORES & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.clock)
        if item.get_closest_marker("clock") and not item.nodeid.startswith(_CLOCKED):
            raise pytest.UsageError(f"{item.nodeid}: add its file to _CLOCKED in tests/conftest.py and to the Makefile")
    if not NIGHTLY:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("nightly")])
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
    ranks = {path: rank for rank, path in enumerate(_LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(ranks)))


def pytest_collection_finish() -> None:
    """Collect garbage as seldom as a command does, and not what is collected of tests: a tenth of their CPU time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_AT)


def pytest_sessionfinish() -> None:
    """End what tests of this process have shared."""
    browser.end()


@contextmanager
def _few_requests() -> Iterator[None]:
    """Loads and rates at saturation are known from fewer requests, for tests of what commands make of them.

    Most of the time of a short simulation is that of its rate at saturation, and plans assess some 50 stores.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sim.capacity.health._ROWS", 1000)
        patch.setattr("sim.saturation.enough_requests.LEAST", 1000)
        patch.setattr("sim.saturation.key_census._LEAST", 2000)
        patch.setattr("sim.saturation.key_census._MOST", 4000)
        patch.setattr("sim.saturation.stable_rate._REQUESTS", 2000)
        patch.setattr("sim.saturation.stable_rate._MOST_REQUESTS", 10_000)
        yield


@pytest.fixture
def few_requests() -> Iterator[None]:
    """Few requests tell loads and rates at saturation, in a test."""
    with _few_requests():
        yield


@pytest.fixture(scope="module")
def few_requests_of_module() -> Iterator[None]:
    """The same in all tests of a file, and in its fixtures that use it."""
    with _few_requests():
        yield


@dataclass
class StubStore:
    """A running stub server."""

    process: subprocess.Popen[str]
    url: str

    @property
    def requests(self) -> int:
        """How many requests it has had."""
        return int(self.told("requests"))

    def told(self, what: str) -> Any:
        """What it tells of its requests, see `stub_s3.py`."""
        with urllib.request.urlopen(f"{self.url}/_{what}") as response:
            return json.loads(response.read())

    def left(self, within_s: float = 10.0) -> list[str]:
        """The requests that were taken back; waits for the first, as the stub finds out when its answer is due."""
        ends_s = time.monotonic() + within_s
        while not (found := self.told("left")) and time.monotonic() < ends_s:
            time.sleep(0.05)
        return list(found)

    @property
    def s3(self) -> Any:
        """A boto3 client of it."""
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1")

    @property
    def buckets(self) -> list[str]:
        """The names of its buckets."""
        return [bucket["Name"] for bucket in self.s3.list_buckets().get("Buckets", [])]


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials of the stub, and nothing of the user's own AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "absent"))
    monkeypatch.setenv("TAILCAST_STATE", str(tmp_path / "state"))


@pytest.fixture
def stub(aws_environment: None) -> Iterator[Callable[..., StubStore]]:
    """Starts stub servers: ``stub(latency=0.02, stall=2, stall_key="k100", die_key="k50")``."""
    started: list[subprocess.Popen[str]] = []

    def start(**options: object) -> StubStore:
        program = Path(__file__).with_name("stub_s3.py")
        given = [
            f"--{name.replace('_', '-')}={value}" for name, value in ({"access_key": ACCESS_KEY} | options).items()
        ]
        process = subprocess.Popen([sys.executable, program, *given], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return StubStore(process, f"http://127.0.0.1:{process.stdout.readline().strip()}")

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def _own_lab(folder: Path) -> Iterator[Path]:
    """Yield the folder of MinIO in a lab below a folder; whatever runs in it is stopped afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILCAST_STATE", str(folder / "state"))
        try:
            yield folder / "state" / "lab" / "minio"
        finally:
            for name in STORES:
                lab.down(name)


@pytest.fixture
def lab_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A lab of its own for a test, which ends before the stores go that the test has added to `STORES`."""
    with _own_lab(tmp_path) as folder:
        yield folder


def _started_minio(form: str) -> Store:
    if program.find() is None:
        pytest.skip("the MinIO server is not installed; 'tailcast lab install minio' builds it")
    return lab.up("minio", Minio.forms[form])


_MINIO_FORMS = ("one-drive", "erasure-set")


@pytest.fixture(scope="module", params=_MINIO_FORMS)
def live_minio(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A real MinIO with one drive, and with four of one process; all tests of a file have the same one."""
    with _own_lab(tmp_path_factory.mktemp("lab")):
        yield _started_minio(request.param)


@pytest.fixture(params=_MINIO_FORMS)
def mortal_minio(request: pytest.FixtureRequest, lab_state: Path) -> Store:
    """The same for one test, which may kill it."""
    return _started_minio(request.param)
