from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from traces.errors import InputError
from validate.lab.box import network
from validate.lab.box.network import Network, prefix_of, shaping
from validate.lab.box.shape import NicShape

NIC = NicShape(rate=25e6, burst=1 << 16)


def test_names_differ_between_labs_and_fit_the_kernel(tmp_path):
    prefixes = {prefix_of(tmp_path / str(i)) for i in range(50)}
    assert len(prefixes) == 50
    names = Network(prefix_of(tmp_path), 5, 100)
    assert len(names.client_link) <= 15, "names of interfaces have at most 15 characters"
    assert len(set(names.namespaces)) == 101
    assert prefix_of(tmp_path / "a" / ".." / "b") == prefix_of(tmp_path / "b")


def test_addresses_are_within_the_range_and_differ(tmp_path):
    names = Network("tc00000000", 7, network.MOST_HOSTS)
    addresses = [*map(names.address, range(names.hosts)), f"10.77.{names.subnet}.{network._CLIENT}"]
    assert len(set(addresses)) == len(addresses)
    assert all(ipaddress.ip_address(address) in ipaddress.ip_network(names.range) for address in addresses)


def test_a_range_that_is_in_use_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "_output", lambda command: "[]")
    first = network.network_of(tmp_path, 2)
    monkeypatch.setattr(network, "_output", lambda command: f'[{{"dst": "default"}}, {{"dst": "{first.range}"}}]')
    second = network.network_of(tmp_path, 2)
    assert second.subnet == (first.subnet + 1) % 256 and second.prefix == first.prefix
    taken = ", ".join(f'{{"dst": "10.77.{i}.0/24"}}' for i in range(256))
    monkeypatch.setattr(network, "_output", lambda command: f"[{taken}]")
    with pytest.raises(InputError, match=r"10\.77\.0\.0/16"):
        network.network_of(tmp_path, 2)
    with pytest.raises(InputError, match="at most 100"):
        network.network_of(tmp_path, 101)


def test_rate_and_delay_as_commands_of_tc():
    (none,) = shaping("eth0", None, 0.0)
    assert none.endswith("root noqueue")
    (rate,) = shaping("eth0", NIC, 0.0)
    assert "root handle 1: tbf" in rate and "rate 200000000bit burst 65536b" in rate
    delay, rate = shaping("eth0", NIC, 0.0005)
    assert "netem delay 500us" in delay and "parent 1:1" in rate


def test_a_slow_link_has_a_queue_for_a_few_packets():
    (rate,) = shaping("eth0", NicShape(rate=1000.0), 0.0)
    assert int(rate.rpartition(" limit ")[2].removesuffix("b")) >= 1 << 18


def test_a_command_runs_as_the_same_process_on_a_host():
    command = Network("tc00000000", 7, 2).entered(1, ["server", "--flag"])
    assert command == ["nsenter", "--net=/run/netns/tc00000000-h1", "server", "--flag"]
    assert Path(command[1].partition("=")[2]).parent == Path("/run/netns")


def test_nothing_is_done_where_there_is_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(network, "_run", lambda *command: pytest.fail(f"ran {command}"))
    network.remove(tmp_path)
    assert network.left_of(tmp_path) == []
