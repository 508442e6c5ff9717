from __future__ import annotations

from traces.spec.suggestions import close_names, did_you_mean, instead, no_such_file


def test_the_most_similar_name_comes_first_whatever_its_case() -> None:
    assert close_names("CLEINTS", ["rate", "clients", "client"])[0] == "clients"
    assert did_you_mean("cleints", ["rate", "clients"]) == "; did you mean clients?"


def test_nothing_is_suggested_for_a_name_like_no_other() -> None:
    assert did_you_mean("zzz", ["rate", "clients"]) == ""


def test_names_are_listed_only_if_none_is_similar():
    assert instead("cleints", ["rate", "clients"]) == "did you mean clients?"
    assert instead("zzz", ["rate", "clients"]) == "allowed are rate, clients"


def test_a_missing_file_names_one_with_a_similar_name(tmp_path):
    (tmp_path / "minio.yaml").touch()
    for name in ("minio.yml", "Minio.yaml", "mino.yaml"):
        assert no_such_file(tmp_path / name).endswith(f"{name}: no such file; did you mean {tmp_path / 'minio.yaml'}?")
    for path in (tmp_path / "ceph.yaml", tmp_path / "absent" / "minio.yaml"):
        assert no_such_file(path) == f"{path}: no such file"
