"""Defaults of SDKs: those of the installed ones, explicit values go first, and where a value is from."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest

from docs.generators.sdks import sdk_page
from models.network.retry_policy import Policy
from models.sdk.defaults import SDKS
from models.shared.client_policy import ClientPolicies
from models.spec.origins import origins_of
from models.store import spec_of
from traces.errors import InputError


def client(**fields: Any) -> ClientPolicies:
    return ClientPolicies.model_validate(fields)


def spec(section: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a spec with a section `client`, and its mapping."""
    data = {
        "store": "minio",
        "workload": {"rate": 10, "duration": "1s", "object_size": "1MiB", "mix": {"GET": 1}},
        "client": section,
    }
    return spec_of(data, "spec"), data


def test_boto3s_defaults_are_those_of_the_installed_one():
    from botocore.config import Config
    from botocore.retries.quota import RetryQuota
    from botocore.retries.standard import DEFAULT_MAX_ATTEMPTS, ExponentialBackoff, RetryQuotaChecker

    sdk, retry = SDKS["boto3"], SDKS["boto3"].values["retry"]
    assert importlib.metadata.version("botocore").startswith(sdk.version)
    assert sdk.values["timeout"] == Config().read_timeout
    assert retry["retries"] == DEFAULT_MAX_ATTEMPTS - 1
    assert retry["backoff"] == ExponentialBackoff._DEFAULT_BACKOFF_CONFIG["non_throttling_base_scale"]
    assert retry["backoff_max"] == ExponentialBackoff._MAX_BACKOFF
    assert retry["budget"] == pytest.approx(RetryQuotaChecker._NO_RETRY_INCREMENT / RetryQuotaChecker._RETRY_COST)
    assert retry["budget_cap"] == RetryQuota.INITIAL_CAPACITY // RetryQuotaChecker._RETRY_COST


def test_obstores_pauses_have_the_mean_of_its_own():
    """A pause of 100 ms, then uniform from 100 ms to twice the one before: the mean is half of that more than half."""
    assert importlib.metadata.version("obstore").startswith(SDKS["obstore"].version)
    retry = SDKS["obstore"].values["retry"]
    own = [0.1]
    while len(own) < retry["retries"]:
        own.append((0.1 + 2 * own[-1]) / 2)
    here = [min(retry["backoff"] * 2**k, retry["backoff_max"]) / 2 for k in range(retry["retries"])]
    assert here[0] == pytest.approx(own[0])
    assert sum(here) == pytest.approx(sum(own), rel=0.02)


@pytest.mark.parametrize("name", SDKS)
def test_an_sdk_gives_timeout_and_retries(name):
    found, values = client(sdk=name), SDKS[name].values
    assert found.timeout == values["timeout"]
    assert {field: getattr(found.retry, field) for field in values["retry"]} == values["retry"]
    policy = found.policy("GET")
    assert (policy.retries, policy.backoff_s) == (found.retry.retries, found.retry.backoff)


def test_values_that_are_given_go_first():
    found = client(sdk="minio-go", timeout="2s", retry={"retries": 1})
    assert (found.timeout, found.retry.retries, found.retry.backoff_max) == (2.0, 1, 1.0)
    assert client(sdk="boto3", timeout=None).timeout is None


def test_without_an_sdk_nothing_is_retried():
    assert client().policy("GET") == Policy()
    assert client() == client(retry={}, timeout=None)


def test_the_origin_names_sdk_and_version():
    store, data = spec({"sdk": "aws-sdk-go-v2", "retry": {"retries": 4}})
    origins = {origin.path: origin for origin in origins_of(store, data, "spec.yaml")}
    assert (origins["client.sdk"].kind, origins["client.retry.retries"].kind) == ("given", "given")
    backoff = origins["client.retry.backoff"]
    assert (backoff.kind, backoff.value) == ("default", 2.0)
    assert backoff.source == "default of SDK aws-sdk-go-v2 1, without AWS_NEW_RETRIES_2026"
    assert origins["client.retry.growth"].source == ""


def test_an_sdk_that_is_not_known():
    with pytest.raises(InputError, match="boto3"):
        spec({"sdk": "botto"})


def test_the_page_has_each_sdk_as_it_is():
    values, sources = sdk_page().split("## Sources")
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in values.splitlines() if "| `" in line]
    shown = {row[0]: row[1:] for row in rows}
    assert shown.keys() == SDKS.keys()
    assert shown["boto3"][1:3] == ["2", "60 s"] and shown["aws-sdk-go-v2"][2] == "none"
    assert sources.count("\n| `") == len(SDKS) and "botocore" in sources
