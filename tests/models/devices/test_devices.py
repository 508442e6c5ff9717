from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from models.devices.data_sheet import _NORMAL
from models.devices.device import Device, write_amplification
from models.devices.devices import PRESETS, DeviceField
from models.devices.hdd import Hdd, Seek
from tests.profiles import examples

DEVICE = TypeAdapter(DeviceField)
SIZE = np.array([4096])
FLASH = ["sata-ssd", "nvme", "nvme-p3700", "optane"]
DISKS = ["hdd-7k2", "hdd-7k2-2.5in", "hdd-5k4"]
CONSUMER = ["sata-ssd-consumer", "sata-ssd-qlc", "nvme-consumer"]
OTHERS = ["nl-sas", "sas-15k", "hdd-smr", "nvme-qlc", "ebs-gp3", "ebs-io2"]


def _no_contention_s(device: Device, kind: str, size: int = 4096) -> float:
    """Mean time of one access when there is no other."""
    return sum(float(demand.mean_s(np.array([size]))[0]) for demand in _demands(device, kind))


def _demands(device: Device, kind: str):
    return (device.read, device.read_latency) if kind == "read" else (device.write, device.write_latency)


def _quantiles_s(device: Device, kind: str, probabilities) -> np.ndarray:
    """Quantiles of that time; only the latency is random."""
    held, rest = _demands(device, kind)
    return held.mean_s(SIZE) + rest.constant * rest.distribution.quantile(np.array(probabilities))


# Data sheets: Intel S4500 and P3700 product specifications, Samsung PM983 specification; AnandTech 11209 and 11930.
@pytest.mark.parametrize(
    ("name", "kind", "latency_s", "iops"),
    [
        ("sata-ssd", "read", 110e-6, 72_000), ("sata-ssd", "write", 52e-6, 33_000),
        ("nvme", "read", 85e-6, 540_000), ("nvme", "write", 50e-6, 50_000),
        ("nvme-p3700", "read", 77.9e-6, 460_000), ("nvme-p3700", "write", 20e-6, 175_000),
        ("optane", "read", 8.9e-6, 550_000), ("optane", "write", 8.9e-6, 500_000),
    ],
)  # fmt: skip
def test_flash_has_the_published_latency_of_one_access_and_iops_of_many(name, kind, latency_s, iops):
    device = PRESETS[name]
    held_s = float(_demands(device, kind)[0].mean_s(SIZE)[0])
    assert _no_contention_s(device, kind) == pytest.approx(latency_s, rel=0.01)
    # Published bandwidth and IOPS of the Optane's writes contradict each other by 2.4 %.
    assert device.queue_depth / held_s == pytest.approx(iops, rel=0.03)


@pytest.mark.parametrize(
    ("name", "read", "write"),
    [("sata-ssd", 500e6, 490e6), ("nvme-p3700", 2.8e9, 2.0e9), ("optane", 2.4e9, 2.0e9)],
)
def test_one_large_transfer_has_the_bandwidth_and_many_have_no_more(name, read, write):
    for kind, bandwidth in (("read", read), ("write", write)):
        size = 256 << 20
        held_s = float(_demands(PRESETS[name], kind)[0].mean_s(np.array([size]))[0])
        assert size / _no_contention_s(PRESETS[name], kind, size) == pytest.approx(bandwidth, rel=0.01)
        assert PRESETS[name].queue_depth * size / held_s == pytest.approx(bandwidth, rel=0.01)


def test_published_tails_of_flash():
    assert _quantiles_s(PRESETS["sata-ssd"], "read", [0.999]) == pytest.approx(300e-6, rel=0.01)
    assert _quantiles_s(PRESETS["sata-ssd"], "write", [0.999]) == pytest.approx(800e-6, rel=0.01)
    assert _quantiles_s(PRESETS["optane"], "read", [0.99, 0.99999]) == pytest.approx([10e-6, 37e-6], rel=0.02)
    assert _quantiles_s(PRESETS["optane"], "write", [0.99999]) == pytest.approx(100e-6, rel=0.01)


