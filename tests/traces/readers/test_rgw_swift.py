"""What holds for all logs of Ceph's RADOS gateway and of Swift's proxy."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log_rows import of, read
from tests.paths import SAMPLES
from tests.profiles import examples
from tests.traces.readers.test_rgw_beast_log import ACCESS
from tests.traces.readers.test_rgw_ops_log import entry
from tests.traces.readers.test_swift_proxy_log import SWIFT
from traces.readers.formats import detect
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.readers.stores import rgw_beast_log, rgw_ops_log, swift_proxy_log

READERS = {
    "rgw-ops-log.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-socket.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-show.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-search.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-e2e.json.zst": rgw_ops_log.FORMAT,
    "rgw-beast.log": rgw_beast_log.FORMAT,
    "rgw-beast-nautilus.log": rgw_beast_log.FORMAT,
    "rgw-civetweb.log": rgw_beast_log.FORMAT,
    "swift-proxy.log": swift_proxy_log.FORMAT,
}


@pytest.mark.parametrize("name", READERS)
def test_each_sample_is_recognised_as_what_it_is(name):
    assert detect(Source(SAMPLES / name), FORMATS) is READERS[name]


@pytest.mark.parametrize("name", READERS)
def test_samples_are_read_without_loss_and_without_credentials(name):
    rows, report = read(READERS[name], SAMPLES / name, strict=True)
    assert report.unreadable.total() == 0 and rows
    assert not re.search("NOTA|Signature|temp_url_sig", json.dumps(rows))


LINES = {
    rgw_ops_log.FORMAT.name: entry() + "\n",
    rgw_beast_log.FORMAT.name: ACCESS,
    swift_proxy_log.FORMAT.name: SWIFT,
}


@examples(60)
@given(data=st.data(), format=st.sampled_from([rgw_ops_log.FORMAT, rgw_beast_log.FORMAT, swift_proxy_log.FORMAT]))
def test_every_row_of_a_damaged_log_is_accounted_for(tmp_path_factory, data, format):
    text = bytearray(LINES[format.name].encode() * 6)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 40))
        text[at : at + gone] = data.draw(st.binary(max_size=6) | st.sampled_from([b'"', b"}", b"{", b"\n", b" ", b"["]))
    rows, report = of(tmp_path_factory.mktemp("log"), format, bytes(text))
    assert report.rows >= len(rows) and report.rows >= 1
