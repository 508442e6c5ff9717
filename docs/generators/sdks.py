"""Page of the defaults of client SDKs, from the models."""

from __future__ import annotations

from docs.generators.markdown import code, table
from models.sdk.defaults import SDKS

PAGE = "reference/sdks.md"


def sdk_page() -> str:
    """Return the page: a row for each SDK, then their sources."""
    rows = []
    for name, sdk in SDKS.items():
        timeout_s = sdk.values["timeout"]
        timeout = "none" if timeout_s is None else f"{timeout_s:g} s"
        rows.append([code(name), sdk.version, str(sdk.values["retry"]["retries"]), timeout, sdk.connections])
    return "\n".join([
        "# Defaults of client SDKs\n",
        "What `client.sdk` stands for; [Client SDKs](../sdks.md) says how it is used.\n",
        table(["SDK", "version", "retries", "timeout", "connections to a host"], rows),
        "## Sources\n",
        table(
            ["SDK", "source, and what the values approximate"],
            [[code(name), f"{sdk.source}."] for name, sdk in SDKS.items()],
        ),
    ])  # fmt: skip
