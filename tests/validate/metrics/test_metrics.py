"""Metrics of stores: what they mean, the workload and the targets that follow, and the forecast next to them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from cli.tables.measured.metrics import inner_grid
from models.site.hardware.host_metrics import hosts
from models.site.metrics import Estimate
from models.store import load_spec, spec_of, store_named
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.metrics.files import read_metrics
from traces.metrics.series import Metrics, Series
from traces.spec.spec_file import load_mapping
from validate.calibration.published import published_rows
from validate.metrics.measured import HostChoice, Measured, measured
from validate.metrics.targets import table_text, target_rows
from validate.metrics.utilisation import compared
from validate.metrics.workload import workload_fields, workload_notes

MINIO = store_named("minio").metrics
CEPH = store_named("ceph").metrics
RECORDED = read_metrics([EXAMPLES / "metrics" / "minio.json"])
"""Two minutes of an open loop of 12 requests/s, 1,980 GETs in 2,880, of 64 KiB, on a MinIO of the lab in a box."""


def of_minio(version: int) -> Metrics:
    """Return the recorded metrics without those of the other version."""
    other = "minio_api_" if version == 2 else "minio_s3_"
    return Metrics.of([each for each in RECORDED if not each.name.startswith(other)])


def whole(metrics: Metrics, intervals: int = 2) -> Measured:
    """Return what metrics of MinIO say."""
    return measured(metrics, MINIO, HostChoice(), intervals)


def counter(name: str, rate: float, /, **labels: str) -> Series:
    """Return a counter with an even growth over 60 s."""
    times_s = np.arange(0, 61, 10.0)
    return Series(name, labels, times_s, rate * times_s)


@pytest.mark.parametrize("version", [2, 3])
def test_recorded_requests(version):
    found = whole(of_minio(version))
    assert set(found.ops) == {"GET", "PUT"}
    # Poisson arrivals: 5 standard deviations of the count in two minutes.
    assert found.ops["GET"].rate_ops == pytest.approx(8.25, abs=5 * (8.25 / 120) ** 0.5)
    assert found.ops["PUT"].rate_ops == pytest.approx(3.75, abs=5 * (3.75 / 120) ** 0.5)
    for each in found.ops.values():
        # Servers show counters of version 2 as they were up to 10 s before, each group at times of its own.
        assert each.bytes_each == pytest.approx(65536, rel=0.12 if version == 2 else 0.02)
    latency = found.ops["PUT"].latency_s
    assert latency is not None
    assert latency.value == pytest.approx(0.108, abs=4 * latency.sd + 0.01)  # the client's mean is 108 ms
    assert found.cpu_cores == pytest.approx(0.0083 * 12, rel=0.2)  # the replay recorded 8.3 ms for each request
    assert found.counts == {"hosts": 1, "all-drives": 4}


def test_quantiles_of_recorded_first_bytes():
    first_byte = whole(of_minio(3)).ops["PUT"].first_byte
    assert first_byte is not None
    low, high = first_byte.quantile_bin(0.5)
    assert low <= 0.0957 <= high  # the client's median


def test_recorded_hosts():
    (host,) = hosts(of_minio(3), least_accesses=0.1).values()
    assert host.cores == 2
    assert 0 < host.busy_cores <= 2
    assert "zram0" not in host.drives
    assert "lo" not in host.links


def test_a_scrape_without_requests_in_flight_counts():
    name = {"name": "GetObject", "type": "s3"}
    requests = counter("minio_api_requests_total", 10, **name)
    flying = Series("minio_api_requests_inflight_total", name, np.array([0.0, 10]), np.array([2.0, 5]))
    found = measured(Metrics.of([requests, flying]), MINIO, HostChoice(), 1).ops["GET"].latency_s
    assert found is not None
    assert found.value == pytest.approx(7 / 7 / 10)


def test_members_that_answer_for_all_count_once():
    both = [
        counter("minio_s3_requests_total", 10, api="putobject", server=server, instance=instance)
        for server in ("a", "b")
        for instance in ("a:9000", "b:9000")
    ]
    assert measured(Metrics.of(both), MINIO, HostChoice(), 1).total_ops == pytest.approx(20)


def of_ceph(names: dict[str, float]) -> Measured:
    """Return what counters of two gateways of Ceph say."""
    series = [counter(name, rate, instance_id=gateway) for name, rate in names.items() for gateway in ("a", "b")]
    return measured(Metrics.of(series), CEPH, HostChoice(), 1)


@pytest.mark.parametrize(
    "names",
    [
        {"get": 40, "get_b": 4e6, "get_initial_lat_sum": 0.8, "get_initial_lat_count": 40,
         "put": 10, "put_b": 2e6, "put_initial_lat_sum": 0.5, "put_initial_lat_count": 10},
        {"op_global_get_obj_ops": 40, "op_global_get_obj_bytes": 4e6, "op_global_get_obj_lat_sum": 0.8,
         "op_global_get_obj_lat_count": 40, "op_global_put_obj_ops": 10, "op_global_put_obj_bytes": 2e6,
         "op_global_put_obj_lat_sum": 0.5, "op_global_put_obj_lat_count": 10},
        {"op_get_obj_ops": 40, "op_get_obj_bytes": 4e6, "op_get_obj_lat_sum": 0.8, "op_get_obj_lat_count": 40,
         "op_put_obj_ops": 10, "op_put_obj_bytes": 2e6, "op_put_obj_lat_sum": 0.5, "op_put_obj_lat_count": 10,
         # Later releases also have these, for dashboards of older ones.
         "get": 40, "get_b": 4e6, "put": 10, "put_b": 2e6},
    ],
)  # fmt: skip
def test_each_release_of_ceph_says_the_same(names):
    found = of_ceph({f"ceph_rgw_{name}": rate for name, rate in names.items()})
    assert {op: each.rate_ops for op, each in found.ops.items()} == pytest.approx({"GET": 80, "PUT": 20})
    assert {op: each.bytes_each for op, each in found.ops.items()} == pytest.approx({"GET": 1e5, "PUT": 2e5})
    means_s = {op: each.latency_s.value for op, each in found.ops.items() if each.latency_s}
    assert means_s == pytest.approx({"GET": 0.02, "PUT": 0.05})


OSD_COUNTERS = {
    "ceph_osd_op_r": 90, "ceph_osd_op_r_out_bytes": 9e6, "ceph_osd_op_r_latency_sum": 0.45,
    "ceph_osd_op_r_latency_count": 90, "ceph_osd_op_w": 30, "ceph_osd_op_w_in_bytes": 6e6,
    "ceph_osd_op_w_latency_sum": 0.6, "ceph_osd_op_w_latency_count": 30, "ceph_osd_op_rw": 10,
}  # fmt: skip


def of_osds(**gateway: float) -> Measured:
    """Return what counters of two OSDs say, each scraped of two members, with those of one gateway."""
    series = [
        counter(name, rate, ceph_daemon=osd, instance=instance)
        for name, rate in OSD_COUNTERS.items()
        for osd in ("osd.0", "osd.1")
        for instance in ("a:9283", "b:9283")
    ]
    return measured(
        Metrics.of([*series, *(counter(name, rate) for name, rate in gateway.items())]), CEPH, HostChoice(), 1
    )


def test_osds_are_the_store_without_gateways():
    found = of_osds()
    assert {op: each.rate_ops for op, each in found.ops.items()} == pytest.approx({"GET": 180, "PUT": 60})
    assert {op: each.bytes_each for op, each in found.ops.items()} == pytest.approx({"GET": 1e5, "PUT": 2e5})
    means_s = {op: each.latency_s.value for op, each in found.ops.items() if each.latency_s}
    assert means_s == pytest.approx({"GET": 0.005, "PUT": 0.02})


def test_osds_are_inside_of_a_store_with_gateways():
    found = of_osds(ceph_rgw_get=60, ceph_rgw_get_b=6e6)
    assert {op: each.rate_ops for op, each in found.ops.items()} == {"GET": 60}
    assert found.ops["GET"].latency_s is None
    figures = {each.name: (each.rate_ops, each.bytes_each, each.latency_s) for each in found.inner}
    assert figures["OSD read"] == pytest.approx((180, 1e5, 0.005))
    assert figures["OSD write"] == pytest.approx((60, 2e5, 0.02))
    assert figures["OSD read and write"] == (20, None, None)
    assert inner_grid(found).rows[0] == ["OSD read", "180", "3.00", "100 kB", "5.00 ms"]


def test_a_workload_of_sizes_that_differ_and_rates_that_change():
    spec = load_spec(EXAMPLES / "minio.yaml")
    times_s = np.arange(0, 121, 10.0)
    grown = np.interp(times_s, [0, 60, 120], [0, 600, 3000])
    series = [
        Series("minio_s3_requests_total", {"api": "getobject"}, times_s, grown),
        Series("minio_s3_requests_total", {"api": "putobject"}, times_s, grown / 3),
        Series("minio_s3_requests_total", {"api": "putbucketacl"}, times_s, grown / 100),
        Series("minio_s3_traffic_sent_bytes", {}, times_s, grown * 1000),
        Series("minio_s3_traffic_received_bytes", {}, times_s, grown * 3000),
    ]
    found = measured(Metrics.of(series), MINIO, HostChoice(), 2)
    fields = workload_fields(found, spec.workload)
    assert fields["rate"] == pytest.approx(3000 * 4 / 3 / 120, rel=1e-4)
    assert [step["level"] for step in fields["arrivals"]["steps"]] == pytest.approx([800 / 60, 3200 / 60], rel=1e-4)
    assert fields["mix"] == pytest.approx({"GET": 0.75, "PUT": 0.25})
    assert fields["object_size"] == 1000
    assert fields["own_objects"]["PUT"]["object_size"] == 9000
    assert any("putbucketacl" in note for note in workload_notes(found))
    workload = spec_of({**load_mapping(EXAMPLES / "minio.yaml"), "workload": fields}, "it").workload
    assert workload.total_rate == pytest.approx(fields["rate"])


def test_the_table_is_one_that_a_calibration_reads(tmp_path):
    data = load_mapping(EXAMPLES / "minio-erasure-set.yaml")
    spec = spec_of(data, "it")
    metrics = of_minio(3)
    rows = target_rows([whole(part, 1) for part in metrics.parts(2)], whole(metrics), spec)
    path = tmp_path / "targets.csv"
    path.write_text(table_text(rows))
    found = published_rows([path], data, spec, "it")
    assert len(found) == len(rows)
    cpu = [row for row in found if "server_cpu_ms" in row.row.measured]
    assert len(cpu) == 2
    assert cpu[0].row.op == "all"
    assert cpu[0].noise[0, 0] > 0.03**2
    assert cpu[0].spec.workload.object_size.size == pytest.approx(65536, rel=0.02)
    quantile = next(row for row in found if "server_first_byte_p50_ms" in row.row.measured)
    place = list(quantile.row.evaluated).index("server_first_byte_p50_ms")
    # Bins of 50 to 100 ms or 100 to 250 ms.
    assert quantile.noise[place, place] > (0.19**2 if quantile.row.measured["server_first_byte_p50_ms"] < 100 else 0.06)


def test_a_quantile_in_the_first_or_the_last_bin_is_no_target():
    buckets = [
        counter("minio_s3_requests_ttfb_seconds_distribution", rate, api="getobject", le=edge)
        for edge, rate in (("0.050", 95.0), ("0.100", 98.0), ("+Inf", 100.0))
    ]
    series = [counter("minio_s3_requests_total", 100, api="getobject"), *buckets]
    found = measured(Metrics.of(series), MINIO, HostChoice(), 1)
    assert target_rows([found], found, load_spec(EXAMPLES / "minio.yaml")) == []


def test_a_mean_time_that_only_slow_parts_have_is_that_of_the_window():
    spec = load_spec(EXAMPLES / "minio-erasure-set.yaml")
    metrics = of_minio(3)
    all_of_it = whole(metrics)
    parts = [whole(part, 1) for part in metrics.parts(2)]

    def with_put(found: Measured, mean: Estimate | None) -> Measured:
        return replace(found, ops={**found.ops, "PUT": replace(found.ops["PUT"], latency_s=mean)})

    def means(parts: list[Measured], whole: Measured) -> list[tuple[str, str]]:
        rows = target_rows(parts, whole, spec)
        return [(row["table"], row["server_mean_ms"]) for row in rows if row["op"] == "PUT" and "server_mean_ms" in row]

    sure = [with_put(part, Estimate(0.002, 0.0002)) for part in parts]
    total = with_put(all_of_it, Estimate(0.0015, 0.0003))
    assert means(sure, total) == [("metrics 1", "2"), ("metrics 2", "2")]
    some = [with_put(parts[0], None), with_put(parts[1], Estimate(0.006, 0.001))]
    assert means(some, total) == [("metrics", "1.5")]
    few = [with_put(part, Estimate(0.006, 0.006)) for part in parts]
    assert means(few, total) == [("metrics", "1.5")]
    assert means(few, with_put(all_of_it, Estimate(0.006, 0.006))) == []


def test_a_forecast_of_its_own_metrics_agrees():
    """A simulation that is measured as metrics would is forecast as such."""
    spec = load_spec(EXAMPLES / "minio.yaml")
    series = [
        counter("minio_s3_requests_total", 70, api="getobject"),
        counter("minio_s3_requests_total", 30, api="putobject"),
        counter("minio_s3_traffic_sent_bytes", 70 * 32768),
        counter("minio_s3_traffic_received_bytes", 30 * 32768),
        counter("minio_node_process_cpu_total_seconds", 0.2),
    ]
    found = measured(Metrics.of(series), MINIO, HostChoice(), 1)
    rows = {(row.what, row.measure): row for row in compared(spec, found)}
    rate = rows["GET", "rate"]
    assert rate.forecast == pytest.approx(70, rel=0.05)
    cores = rows["store's processes", "busy cores"]
    assert cores.measured == pytest.approx(0.2)
    assert cores.forecast is not None
    assert 0.05 < cores.forecast < 0.3
    assert json.dumps([row.measured for row in rows.values()])


@pytest.mark.parametrize(
    ("series", "why"),
    [
        ([counter("minio_s3_requests_total", 0, api="getobject")], "no counter of the store's requests that grew"),
        ([counter("node_cpu_seconds_total", 1, cpu="0")], "no counter of the store's requests that grew"),
        ([counter("minio_s3_requests_total", 1, api="putbucketacl")], "they have putbucketacl"),
    ],
)
def test_metrics_without_requests_are_refused(series, why):
    with pytest.raises(InputError, match=why):
        measured(Metrics.of(series), MINIO, HostChoice(), 1)


def test_columns_in_the_order_of_rows():
    text = table_text([{"a": "1"}, {"a": "2", "b": "3"}])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ["1", ""], ["2", "3"]]