def test_optane_at_depth_16_is_as_measured():
    """584,800 IOPS (AnandTech 11209); asymptotic bound of a closed network of 16 accesses."""
    held_s = float(PRESETS["optane"].read.mean_s(SIZE)[0])
    bound = min(16 / _no_contention_s(PRESETS["optane"], "read"), 1 / held_s)
    assert bound == pytest.approx(584_800, rel=0.1)


def test_disk_access_is_seek_and_half_a_turn_and_transfer():
    """HGST 7K4000: seek 8.2 ms; Constellation ES.3: 4.16 ms, 83-175 MB/s; Constellation.2: 7.7, 8.7 ms with overhead.

    Data sheets average seeks over tracks. Outer tracks hold more blocks, which makes random blocks a little closer.
    """
    transfer_s = 4096 / 129e6
    assert _no_contention_s(PRESETS["hdd-7k2"], "read") == pytest.approx(
        0.2e-3 + 8.2e-3 + 4.16e-3 + transfer_s, rel=0.015
    )
    assert _no_contention_s(PRESETS["hdd-7k2-2.5in"], "read") == pytest.approx(
        7.7e-3 + 4.16e-3 + 4096 / 123.5e6, rel=0.015
    )
    assert _no_contention_s(PRESETS["hdd-7k2-2.5in"], "write") == pytest.approx(
        8.7e-3 + 4.16e-3 + 4096 / 123.5e6, rel=0.015
    )
    assert _no_contention_s(PRESETS["hdd-5k4"], "read") == pytest.approx(
        0.2e-3 + 12e-3 + 5.56e-3 + 4096 / 60e6, rel=0.015
    )
    assert 80 < 1 / _no_contention_s(PRESETS["hdd-7k2"], "read") < 110


def test_disk_distribution_has_the_measured_shape():
    """fio on an unnamed, other disk (mean 11.093 ms, 512 B reads, one at a time): p20 to p90, over the mean."""
    measured = np.array([6.112, 7.584, 8.896, 9.920, 11.584, 13.120, 15.040, 18.560]) / 11.093
    model = PRESETS["hdd-7k2"].read.distribution.quantile(np.arange(2, 10) / 10)
    assert np.abs(model / measured - 1).max() < 0.2


