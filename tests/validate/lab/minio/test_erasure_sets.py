from __future__ import annotations

import pytest

from traces.errors import InputError
from validate.lab.minio.erasure_sets import chosen_set_size, set_size_of
from validate.lab.store import Form


@pytest.mark.parametrize(
    ("form", "size", "given"),
    [
        (Form(1), 1, None),
        (Form(4), 4, None),
        (Form(12), 12, None),
        (Form(1, 4), 4, None),
        (Form(2, 4), 8, None),
        (Form(4, 4), 16, None),
        (Form(4, 3), 12, None),
        (Form(4, 3, 6), 6, 6),  # two sets of six on three hosts
        (Form(8, 8), 16, None),
        (Form(8, 32), 16, None),
        (Form(6, 5), 15, None),
        (Form(4, 5), 10, None),
        (Form(7, 4), 4, 14),  # 14 divides 28, but not evenly over four hosts
    ],
)
def test_the_size_of_erasure_sets(form, size, given):
    assert set_size_of(form) == size
    assert chosen_set_size(form) == (size if given is not None else None)


@pytest.mark.parametrize("form", [Form(17), Form(1, 17), Form(4, 3, 5), Form(4, 3, 4), Form(1, 1, 2)])
def test_impossible_sets_are_refused_with_what_is_allowed(form):
    with pytest.raises(InputError, match=r"allowed are|possible are|use fewer hosts"):
        set_size_of(form)
