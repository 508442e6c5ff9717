from __future__ import annotations

import os
import subprocess

import pytest

from cli.main import main
from traces.errors import InputError
from validate.lab.box import drives, requirements


@pytest.fixture
def machine(monkeypatch):
    """A machine that has all; a test takes something from it."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(drives, "missing", tuple)
    monkeypatch.setattr(requirements.shutil, "which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr(requirements, "_no_namespaces", lambda: None)
    return monkeypatch


def test_nothing_is_missing(machine):
    requirements.require()


def test_all_that_is_missing_is_named_in_one_line(machine):
    machine.setattr(os, "geteuid", lambda: 1000)
    machine.setattr(drives, "missing", lambda: ("/dev/fuse (the FUSE device, with permission to use it)",))
    machine.setattr(requirements.shutil, "which", lambda program: None)
    with pytest.raises(InputError) as error:
        requirements.require()
    (message,) = error.value.messages
    for part in ("root", "/dev/fuse", "ip (apt: iproute2)", "nsenter (apt: util-linux)", "plain folders"):
        assert part in message


def test_a_machine_without_namespaces_is_told(machine):
    machine.setattr(requirements, "_no_namespaces", lambda: "network namespaces (Operation not permitted)")
    with pytest.raises(InputError, match=r"network namespaces \(Operation not permitted\)"):
        requirements.require()


def test_another_system_is_told(machine):
    machine.setattr(requirements.sys, "platform", "darwin")
    with pytest.raises(InputError, match="Linux; this is darwin"):
        requirements.require()


def test_root_installs_what_is_missing(machine):
    there, commands = {"apt-get"}, []
    machine.setattr(requirements.shutil, "which", lambda program: program if program in there else None)

    def run(command, **options):
        commands.append(command[1])
        if commands.count("install") == 2:
            there.update(("ip", "tc", "nsenter"))
        return subprocess.CompletedProcess(command, 0)

    machine.setattr(requirements.subprocess, "run", run)
    lines = []
    requirements.require(lines.append)
    assert commands == ["install", "update", "install"] and "iproute2" in lines[0]


def test_the_command_says_what_is_missing(machine, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TAILCAST_STATE", str(tmp_path))
    machine.setattr(os, "geteuid", lambda: 1000)
    shape = tmp_path / "shape.yaml"
    shape.write_text("drives: {read: 1ms, write: 1ms}\n")
    with pytest.raises(SystemExit) as ended:
        main(["lab", "up", "minio", "--hosts", "2", "--drives", "2", "--shape", str(shape)])
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip()
    assert "a box needs root" in said and said.count("tailcast: error") == 1
