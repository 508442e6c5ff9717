"""Runs a bounded series of fio's jobs on a file in a folder of a drive, and removes it, also if it is interrupted.

Options are those of fio 3 (HOWTO). Accesses bypass the page cache (`direct=1`). A job ends after its time, or when it
has accessed as many bytes as the file has, so that it is known beforehand how much is written at most.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from traces.errors import InputError
from traces.interrupts import deferred_stops

Document: TypeAlias = "Mapping[str, Any]"
"""JSON of fio."""

_FREE_FRACTION = 0.5
_STOP_S = 10
_SPARE_S = 60


@dataclass(frozen=True)
class Job:
    """A job: its name, pattern (`rw` of fio), size of an access, accesses at a time, and further options."""

    name: str
    pattern: str
    block: str
    depth: int
    options: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return "write" in self.pattern


JOBS = (
    Job("read alone", "randread", "4k", 1),
    Job("reads, 4 at a time", "randread", "4k", 4),
    Job("reads, 32 at a time", "randread", "4k", 32),
    Job("large reads", "read", "1m", 8),
    Job("write alone", "randwrite", "4k", 1),
    Job("writes, 4 at a time", "randwrite", "4k", 4),
    Job("writes, 32 at a time", "randwrite", "4k", 32),
    Job("large writes", "write", "1m", 8),
    Job("durable write alone", "randwrite", "4k", 1, ("--fdatasync=1",)),
)
"""What is measured, in each round in this order."""


@dataclass(frozen=True)
class Extent:
    """How much is measured: bytes of the file, seconds of each job, and rounds of all jobs."""

    size_bytes: int
    job_s: float
    rounds: int

    @property
    def longest_s(self) -> float:
        """Greatest time that the jobs take, without laying out the file."""
        return self.job_s * len(JOBS) * self.rounds

    @property
    def most_written_bytes(self) -> int:
        """Greatest number of bytes that are written: the file itself, and as much again in each job that writes."""
        return self.size_bytes * (1 + self.rounds * sum(job.writes for job in JOBS))


def check_folder(folder: Path, extent: Extent) -> str:
    """Return fio's program, if jobs can be run in a folder.

    Raises:
        InputError: fio is missing, the folder is missing, or has too little room.
    """
    program = shutil.which("fio")
    if program is None:
        raise InputError("probe: needs fio, which is not installed; on Debian: apt-get install fio")
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one on the drive to measure")
    free = shutil.disk_usage(folder).free
    if extent.size_bytes > _FREE_FRACTION * free:
        raise InputError(
            f"{folder}: has {free / 1e9:.3g} GB free; a file of {extent.size_bytes / 1e9:.3g} GB is to take at most "
            "half of that"
        )
    return program


def run_jobs(
    program: str, folder: Path, extent: Extent, progress: Callable[[str, float], None] = lambda name, fraction: None
) -> Document:
    """Run all jobs in a new folder below `folder`, which is removed, and return their JSON as one document of fio.

    Args:
        program: fio's.
        folder: on the drive.
        extent: how much is measured.
        progress: called with the name of each job and the fraction done.

    Raises:
        InputError: the folder cannot be written, or fio fails.
    """
    documents = []
    with _new_folder(folder) as place:
        file = place / "data"
        progress("writing the file", 0.0)
        _fio(program, file, Job("lay out", "write", "1m", 8, ("--end_fsync=1",)), extent, 0.0)
        for number in range(extent.rounds):
            for k, job in enumerate(JOBS):
                progress(job.name, (number * len(JOBS) + k) / (extent.rounds * len(JOBS)))
                documents.append(_fio(program, file, job, extent, extent.job_s))
    return {**documents[0], "jobs": [each for document in documents for each in document["jobs"]]}


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    place = None
    try:
        try:
            with deferred_stops():
                place = Path(tempfile.mkdtemp(prefix=".tailcast-probe-", dir=folder))
        except OSError as error:
            raise InputError(f"{folder}: cannot be written: {error.strerror}") from error
        yield place
    finally:
        if place is not None:
            with deferred_stops():
                shutil.rmtree(place, ignore_errors=True)


def _fio(program: str, file: Path, job: Job, extent: Extent, seconds: float) -> Document:
    command = [
        program, f"--name={job.name}", f"--filename={file}", f"--rw={job.pattern}", f"--bs={job.block}",
        f"--iodepth={job.depth}", f"--size={extent.size_bytes}", f"--io_size={extent.size_bytes}", "--direct=1",
        "--ioengine=libaio", "--randrepeat=0", "--norandommap", "--output-format=json",
        *([f"--runtime={seconds:g}s"] if seconds else []), *job.options,
    ]  # fmt: skip
    text, said = _output(command, None if not seconds else seconds + _SPARE_S)
    try:
        document: Document = json.loads(text[text.index("{") :])
        error = document["jobs"][0]["error"]
    except (ValueError, LookupError) as failure:
        raise InputError(f"{file.parent.parent}: fio fails at '{job.name}': {_last(said or text)}") from failure
    if error:
        raise InputError(f"{file.parent.parent}: fio fails at '{job.name}': {_last(said or text)}")
    return document


def _output(command: list[str], timeout_s: float | None) -> tuple[str, str]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            return process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise InputError(f"fio does not end after {timeout_s:g} s: {command[1]}") from error
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it says nothing"
