"""The whole scoreboard, and its sample: all reference cases and all recorded Runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from validate.reference.cases import CASES
from validate.scoreboard.lines import Line
from validate.scoreboard.published import BoardSettings, published_lines, sample_of
from validate.scoreboard.recorded import recorded_lines
from validate.scoreboard.recordings import RECORDINGS

REPLICATIONS = 3
"""Simulations of each row: enough to know the noise of a prediction over the rows of a case."""

SAMPLE: Mapping[str, tuple[int, ...]] = {
    "minio-s3bench": (2, 3, 10, 11, 26, 27),
    "minio-s3bench-tail": (0, 1, 2, 3),
    "minio-hdd-s3bench": (0, 1, 20, 21),
    "minio-nvme8": (0, 1),
    "minio-nvme32": (0, 1),
    "rustfs-3node": (0, 1, 2),
    "swift-criterion": (0, 1, 4, 8),
    "bob-one-host": (0, 3, 6, 9),
    "bob-minio-same-host": (0, 3, 6, 9),
    "ceph-nvme-quincy": (0, 20),
    "ceph-redhat-rgw": (0, 1),
    "ceph-nvme-squid": (3, 4, 14),
    "ceph-filestore-firefly": (0, 5, 9),
    "ceph-rbd-ec-squid": (0, 7),
    "ceph-rbd-reef-cpu": (0,),
    "ceph-rbd-fastec-tentacle": (0, 5),
    "ceph-3vm-tentacle": (0, 6, 12),
    "ceph-rocksdb-pacific": (0, 12),
    "demo": (1,),
    "recorded": (2, 9, 10),
    "recorded-box": (0, 3, 4),
    "recorded-ceph": (0,),
    "recorded-swift": (0, 2),
}
"""The rows of each case, and the Runs of each recording, from 0, that the sample predicts in about a minute."""


def scoreboard(
    settings: BoardSettings, sample: bool = False, progress: Callable[[float], None] = lambda done: None
) -> list[Line]:
    """Predict all reference cases and recorded Runs, or the sample, and return a line for each figure.

    Args:
        settings: of the board.
        sample: predict only the rows in `SAMPLE`, without statements.
        progress: called with the fraction done.

    Raises:
        InputError: the examples of the project are missing.
    """

    def advance(done: float) -> None:
        progress((finished + done) / (len(CASES) + len(RECORDINGS)))

    lines: list[Line] = []
    finished = 0
    for case in CASES:
        if not sample:
            lines += published_lines(case, settings, advance)
        elif case.name in SAMPLE:
            lines += published_lines(sample_of(case, SAMPLE[case.name]), settings, advance)
        finished += 1
    for recording in RECORDINGS:
        names = [run.name for run in recording.runs]
        if sample:
            names = [names[i] for i in SAMPLE.get(recording.name, ())]
        lines += recorded_lines(recording, settings, names, advance) if names else []
        finished += 1
    progress(1.0)
    return lines
