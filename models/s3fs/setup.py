"""The spec of a new s3fs: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.s3fs.readers import READERS
from models.s3fs.release import RELEASES
from models.site import common, drive_times
from models.site.below import BELOW_QUESTION, below
from models.site.kinds import COUNT, DRIVE, SIZE, choice
from models.site.known import Tree
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    BELOW_QUESTION,
    Question("release", "Release of s3fs", choice(*RELEASES), "1.97", "the newest"),
    Question("mounts", "Machines with a mount", COUNT),
    Question("mount-cores", "Cores of each of them", COUNT, 8, "a small server", 4, 32),
    Question("temporary", "Drive of the temporary files: a preset", DRIVE, "nvme", "a local flash drive"),
    Question("page-cache", "Memory of the mount's machine for them", SIZE, "4GiB", "a small server"),
    Question("directory", "Entries of a directory", COUNT, 200, "a small directory"),
    *common.WORKLOAD,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    return {
        "release": site["release"],
        "workload": common.workload(site),
        "mounts": {"count": site["mounts"], "cores": site["mount-cores"]},
        "temporary": {"preset": drive_times.drive(site, "temporary"), "page_cache": site["page-cache"]},
        **site.optional(
            tls="tls", multipart_size="multipart-size", max_thread_count="threads", max_dirty_data="max-dirty-data"
        ),
        **({"stat_cache": cache} if (cache := site.optional(entries="stat-entries", expire="stat-expire")) else {}),
        "directory_entries": site["directory"],
        "below": below(site, site["mounts"]),
    }


SETUP = Setup(_QUESTIONS, draft, READERS)
"""Questions and sections of an s3fs spec."""
