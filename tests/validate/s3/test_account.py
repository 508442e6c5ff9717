from __future__ import annotations

import pytest
from botocore.exceptions import EndpointConnectionError

from validate.s3.account import Account, Target


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, aws_environment: None, request: pytest.FixtureRequest) -> Account:
    """An account with a given access key."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", request.param)
    return Account(Target("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("account", "text", "clean"),
    [
        ("t", "Could not connect, as t said", "Could not connect, as *** said"),
        ("t", "it can't be Credential=t/2024", "it can't be Credential=***/2024"),
        ("LONGKEYID", "xLONGKEYIDx", "x***x"),
    ],
    indirect=["account"],
)
def test_a_short_key_hides_no_parts_of_words(account: Account, text: str, clean: str) -> None:
    assert account.clean(text) == clean


@pytest.mark.parametrize("account", ["LONGKEYID"], indirect=True)
def test_an_endpoint_that_cannot_be_reached_is_named_with_the_reason(account: Account) -> None:
    cause = OSError("<x>: Failed to establish a new connection: [Errno 111] Connection refused")
    said = account.explain(EndpointConnectionError(endpoint_url="http://127.0.0.1:1/b", error=cause))
    assert "127.0.0.1:1" in said and said.endswith("Connection refused")
    assert "127.0.0.1:1" in account.explain(EndpointConnectionError(endpoint_url="http://127.0.0.1:1/b"))
