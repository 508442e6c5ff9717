"""Whether a server of a store takes requests."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from validate.lab.store import Node, Store
from validate.s3.account import Account

RESPONDS_WITHIN_S = 5.0
_BUCKET = "tailcast-lab"


def takes_requests(store: Store, node: Node) -> bool:
    """Return whether a bucket can be made and removed through a server; Swift makes the account with the first one."""
    client = Account(store.target).client(node.endpoint_url, 1, RESPONDS_WITHIN_S)
    try:
        client.create_bucket(Bucket=_BUCKET)
        client.delete_bucket(Bucket=_BUCKET)
    except (BotoCoreError, ClientError):
        return False
    return True
