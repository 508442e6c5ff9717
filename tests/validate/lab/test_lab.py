from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cli.main import main
from traces.errors import InputError
from validate.compare.machine import process_cpu_s
from validate.lab import lab
from validate.lab.minio import program
from validate.lab.minio.store import Minio
from validate.lab.store import Form, Store
from validate.s3.account import Account

FORMS = Minio.forms

HEALTHY = """
import http.server, pathlib, sys, urllib.parse
drives = [urllib.parse.urlsplit(a).path for a in sys.argv if a.startswith("http:")]
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def do_PUT(self):
        for drive in drives:
            pathlib.Path(drive + self.path).mkdir(parents=True, exist_ok=True)
        self.do_GET()
    do_DELETE = do_GET
    def log_message(self, *args): pass
if "--version" in sys.argv:
    print("minio version of a test")
else:
    host, port = sys.argv[sys.argv.index("--address") + 1].split(":")
    http.server.HTTPServer((host, int(port)), Answer).serve_forever()
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HEALTHY
BROKEN = "import sys; print('one'); print('FATAL drive on fire'); sys.exit(1)"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lab_state: Path) -> object:
    """Makes a program that stands for the server."""

    def make(text: str) -> Path:
        program = tmp_path / "server"
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
        monkeypatch.setenv("TAILCAST_MINIO", str(program))
        return program

    return make


def test_up_twice_then_down(server, lab_state: Path) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    assert lab.status("minio") is None
    store = lab.up("minio")
    assert store == lab.up("minio") == lab.status("minio")
    assert store.version == "minio version of a test"
    with pytest.raises(InputError, match="up with 1 drive, not minio with 4 drives"):
        lab.up("minio", FORMS["erasure-set"])
    with pytest.raises(InputError, match="up with 1 drive, not minio with 1 drive on each of 4 hosts"):
        lab.up("minio", FORMS["four-processes"])
    assert store.alive
    assert store.credentials_file.stat().st_mode & 0o777 == 0o600
    assert lab_state.stat().st_mode & 0o777 == 0o700
    assert lab.down("minio")
    assert not store.alive and lab.status("minio") is None and not lab_state.exists()
    assert not lab.down("minio")


def test_credentials_are_only_in_their_file(server, lab_state: Path, capfd: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    for arguments in (["lab", "up"], ["lab", "up", "--json"], ["lab", "status"], ["lab", "status", "--json"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code
    secret = (lab_state / "credentials").read_text().split("aws_secret_access_key = ")[1].strip()
    assert len(secret) >= 40
    said = capfd.readouterr()
    assert "http://127.0.0.1" in said.out + said.err
    assert secret not in said.out + said.err + (lab_state / "state.json").read_text()


def test_json_of_all_commands(server, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)

    def response(*arguments: str) -> dict[str, object]:
        with pytest.raises(SystemExit) as ended:
            main(["lab", *arguments, "--json"])
        assert not ended.value.code
        printed: dict[str, object] = json.loads(capsys.readouterr().out)
        return printed

    assert response("status") == {"name": "minio", "up": False}
    up = response("up", "minio", "--hosts", "4")
    assert up == response("status", "minio")
    assert (
        up["up"] is True
        and (up["hosts"], up["drives_per_host"], up["shape"]) == (4, 1, None)
        and isinstance(up["pid"], int)
    )
    nodes = up["nodes"]
    assert isinstance(nodes, list) and len(nodes) == 4 and all(node["up"] for node in nodes)
    assert len({node["pid"] for node in nodes}) == len({node["endpoint_url"] for node in nodes}) == 4
    assert (nodes[0]["pid"], nodes[0]["endpoint_url"]) == (up["pid"], up["endpoint_url"])
    assert response("install")["version"] == "minio version of a test"
    assert response("down") == {"name": "minio", "up": False, "stopped": True}
    assert response("down") == {"name": "minio", "up": False, "stopped": False}


def test_a_server_that_ends_at_once_is_told_by_its_log(server, lab_state: Path) -> None:  # type: ignore[no-untyped-def]
    server(BROKEN)
    with pytest.raises(InputError, match=r"ended at once; its log ends: one \| FATAL drive on fire"):
        lab.up("minio")
    assert not lab_state.exists()


def test_a_server_that_shows_no_mark_while_it_replaces_its_program_has_not_ended(
    server, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    shown = lab.refreshed
    hidden = 1

    def hide(store: Store) -> Store:
        nonlocal hidden
        hidden -= 1
        found = shown(store)
        if hidden < 0:
            return found
        return replace(found, nodes=tuple(replace(node, processes=(), running=frozenset()) for node in found.nodes))

    monkeypatch.setattr(lab, "refreshed", hide)
    assert lab.up("minio", Form(1, 1)).ready
    assert hidden <= 0
    lab.down("minio")


def test_a_server_that_does_not_become_healthy_is_stopped(
    server, monkeypatch: pytest.MonkeyPatch, lab_state: Path
) -> None:  # type: ignore[no-untyped-def]
    server("import sys, time\nprint('waiting for a quorum', flush=True)\n'--version' in sys.argv or time.sleep(60)")
    monkeypatch.setattr(lab, "_HEALTHY_WITHIN_S", 1.0)
    with pytest.raises(InputError, match="not healthy within 1 s; its log ends: waiting for a quorum"):
        lab.up("minio")
    assert lab.status("minio") is None and not lab_state.exists()


def test_a_healthy_store_that_misses_a_drive_is_not_ready(
    server, monkeypatch: pytest.MonkeyPatch, lab_state: Path
) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY.replace("in drives:", "in drives[1:]:"))
    monkeypatch.setattr(lab, "_HEALTHY_WITHIN_S", 2.0)
    with pytest.raises(InputError, match="not healthy within 2 s"):
        lab.up("minio", FORMS["four-processes"])
    assert lab.status("minio") is None and not lab_state.exists()


def test_a_server_that_ignores_sigterm_is_killed(server, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    server(STUBBORN)
    monkeypatch.setattr(lab, "_STOPS_WITHIN_S", 0.5)
    store = lab.up("minio")
    assert lab.down("minio") and not store.alive


def test_processes_of_another_lab_are_left_alone(server, lab_state: Path) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    store = lab.up("minio")
    mark = f"{lab_state}-of-another {store.endpoint_url}"
    kill(store, 0)
    environment = os.environ | {"TAILCAST_LAB_PROCESS": mark}
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=environment)
    try:
        assert lab.status("minio") is None
        assert not lab.down("minio")
        assert bystander.poll() is None
        assert lab.up("minio").alive
    finally:
        bystander.kill()
        bystander.wait()


def test_a_store_that_died_is_started_anew(server) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    first = lab.up("minio")
    kill(first, 0)
    assert lab.status("minio") is None
    second = lab.up("minio", FORMS["erasure-set"])
    assert second.alive and second.nodes[0].pid != first.nodes[0].pid


def kill(store: Store, index: int) -> None:
    os.kill(store.nodes[index].pid, signal.SIGKILL)
    os.waitpid(store.nodes[index].pid, 0)


def test_a_process_of_several_that_died_is_started_again(server, capfd: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    first = lab.up("minio", FORMS["four-processes"])
    kill(first, 2)
    degraded = lab.status("minio")
    assert degraded is not None and [node.alive for node in degraded.nodes] == [True, True, False, True]
    with pytest.raises(SystemExit):
        main(["lab", "status"])
    assert f"{first.nodes[2].endpoint_url}, ended, drive 2" in capfd.readouterr().err
    second = lab.up("minio", FORMS["four-processes"])
    assert all(node.alive for node in second.nodes)
    assert [a == b for a, b in zip(first.nodes, second.nodes, strict=True)] == [True, True, False, True]
    assert [node.endpoint_url for node in first.nodes] == [node.endpoint_url for node in second.nodes]
    assert second.target.server_pids == tuple(node.pid for node in second.nodes)
    assert lab.down("minio") and not second.alive


def test_down_ends_what_an_up_that_was_killed_had_started(server, lab_state: Path) -> None:  # type: ignore[no-untyped-def]
    """Its servers never become healthy; it is killed while it waits for them."""
    server("import sys, time\n'--version' in sys.argv or time.sleep(60)")
    code = "from validate.lab import lab; from validate.lab.store import Form; lab.up('minio', Form(1, 4))"
    starting = subprocess.Popen([sys.executable, "-c", code])
    try:
        while starting.poll() is None:
            store = lab.status("minio")
            if store is not None and [node.alive for node in store.nodes] == [True] * 4:
                break
            time.sleep(0.02)
    finally:
        starting.kill()
        starting.wait()
    left = lab.status("minio")
    assert left is not None and [node.alive for node in left.nodes] == [True] * 4
    assert lab.down("minio") and not left.alive and not lab_state.exists()


def test_two_at_once_start_one(server) -> None:  # type: ignore[no-untyped-def]
    server(HEALTHY)
    stores: list[Store] = []
    threads = [threading.Thread(target=lambda: stores.append(lab.up("minio"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 2 and stores[0] == stores[1]


def test_bad_input_is_one_clear_line(
    lab_state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for form, allowed in (((17, 1), "possible are 15, 16, 18 drives"), ((4, 3, 4), "allowed are sets of 3, 6, 12")):
        with pytest.raises(InputError, match=allowed):
            lab.up("minio", Form(*form))
    with pytest.raises(SystemExit) as ended:
        main(["lab", "up", "absent"])
    assert ended.value.code == 2 and "minio" in capsys.readouterr().err
    monkeypatch.setenv("TAILCAST_MINIO", "/absent/minio")
    with pytest.raises(InputError, match="/absent/minio"):
        lab.up("minio")


def test_without_the_server_and_without_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lab_state: Path) -> None:
    monkeypatch.delenv("TAILCAST_MINIO", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert program.find() is None
    with pytest.raises(InputError, match="no Go to build it"):
        lab.up("minio")


def test_install_builds_the_pinned_version_and_tells_what_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\n[ "$1" = env ] && exit 0\necho "$GOFLAGS $*" >&2\necho no route to proxy >&2\nexit 1\n')
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    lines: list[str] = []
    with pytest.raises(InputError, match="no route to proxy"):
        program.install(lines.append)
    assert lines[1].endswith(f"-buildvcs=false install -v {program.MODULE}")


@pytest.mark.live
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_forms_of_a_real_store(form: Form, lab_state: Path) -> None:
    if program.find() is None:
        pytest.skip("the MinIO server is not installed; 'tailcast lab install minio' builds it")
    store = lab.up("minio", form)
    assert len(store.nodes) == len(store.target.server_pids) == form.hosts
    assert store.target.endpoint_url == store.target.node_urls[0]
    account = Account(store.target)
    first, last = (account.client(url, 1, 30.0) for url in (store.target.node_urls[0], store.target.node_urls[-1]))
    first.create_bucket(Bucket="forms")
    body = os.urandom(1 << 20)
    first.put_object(Bucket="forms", Key="object", Body=body)
    assert last.get_object(Bucket="forms", Key="object")["Body"].read() == body
    parts = [part.stat().st_size for part in (lab_state / "data").glob("**/forms/object/*/part.1")]
    assert len(parts) == form.drive_count
    assert sum(parts) == pytest.approx((2 if form.drive_count == 4 else 1) * (1 << 20), rel=0.01), (
        "EC 2+2 doubles the bytes"
    )
    assert all((process_cpu_s(pid) or 0) > 0 for pid in store.target.server_pids)
    if form.hosts > 1:
        kill(store, 0)
        assert last.get_object(Bucket="forms", Key="object")["Body"].read() == body, "three drives hold it still"
        store = lab.up("minio", form)
        assert first.get_object(Bucket="forms", Key="object")["Body"].read() == body, "it came back with its data"
    assert lab.down("minio") and not store.alive
