"""What client SDKs do by default about late and failed responses, as values of the section `client` of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

OF_SDK = "default of SDK"
"""Begins the source of a value that is the default of an SDK."""

SdkName = Literal["boto3", "aws-sdk-java-v2", "aws-sdk-go-v2", "minio-go", "obstore"]


@dataclass(frozen=True)
class Sdk:
    """A client SDK.

    Attributes:
        version: release that has the defaults.
        source: documentation or source code that they are from, and what the values approximate.
        connections: greatest number of connections to a host, or of idle ones that are kept; with what others do.
        values: values of the section `client`.
    """

    version: str
    source: str
    connections: str
    values: Mapping[str, Any]


SDKS: Mapping[SdkName, Sdk] = {
    "boto3": Sdk(
        "1.44",
        "botocore 1.44.8, config.py (read_timeout, of a pause between bytes), retries/standard.py: 3 attempts, pauses "
        "from 0 to 50 ms x 2^k. Of a quota of 500 a retry takes 14, and a success without one returns 1; a retry "
        "that succeeds returns its 14, which is left out",
        "10 are kept (max_pool_connections); more are opened and closed",
        {
            "timeout": 60.0,
            "connections": None,
            "retry": {
                "retries": 2, "backoff": 0.05, "backoff_max": 20.0, "jitter": 1.0, "budget": 1 / 14, "budget_cap": 35
            },
        },
    ),
    "aws-sdk-java-v2": Sdk(
        "2.26",
        "LegacyRetryStrategy, the default (API reference): 3 retries, pauses from 0 to 100 ms x 2^k, at most 20 s; "
        "SdkHttpConfigurationOption: reads of a socket wait 30 s; a quota of 500, a retry takes 5 (assumed)",
        "at most 50 of a client (MaxConnections); further requests wait up to 10 s for one",
        {
            "timeout": 30.0,
            "connections": 50,
            "retry": {
                "retries": 3, "backoff": 0.1, "backoff_max": 20.0, "jitter": 1.0, "budget": 0.2, "budget_cap": 100
            },
        },
    ),
    "aws-sdk-go-v2": Sdk(
        "1, without AWS_NEW_RETRIES_2026",
        "aws/retry/standard.go and jitter_backoff.go: 3 attempts, pauses from 0 to 2^k s, at most 20 s, a quota of 500 "
        "of which a retry takes 5; aws/transport/http/client.go: no timeout of responses",
        "at most 2,048 (MaxConnsPerHost), of which 10 are kept idle",
        {
            "timeout": None,
            "connections": 2048,
            "retry": {
                "retries": 2, "backoff": 2.0, "backoff_max": 20.0, "jitter": 1.0, "budget": 0.2, "budget_cap": 100
            },
        },
    ),
    "minio-go": Sdk(
        "7",
        "retry.go: 10 attempts, pauses from 0 to 200 ms x 2^k, at most 1 s; transport.go: ResponseHeaderTimeout of one "
        "minute",
        "no limit; 16 are kept idle for a host",
        {"timeout": 60.0, "connections": None,
         "retry": {"retries": 9, "backoff": 0.2, "backoff_max": 1.0, "jitter": 1.0, "budget": None}},
    ),
    "obstore": Sdk(
        "0.12",
        "object_store 0.14, RetryConfig: 10 retries; ClientOptions: timeout of 30 s; BackoffConfig: a pause of 100 ms, "
        "then from 100 ms to twice the one before, so that the mean grows by 50 ms each; here pauses from 0 to 200 "
        "ms x 2^k, at most 0.75 s, with the same first mean and the same sum of means",
        "no limit",
        {"timeout": 30.0, "connections": None,
         "retry": {"retries": 10, "backoff": 0.2, "backoff_max": 0.75, "jitter": 1.0, "budget": None}},
    ),
}  # fmt: skip
"""The SDKs by name."""


def completed(data: Any) -> Any:
    """Return the fields of a section `client` with those that it does not give, which are the defaults of its SDK."""
    by_name: Mapping[Any, Sdk] = SDKS
    sdk = by_name.get(data.get("sdk")) if isinstance(data, Mapping) else None
    if sdk is None:
        return data
    found = {**sdk.values, **data}
    given = data.get("retry")
    if isinstance(given, Mapping):
        found["retry"] = {**sdk.values["retry"], **given}
    return found


def origin_of(name: SdkName) -> str:
    """Return what a value that an SDK gives is from."""
    return f"{OF_SDK} {name} {SDKS[name].version}"
