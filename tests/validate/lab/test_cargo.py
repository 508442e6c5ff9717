"""Programs that Cargo builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.errors import InputError
from validate.lab.programs.cargo import CargoProgram

PROGRAM = CargoProgram("Store", "some-store", "1.2.3", "TAILCAST_SOME_STORE", ("a", "b"), {"CARGO_X": "off"})
CARGO = """#!/bin/sh
echo "  Compiling $2 $CARGO_X" >&2
[ -e "$FAILS" ] && { echo "error: no such crate" >&2; exit 101; }
while [ "$1" != --root ]; do shift; done
/bin/mkdir -p "$2/bin" "$2/target"
echo '#!/bin/sh' > "$2/bin/some-store"
/bin/chmod +x "$2/bin/some-store"
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FAILS", str(tmp_path / "fails"))
    return folder


def test_it_is_refused_without_cargo(path):
    with pytest.raises(InputError, match="no Cargo to build it: install Rust, or set TAILCAST_SOME_STORE"):
        PROGRAM.install(lambda line: None)


def test_a_build_goes_to_a_folder_of_its_own(path, tmp_path):
    (path / "cargo").write_text(CARGO)
    (path / "cargo").chmod(0o700)
    lines: list[str] = []
    assert PROGRAM.find() is None
    program = PROGRAM.install(lines.append)
    assert lines == ["building some-store 1.2.3", "Compiling some-store off"]
    assert program == PROGRAM.find() == tmp_path / "cache" / "tailcast" / "some-store-1.2.3" / "bin" / "some-store"
    assert not (program.parents[1] / "target").exists()
    program.unlink()
    (tmp_path / "fails").touch()
    with pytest.raises(InputError, match=r"cargo install some-store 1\.2\.3 failed: error: no such crate"):
        PROGRAM.install(lines.append)
