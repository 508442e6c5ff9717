from __future__ import annotations

from traces.suggestions import close_names, did_you_mean


def test_the_most_similar_name_comes_first_whatever_its_case() -> None:
    assert close_names("CLEINTS", ["rate", "clients", "client"])[0] == "clients"
    assert did_you_mean("cleints", ["rate", "clients"]) == "; did you mean clients?"


def test_nothing_is_suggested_for_a_name_like_no_other() -> None:
    assert did_you_mean("zzz", ["rate", "clients"]) == ""
