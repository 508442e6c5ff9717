"""Convert a benchmark definition into a workload; the tool is detected from the content of the file."""

from __future__ import annotations

from pathlib import Path

from traces.benchmarks import cosbench, fio, gosbench, ior, mdtest, warp
from traces.benchmarks.converted import Converted
from traces.benchmarks.xml_tree import xml_root
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override, validated
from traces.spec.suggestions import no_such_file
from traces.workload.workload import Workload


def convert(path: Path, part: str | None = None, assignments: tuple[str, ...] = ()) -> Converted:
    """Convert a definition: XML of COSBench, YAML of warp or gosbench, a job file of fio, a command of mdtest or IOR.

    Args:
        path: the file.
        part: name of the test, workstage, job or phase (default: the first).
        assignments: overrides of the workload, such as ``workload.object_size=1MiB``.

    Raises:
        InputError: the file cannot be read or is no definition, a field is invalid, or the result is not a workload.
    """
    found = _converted(path, part)
    fields = override({"workload": found.fields}, assignments)["workload"]
    workload = validated(Workload, fields, str(path), at="workload")
    written = workload.model_dump(mode="json", exclude_unset=True)
    return Converted(found.tool, found.part, found.parts, written, found.notes)


def _converted(path: Path, part: str | None) -> Converted:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        root = xml_root(data.removeprefix(b"\xef\xbb\xbf").lstrip(), str(path))
        if root.tag != "workload":
            raise InputError(f"{path}: the root element is {root.tag!r}; that of a COSBench definition is 'workload'")
        return cosbench.convert(root, str(path), part)
    text = data.decode("utf-8", "replace")
    if fio.is_job_file(text):
        return fio.convert(text, str(path), part)
    if tests := ior.commands(text, str(path)):
        return ior.convert(tests, str(path), part)
    if command := mdtest.command(text, str(path)):
        return mdtest.convert(command, str(path), part)
    mapping = load_mapping(path)
    if "warp" in mapping:
        return warp.convert(mapping, str(path), part)
    if "tests" in mapping:
        return gosbench.convert(mapping, str(path), part)
    raise InputError(
        f"{path}: not a definition; allowed are XML of COSBench, YAML with 'warp' (warp) or 'tests' (gosbench), job "
        "files of fio, and commands of mdtest and IOR"
    )
