from __future__ import annotations

import pytest

from cli.parse.slo import parse_slo
from traces.errors import InputError


@pytest.mark.parametrize(
    ("text", "subject", "figure", "limit"),
    [
        ("GET.p99<50ms", "GET", "p99", 0.05),
        ("PUT.p99.9 <= 1.5s", "PUT", "p99_9", 1.5),
        (" LIST.mean<200us ", "LIST", "mean", 2e-4),
        ("GET.max<1s", "GET", "max", 1.0),
        ("GET.max<0", "GET", "max", 0.0),
        ("GET.errors<100%", "GET", "errors", 1.0),
        ("GET.throughput>500/s", "GET", "throughput_ops", 500),
        ("GET.throughput>=6000/min", "GET", "throughput_ops", 100),
        ("PUT.throughput>2GB/s", "PUT", "throughput_bytes", 2e9),
        ("GET.errors<0.1%", "GET", "errors", 0.001),
        ("GET.errors<0.001", "GET", "errors", 0.001),
        ("utilization<80%", None, "utilization", 0.8),
        ("rgw cpu.utilization<0.8", "rgw cpu", "utilization", 0.8),
    ],
)
def test_objectives_are_parsed(text, subject, figure, limit):
    slo = parse_slo(text)
    assert (slo.text, slo.subject, slo.figure) == (text, subject, figure)
    assert slo.limit == pytest.approx(limit)


@pytest.mark.parametrize("text", ["get.p99<50ms", "GET.P99<50ms", "Get.P99<50ms"])
def test_case_is_ignored(text):
    assert parse_slo(text) == parse_slo("GET.p99<50ms")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast", "is not an objective; write it like"),
        ("GET.p99=50ms", "is not an objective"),
        ("GET.p98<50ms", "'p98' is not a measure; did you mean p99?"),
        ("p99<50ms", "names no operation; allowed are GET"),
        ("GET.p999<50ms", "did you mean p99.9?"),
        ("GET.latency<50ms", "'latency' is not a measure; allowed are mean, p25"),
        ("gat.p99<50ms", "'gat' is not an operation; did you mean GET?"),
        ("MOVE.p99<50ms", "'MOVE' is not an operation; allowed are GET, PUT"),
        ("GET.p99<30", "needs a unit, as in 30ms"),
        ("GET.throughput>500", "needs a unit, as in 500/s"),
        ("GET.errors<1", "1 is 100 %, which every run meets; did you mean 1%?"),
        ("GET.errors<5", "500 %"),
        ("utilization<1", "did you mean 1%?"),
        ("GET.p99>50ms", "p99 takes <, not >"),
        ("GET.throughput<5/s", "throughput takes >, not <"),
        ("GET.p99<50kg", "unknown unit 'kg'"),
        ("GET.p99<fast", "'fast' is not a duration"),
        ("GET.throughput>5ms", "is not a throughput; write it like 500/s or 2GB/s"),
        ("GET.errors<nan", "is not a fraction"),
        ("GET.errors<120%", "at most 100 % is allowed"),
        ("utilization<much", "'much' is not a fraction"),
    ],
)
def test_invalid_objectives_are_refused(text, said):
    with pytest.raises(InputError, match="--slo") as error:
        parse_slo(text)
    assert said in str(error.value)
