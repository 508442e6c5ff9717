"""What a successful answer of S3 must have, whatever library receives it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

LIST_PAGE = 1000
"""The number of keys that a LIST requests: one page, the maximum of S3."""


class WrongAnswerError(Exception):
    """An answer whose status says success, but which is not that to the request."""


def check_size(size_bytes: int | None, sizes: Collection[int]) -> None:
    """Check the size of an object in its metadata; without `sizes`, any is right.

    Raises:
        WrongAnswerError: it is none of `sizes`.
    """
    if sizes and size_bytes not in sizes:
        allowed = " or ".join(f"{size:,}" for size in sorted(sizes))
        said = "none" if size_bytes is None else f"{size_bytes:,}"
        raise WrongAnswerError(f"wrong length: {said} in the metadata instead of {allowed} bytes")


def check_list(is_list: bool, keys: Sequence[str], prefix: str) -> None:
    """Check the answer to a LIST.

    Args:
        is_list: whether the document is a list of objects.

    Raises:
        WrongAnswerError: it is none, has more than a page, or a key without the prefix.
    """
    if not is_list:
        raise WrongAnswerError("wrong body: it is no list of objects")
    if len(keys) > LIST_PAGE:
        raise WrongAnswerError(f"wrong body: a list of more than {LIST_PAGE:,} keys")
    if not all(key.startswith(prefix) for key in keys):
        raise WrongAnswerError("wrong body: a list with keys that lack the prefix")
