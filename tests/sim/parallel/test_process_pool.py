from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from sim.parallel.process_pool import process_map
from traces.errors import InputError


def paused(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def killed(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def refused(item: int) -> int:
    if item == 3:
        raise InputError("3 is not allowed")
    return item


def long_answer(item: int) -> bytes:
    return bytes(1_000_000)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests run in the background, and its signal is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_map_keeps_the_order(workers):
    pauses = [0.3, 0.0, 0.1, 0.0]
    with process_map(workers) as mapping:
        assert list(mapping(paused, pauses)) == pauses
        assert list(mapping(paused, [])) == []


def test_more_items_than_are_under_way_at_a_time():
    with process_map(2) as mapping:
        assert list(mapping(abs, range(-700, 700))) == list(map(abs, range(-700, 700)))


def test_a_killed_worker_and_an_error_end_the_map():
    with pytest.raises(InputError, match="a worker was killed"), process_map(2) as mapping:
        list(mapping(killed, range(1000)))
    found = []
    with pytest.raises(InputError, match="3 is not allowed"), process_map(2) as mapping:
        found.extend(mapping(refused, range(1000)))
    assert found == [0, 1, 2]


def test_ctrl_c_waits_for_what_is_being_handed_to_workers(ctrl_c):
    def items():
        yield 1
        signal.raise_signal(signal.SIGINT)
        handed.append(2)
        yield 2

    handed = []
    with pytest.raises(KeyboardInterrupt), process_map(2) as mapping:
        list(mapping(abs, items()))
    assert handed == [2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_ctrl_c_whenever_it_comes_ends_the_map(ctrl_c):
    # Workers are mostly sending an answer, as this process falls behind them.
    for k in range(8):
        timer = threading.Timer(0.02 * k, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt), process_map(2) as mapping:
            for i, _ in enumerate(mapping(long_answer, range(5000))):
                if i == 300:
                    timer.start()
        timer.join()


def test_a_map_works_in_another_thread():
    found = []

    def run():
        with process_map(2) as mapping:
            found.extend(mapping(abs, [-1, -2]))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [1, 2]
