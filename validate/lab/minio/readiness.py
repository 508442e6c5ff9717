"""When a MinIO can be used: it says that it is healthy, and all of its drives take part."""

from __future__ import annotations

import contextlib
import secrets
import urllib.request

from botocore.exceptions import BotoCoreError, ClientError

from validate.lab.minio.erasure_sets import set_size_of
from validate.lab.store import Store
from validate.s3.account import Account

_HEALTH = "/minio/health/cluster"
"""Answers 200 when the store takes writes; ``live`` and ``ready`` only say that the process is up."""

_ANSWERS_WITHIN_S = 5.0
_BUCKET = "tailcast-lab"


def is_healthy(endpoint_url: str) -> bool:
    """Whether a node says that the cluster is healthy: that it takes writes, be it with a drive missing."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy of the environment
    try:
        with opener.open(f"{endpoint_url}{_HEALTH}", timeout=_ANSWERS_WITHIN_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def is_complete(store: Store) -> bool:
    """Whether an object that is written through any node gets to all drives of its erasure set.

    A cluster is healthy, by its own account, seconds before each node is connected to all drives. What is written
    until then is on fewer of them, and some of it is refused.
    """
    target, size = store.target, set_size_of(store.form)
    drives = [store.contents(host, drive) for host in range(store.form.hosts) for drive in range(store.form.drives)]
    account = Account(target)
    clients = {secrets.token_hex(8): account.client(url, 1, _ANSWERS_WITHIN_S) for url in target.node_urls}
    try:
        account.buckets.create_bucket(Bucket=_BUCKET)
        for key, client in clients.items():
            client.put_object(Bucket=_BUCKET, Key=key)
        written = sum((drive / _BUCKET / key).exists() for key in clients for drive in drives)
        return written == size * len(clients) and all((drive / _BUCKET).exists() for drive in drives)
    except (BotoCoreError, ClientError):
        return False
    finally:  # a bucket that was made without one of the drives would go on lacking it
        with contextlib.suppress(BotoCoreError, ClientError):
            for key in clients:
                account.buckets.delete_object(Bucket=_BUCKET, Key=key)
        with contextlib.suppress(BotoCoreError, ClientError):
            account.buckets.delete_bucket(Bucket=_BUCKET)
