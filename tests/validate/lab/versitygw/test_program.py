"""How versitygw is called, and which of the lab's faults its model has."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.errors import InputError
from validate.lab.faults import LabFault
from validate.lab.store import Form, Node, Store
from validate.lab.versitygw import program
from validate.lab.versitygw.fault_events import fault_event

ONE = Form(1)


def store_in(folder: Path, **given: str) -> Store:
    (folder / "credentials").write_text("[tailcast-lab]\naws_access_key_id = tc:ab\naws_secret_access_key = secret\n")
    options = {name.replace("__", ".").replace("_", "-"): value for name, value in given.items()}
    return Store("versitygw", ONE, "", folder, (Node("http://127.0.0.1:5000"),), options=options)


def test_options_go_to_the_gateway_and_to_its_file_system(tmp_path, monkeypatch):
    monkeypatch.setenv("VGW_PORT", "1")
    store = store_in(tmp_path, gateway__keep_alive="true", posix__io_buffer_size="65536")
    command = program.arguments(Path("versitygw"), store, store.nodes[0])
    assert command[-3:] == ["posix", "--io-buffer-size=65536", str(store.drive_folder(0, 0))]
    assert "--keep-alive=true" in command[: command.index("posix")]
    assert command[command.index("--port") + 1] == "127.0.0.1:5000"
    environment = program.environment(store)
    assert (environment["ROOT_ACCESS_KEY_ID"], environment["ROOT_SECRET_ACCESS_KEY"]) == ("tc:ab", "secret")
    assert "VGW_PORT" not in environment and "secret" not in " ".join(command)


@pytest.mark.parametrize(
    ("form", "options", "says"),
    [
        (Form(2), {}, "one host with one drive"),
        (Form(1, 2), {}, "one host with one drive"),
        (Form(1, set_size=4), {}, "no erasure sets"),
        (ONE, {"proxy.a": "1"}, "allowed are gateway.NAME, posix.NAME"),
        (ONE, {"gateway.port": ":1"}, "option gateway.port: the lab sets it"),
    ],
)
def test_what_cannot_be_started_is_said(form, options, says):
    with pytest.raises(InputError, match=says):
        program.check(form, options)


@pytest.mark.parametrize(
    ("fault", "event"),
    [
        (LabFault("drive", 0, "slow", factor=5.0), {"kind": "slow_drive", "drive": 0, "speed": 0.2, "until": 3.0}),
        (LabFault("drive", 0, "frozen"), {"kind": "file_system_hung", "back_at": 3.0}),
        (LabFault("host", 0, "killed"), {"kind": "host_down", "back_at": 3.0}),
        (LabFault("drive", 0, "errors"), None),
        (LabFault("host", 0, "paused"), None),
    ],
)
def test_faults_in_the_words_of_a_spec(tmp_path, fault, event):
    found = fault_event(store_in(tmp_path), fault, 1.0, 3.0)
    assert found == (None if event is None else {"at": 1.0, **event})
