"""Wheels and source archives record the commit that they are built from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.compiled import build as kernel
from tests.paths import ROOT
from tests.traces.test_provenance import commit_all
from traces.installed_names import PACKAGE, PARTS, as_in_checkout
from traces.installed_names import installed as installed_source
from traces.provenance import RECORD, hash_of_sources

BUILT = *PARTS, PACKAGE, "examples"
# What is built without the kernel needs no compiler, and the build's own folder is the first on the path.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"TAILCAST_NO_KERNEL": "1"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the project's packages and what builds them, with one commit."""
    pytest.importorskip("setuptools", minversion="77.0.3")
    root = tmp_path_factory.mktemp("build") / "checkout"
    skipped = shutil.ignore_patterns("__pycache__", "_kernel.*", "_build.json", "*.parquet")
    for name in BUILT:
        shutil.copytree(ROOT / name, root / name, ignore=skipped)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "NOTICE", ".gitignore"):
        shutil.copy(ROOT / name, root)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    commit_all(root)
    return root


def build(root: Path, kind: str, out: Path) -> Path:
    """Build an archive as pip does, by the hooks of the build backend in the folder of the sources."""
    out.mkdir(parents=True, exist_ok=True)
    code = f"import setuptools.build_meta as build; print(build.build_{kind}({str(out)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return out / done.stdout.splitlines()[-1]


def version_of(folder: Path, prefix: str = "") -> str:
    """The answer to --version of the packages in a folder, whose release is unknown unless they are installed."""
    code = f"from {prefix}traces.provenance import code_version; print(code_version())"
    return run(code, folder).strip().partition(" ")[2]


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout


def unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(checkout, "wheel", tmp_path_factory.mktemp("wheel"))


def test_wheel(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, text=True).stdout.strip()
    installed = unpacked(wheel, tmp_path / "installed")
    assert sorted(path.name for path in installed.iterdir() if path.suffix != ".dist-info") == [PACKAGE]
    recorded = json.loads((installed / PACKAGE / RECORD).read_text())
    assert (recorded["commit"], recorded["dirty"]) == (commit, False)
    assert recorded["sources"] == hash_of_sources(installed / PACKAGE) == hash_of_sources(checkout)
    assert version_of(installed, "tailcast.") == f"({commit[:12]})"
    assert not (checkout / RECORD).exists()
    (installed / PACKAGE / "sim" / "simulate.py").write_text("changed = True\n")
    assert version_of(installed, "tailcast.") == f"({commit[:12]}, dirty)"


def test_wheel_has_the_modules_of_the_checkout_but_for_imports(checkout: Path, wheel: Path, tmp_path: Path) -> None:
    installed = unpacked(wheel, tmp_path / "installed") / PACKAGE
    for part in PARTS:
        files = {p.relative_to(checkout) for p in (checkout / part).rglob("*.py")}
        assert files == {p.relative_to(installed) for p in (installed / part).rglob("*.py")}
        for file in files:
            assert as_in_checkout((installed / file).read_bytes()) == (checkout / file).read_bytes()
    endings = {".yaml", ".csv", ".css", ".js", ".html"}
    folders = (checkout / name for name in (*PARTS, "examples"))
    data = {p.relative_to(checkout) for folder in folders for p in folder.rglob("*") if p.suffix in endings}
    assert data and all((installed / file).is_file() for file in data)


def test_wheel_next_to_folders_of_the_user(wheel: Path, tmp_path: Path) -> None:
    installed = unpacked(wheel, tmp_path / "installed")
    for part in PARTS:
        (tmp_path / "user" / part).mkdir(parents=True)
        (tmp_path / "user" / part / "__init__.py").write_text("raise ImportError('not the package of this folder')\n")
    spec = installed / PACKAGE / "examples" / "minio.yaml"
    code = f"""
import sys
sys.path[:0] = [{str(tmp_path / "user")!r}, {str(installed)!r}]
sys.argv[1:] = ["whatif", {str(spec)!r}, "--vary", "workload.clients=1,2", "--workers", "2", "--json"]
if __name__ == "__main__":
    from tailcast.__main__ import main
    try:
        main()
    except SystemExit as end:
        assert not end.code
    assert not {set(PARTS)!r} & {{name.split(".")[0] for name in sys.modules}}
"""
    (tmp_path / "script.py").write_text(code)
    command = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(command, cwd=tmp_path / "user", env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)


