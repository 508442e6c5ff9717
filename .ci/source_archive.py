"""Builds the source archive in a folder with the time of the commit, as setuptools writes the present time."""

from __future__ import annotations

import gzip
import os
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from setuptools import build_meta


def main() -> None:
    folder, time_s = Path(sys.argv[1]), int(os.environ["SOURCE_DATE_EPOCH"])
    path = folder / build_meta.build_sdist(str(folder))
    plain = BytesIO()
    with tarfile.open(path) as found, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as same:
        for member in sorted(found.getmembers(), key=lambda each: each.name):
            member.mtime, member.pax_headers = time_s, {}
            member.uid, member.gid, member.uname, member.gname = 0, 0, "", ""
            same.addfile(member, found.extractfile(member) if member.isfile() else None)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=time_s) as packed:
        packed.write(plain.getvalue())


if __name__ == "__main__":
    main()