def _positioning_by_simulation(disk: Hdd, kind: str, depth: int, count: int = 6000) -> np.ndarray:
    """Access times of a head that always takes the queued access it reaches first, another arriving for each served."""
    rng = np.random.default_rng(1)
    seek = disk.read_seek if kind == "read" else disk.write_seek
    blocks = disk.at + disk.span * rng.random(depth + count)
    tracks, angles = disk.track(blocks), rng.random(depth + count)
    queued = np.arange(depth)
    now_s, head, times = 0.0, float(tracks.mean()), []
    for arriving in range(depth, depth + count):
        there_s = disk.overhead + seek.seconds(np.abs(tracks[queued] - head))
        there_s += (angles[queued] - (now_s + there_s) / disk.turn_s) % 1 * disk.turn_s
        first = int(there_s.argmin())
        now_s, head = now_s + there_s[first], float(tracks[queued[first]])
        times.append(there_s[first])
        queued[first] = arriving
    return np.array(times[count // 10 :])


@pytest.mark.parametrize(
    ("name", "depth", "span", "at"),
    [
        ("hdd-7k2", 1, 1.0, 0.0), ("hdd-7k2", 4, 1.0, 0.0), ("hdd-7k2", 16, 1.0, 0.0), ("hdd-7k2", 32, 1.0, 0.0),
        ("hdd-7k2", 1, 0.2, 0.7), ("hdd-7k2-2.5in", 4, 0.3, 0.0), ("hdd-5k4", 8, 1.0, 0.0),
    ],
)  # fmt: skip
def test_disk_access_times_are_those_of_a_simulated_head(name, depth, span, at):
    disk = PRESETS[name].disk.model_copy(update={"depth": depth, "span": span, "at": at})
    demand = disk.access("write")
    simulated = _positioning_by_simulation(disk, "write", depth)
    assert demand.constant == pytest.approx(simulated.mean(), rel=0.04)
    shares = np.array([0.1, 0.5, 0.9])
    assert demand.constant * demand.distribution.quantile(shares) == pytest.approx(
        np.quantile(simulated, shares), rel=0.12
    )


@given(st.floats(1e-4, 2e-3), st.floats(5e-3, 30e-3), st.floats(0.34, 0.73))
def test_seek_curve_meets_its_three_figures_and_never_falls(track, move, fraction):
    seek = Seek(track=track, average=track + fraction * move, full_stroke=track + move)
    distance = (np.arange(4000) + 0.5) / 4000
    times = seek.seconds(distance)
    assert seek.seconds(np.array([0.0, 1.0])) == pytest.approx([track, track + move])
    assert np.average(times, weights=1 - distance) == pytest.approx(seek.average, rel=1e-3)
    assert (np.diff(times) >= -1e-12).all()


def test_rates_fall_in_proportion_to_the_tracks_and_blocks_fill_them():
    disk = PRESETS["hdd-7k2"].disk
    address = np.linspace(0, 1, 10_001)
    track = disk.track(address)
    assert track[[0, -1]] == pytest.approx([0, 1])
    assert disk.rate(address) == pytest.approx(175e6 - (175e6 - 83e6) * track)
    # A track holds what passes in a turn: blocks up to a track are the integral of the rate up to it.
    rate = disk.rate(address)
    held = np.concatenate([[0], np.cumsum(np.diff(track) * (rate[1:] + rate[:-1]) / 2)])
    assert held / held[-1] == pytest.approx(address, abs=1e-6)
    assert disk.access("read").per_byte == pytest.approx(float(np.trapezoid(1 / rate, address)), rel=1e-6)
    inner = disk.model_copy(update={"at": 0.75, "span": 0.25})
    assert inner.access("read").per_byte == pytest.approx(float((1 / rate[7500:]).mean()), rel=1e-3)


@examples(25)
@given(st.sampled_from(DISKS), st.floats(0.02, 0.98), st.integers(1, 64))
def test_fuller_disks_are_slower_and_a_longer_queue_is_faster(name, fraction, depth):
    device = PRESETS[name]
    partly = device.filled(fraction)
    assert partly.read.constant < device.read.constant
    assert partly.read.per_byte < device.read.per_byte
    assert partly.at_depth(depth + 1).write.constant < partly.at_depth(depth).write.constant
    assert partly.at_depth(depth) == device.at_depth(depth).filled(fraction)
    assert partly.filled(1.0) == device
    assert partly.capacity == device.capacity


def test_the_newest_data_of_a_full_disk_are_a_short_way_apart_but_on_slow_tracks():
    disk = PRESETS["hdd-7k2"]
    newest, whole, outer = disk.filled(0.9, 0.01), disk.filled(0.9), disk.filled(0.009)
    assert newest.read.constant < 0.6 * whole.read.constant
    assert newest.read.constant == pytest.approx(outer.read.constant, rel=0.1)
    assert newest.read.per_byte > 1.5 * outer.read.per_byte
    with pytest.raises(ValueError, match="newest is 0"):
        disk.filled(0.5, 0)


def test_times_that_a_spec_gives_change_as_those_of_the_mechanism():
    plain, slow = PRESETS["hdd-7k2"], DEVICE.validate_python({"preset": "hdd-7k2", "read": "20ms"})
    moved = slow.filled(0.3).at_depth(4)
    ratio = plain.filled(0.3).at_depth(4).read.constant / plain.read.constant
    assert moved.read.constant == pytest.approx(20e-3 * ratio)
    assert moved.read.distribution == slow.read.distribution
    assert moved.write.constant == pytest.approx(plain.filled(0.3).at_depth(4).write.constant)


def test_normal_quantiles_are_those_of_scipy():
    assert {p: float(scipy.special.ndtri(p)) for p in _NORMAL} == _NORMAL


def test_write_amplification_is_as_published():
    """Xiang and Kurkoski (arXiv 1110.4245): 2.36 at an over-provisioning of 0.3, 2.35 by their simulation."""
    assert write_amplification(1.0, 0.3) == pytest.approx(2.36, abs=0.005)
    assert write_amplification(0.01, 0.3) == pytest.approx(1.0)


@given(st.floats(0.01, 0.99), st.floats(0.05, 2.0))
def test_write_amplification_solves_its_equation_and_grows_with_use(utilization, over_provisioning):
    amplification = write_amplification(utilization, over_provisioning)
    assert 1 <= amplification <= write_amplification(min(1.0, utilization * 1.01), over_provisioning)
    # Of a collected block the share x is still valid: 1 - x = 1 / amplification, with ln(x) = -(1 - x) a.
    a = (1 + over_provisioning) / utilization
    valid = 1 - 1 / amplification
    assert valid == pytest.approx(np.exp(-(1 - valid) * a), abs=1e-9)


def test_flash_that_is_not_full_writes_faster_and_reads_the_same():
    full, half = PRESETS["nvme"], PRESETS["nvme"].filled(0.5)
    assert half.read == full.read
    assert full.filled(1.0) == full
    assert half.write.per_byte == full.write.per_byte
    assert half.write.constant / full.write.constant == pytest.approx(
        write_amplification(0.5, 0.145) / write_amplification(1.0, 0.145)
    )
    assert half.write.constant < 0.5 * full.write.constant
    assert PRESETS["optane"].filled(0.5) == PRESETS["optane"]
    assert full.at_depth(8) == full


def test_kinds_of_device():
    assert [PRESETS[name].rotational for name in DISKS + FLASH] == [True] * 3 + [False] * 4
    assert [PRESETS[name].flush for name in FLASH] == [0.0] * 4
    assert PRESETS["hdd-7k2"].flush == pytest.approx(8.33e-3, rel=1e-3)
    assert all(1e-3 <= PRESETS[name].flush <= 5e-3 for name in CONSUMER)
    assert set(PRESETS) == set(DISKS + FLASH + CONSUMER + OTHERS)


def test_devices_in_a_spec():
    assert DEVICE.validate_python("nvme") == PRESETS["nvme"]
    bigger = DEVICE.validate_python({"preset": "nvme", "capacity": "8TB", "read_latency": "100us"})
    assert (bigger.capacity, bigger.read_latency.constant) == (8_000_000_000_000, pytest.approx(100e-6))
    assert bigger.write == PRESETS["nvme"].write
    own = DEVICE.validate_python({"read": "10us", "write": {"constant": "20us", "per_byte": "1ns"}, "capacity": "1TB"})
    assert (own.read.constant, own.write.per_byte, own.rotational) == (pytest.approx(1e-5), 1e-9, False)


def test_a_mechanism_of_its_own_brings_its_times():
    disk = PRESETS["hdd-7k2"].disk.model_dump() | {"rpm": 15_000}
    for given_disk in ({"preset": "hdd-7k2", "disk": disk}, {"capacity": "4TB", "disk": disk}):
        device = DEVICE.validate_python(given_disk)
        assert device.disk.rpm == 15_000
        faster_s = PRESETS["hdd-7k2"].read.constant - device.read.constant
        assert faster_s == pytest.approx((60 / 7200 - 60 / 15_000) / 2, rel=1e-3)


@pytest.mark.parametrize("name", DISKS + FLASH)
def test_presets_survive_being_written_and_read(name):
    assert DEVICE.validate_json(PRESETS[name].model_dump_json()) == PRESETS[name]


@pytest.mark.parametrize(
    ("given_device", "said"),
    [
        ("floppy", "'floppy'"), ({"preset": 3}, "3 is not"), ({"capacity": "1TB"}, "read"),
        ({"preset": "nvme", "speed": 1}, "speed"), ({"preset": "nvme", "capacity": 0}, "greater than 0"), (7, "Device"),
        ({"preset": "nvme", "disk": {"rpm": 0}}, "rpm"),
    ],
)  # fmt: skip
def test_invalid_devices_are_refused(given_device, said):
    with pytest.raises(ValidationError, match=said):
        DEVICE.validate_python(given_device)


def test_disks_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="average is 0"):
        Seek(track=1e-3, average=20e-3, full_stroke=20e-3)
    fields = PRESETS["hdd-7k2"].disk.model_dump()
    with pytest.raises(ValidationError, match="at most 1"):
        Hdd(**fields | {"at": 0.5, "span": 0.6})
    with pytest.raises(ValidationError, match="at most outer"):
        Hdd(**fields | {"inner": 200e6})
    for fraction in (0.0, 1.1):
        with pytest.raises(ValueError, match="at most 1 is allowed"):
            PRESETS["nvme"].filled(fraction)
    with pytest.raises(ValueError, match="depth is 0"):
        PRESETS["nvme"].at_depth(0)


@pytest.mark.parametrize(
    ("name", "kind", "latency_s", "iops"),
    [
        ("sata-ssd-consumer", "read", 1 / 13_000, 98_000), ("nvme-consumer", "write", 1 / 60_000, 400_000),
        ("ebs-gp3", "read", 1e-3, 3_000), ("ebs-gp3", "write", 1e-3, 3_000), ("ebs-io2", "write", 0.5e-3, 16_000),
        ("nvme-qlc", "write", 1 / 7_800, 7_800),
    ],
)  # fmt: skip
def test_presets_by_data_sheet_have_its_latency_and_iops(name, kind, latency_s, iops):
    device = PRESETS[name]
    assert _no_contention_s(device, kind) == pytest.approx(latency_s, rel=1e-6)
    assert 1 / float(_demands(device, kind)[0].mean_s(SIZE)[0]) == pytest.approx(iops, rel=1e-6)


def test_a_device_follows_from_its_data_sheet_alone():
    sheet = {"read_iops": 98_000, "write_iops": 30_000, "read_bandwidth": "560MB/s", "write_bandwidth": "450MB/s"}
    device = DEVICE.validate_python({"data_sheet": {**sheet, "flush": "2ms"}, "capacity": "1TB"})
    assert float(device.read.mean_s(SIZE)[0]) == pytest.approx(1 / 98_000)
    assert not device.read_latency.takes_time and device.flush == 2e-3
    assert DEVICE.validate_python(device.model_dump()) == device
    own = DEVICE.validate_python({"data_sheet": sheet, "capacity": "1TB", "write": {"constant": "1ms"}})
    assert own.write.constant == 1e-3


def test_a_latency_below_that_of_the_iops_is_refused():
    sheet = {"read_iops": 1000, "write_iops": 1000, "read_bandwidth": 1e8, "write_bandwidth": 1e8}
    with pytest.raises(ValidationError, match=r"at least 1 / read_iops, 0\.001 s"):
        DEVICE.validate_python({"data_sheet": {**sheet, "read_latency": "0.5ms"}, "capacity": "1TB"})


def test_a_full_shingled_disk_writes_two_bands_and_reads_as_a_hard_disk():
    device = PRESETS["hdd-smr"]
    assert device.write.constant == pytest.approx(0.4) and device.read.constant < 0.02
    assert device.at_depth(8).write.constant < device.write.constant