def test_wheel_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed = unpacked(wheel, tmp_path / "installed")
    assert (installed / PACKAGE / "py.typed").is_file()
    (licences,) = installed.glob("*.dist-info/licenses")
    assert "Plotly Technologies Inc." in (licences / "cli/pages/plotly-basic.LICENSE").read_text()
    (tmp_path / "empty").mkdir()
    code = f"""
import sys
sys.path.insert(0, {str(installed)!r})
import tailcast
assert not [name for name in sys.modules if name.startswith("tailcast.")], "the commands do not need the API"
spec = tailcast.load_spec(tailcast.EXAMPLES / "minio.yaml", set={{"workload.operations": 300}})
forecast = tailcast.simulate(spec, slos=["GET.p99<50ms"])
print(forecast.value.objectives[0].status, forecast.to_polars().height, forecast.write_page("page.html"))
assert not {set(PARTS)!r} & {{name.split(".")[0] for name in sys.modules}}
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "empty", env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.stdout.split() == ["met", "2", "page.html"], done.stderr[-2000:]
    assert 1_000_000 < (tmp_path / "empty/page.html").stat().st_size < 1_500_000


@pytest.mark.parametrize("name", kernel.TARGETS)
def test_another_platform_has_its_own_ending_and_tag(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILCAST_TARGET", name)
    assert kernel.uses_zig() and kernel.portable_platform() == kernel.TARGETS[name].wheel
    assert kernel.ending() == (".dylib" if name.startswith("macos") else ".so")
    assert kernel.TARGETS[name].wheel.endswith(name.partition("-")[2])
    assert kernel.GLIBC.replace(".", "_") in kernel.TARGETS["linux-aarch64"].wheel


def test_an_unknown_platform_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILCAST_TARGET", "beos")
    with pytest.raises(SystemExit, match="TAILCAST_TARGET=beos: there is no such platform; use one of linux-x86_64"):
        kernel.target()


@given(st.sampled_from(PARTS), st.sampled_from(["", "    "]), st.sampled_from(["a", "(\n    a,\n    b,\n)"]))
def test_installed_names_are_undone_by_names_of_the_checkout(part: str, indent: str, names: str) -> None:
    source = f"if True:\n{indent or ' '}from {part}.module import {names}\nfrom {part}s import a\n"
    text = installed_source(source)
    assert f"from tailcast.{part}.module import" in text and f"from {part}s import a" in text
    assert as_in_checkout(text.encode()) == source.encode() and installed_source(text) == text


def test_import_without_from_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 2: `import sim\.engine`"):
        installed_source("import os\nimport sim.engine\n")


def test_source_archive_and_its_wheel(checkout: Path, tmp_path: Path) -> None:
    archive = build(checkout, "sdist", tmp_path / "dist")
    shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
    (sources,) = (tmp_path / "unpacked").iterdir()
    version = version_of(checkout)
    assert version_of(sources) == version
    assert (
        version_of(unpacked(build(sources, "wheel", tmp_path / "dist"), tmp_path / "installed"), "tailcast.") == version
    )


def test_wheel_of_changed_sources(checkout: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(checkout, changed)
    with (changed / "cli" / "__init__.py").open("a") as file:
        file.write("\nCHANGED = True\n")
    installed = unpacked(build(changed, "wheel", tmp_path / "dist"), tmp_path / "installed")
    assert version_of(installed, "tailcast.").endswith(", dirty)")
