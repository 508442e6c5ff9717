"""s3fs: a mount of a bucket of the lab's store, whose objects are the files."""

from __future__ import annotations

import subprocess
from pathlib import Path

from validate.lab.file_systems.file_system import MOUNT, FileSystem, FileSystemForm, SpawnServer
from validate.lab.mounts import is_mounted
from validate.lab.options import options_of
from validate.lab.programs.debian import Programs
from validate.lab.programs.found import program_named_by
from validate.lab.store import Progress

_PROGRAMS = Programs("s3fs", ("s3fs", "fuse3"), ("s3fs", "fusermount3"))


class S3fs:
    """s3fs-fuse: the program in `$TAILCAST_S3FS`, else that of Debian's package."""

    name = "s3fs"
    title = "s3fs"
    installation = "half a minute, from Debian's packages"
    servers: tuple[str, ...] = (MOUNT,)
    metas: tuple[str, ...] = ()
    has_gateway = False

    def find(self) -> Path | None:
        return program_named_by("TAILCAST_S3FS") or _PROGRAMS.find()

    def install(self, progress: Progress) -> Path:
        return _PROGRAMS.install(progress)

    def version(self, program: Path) -> str:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)
        return said.stdout.split("\n", 1)[0].strip()

    def ports(self, form: FileSystemForm) -> tuple[str, ...]:
        return ()

    def metadata_port(self, fs: FileSystem) -> int | None:
        return None

    def start(self, program: Path, fs: FileSystem, spawn: SpawnServer) -> None:
        for folder in (fs.mount_point, fs.folder / "temporary"):
            folder.mkdir(exist_ok=True)
        # The file of passwords has no place for access keys with a colon, as Swift's are.
        keys = dict(zip(("AWSACCESSKEYID", "AWSSECRETACCESSKEY"), fs.store_credentials, strict=True))
        own = [f"url={fs.data_url}", "use_path_request_style", f"tmpdir={fs.folder / 'temporary'}"]
        given = [name if value == "" else f"{name}={value}" for name, value in options_of(fs.options, MOUNT).items()]
        options = [part for option in (*own, *given) for part in ("-o", option)]
        spawn(MOUNT, [str(program), fs.bucket, str(fs.mount_point), "-f", *options], keys)

    def unready(self, fs: FileSystem) -> str | None:
        return None if is_mounted(fs.mount_point) else MOUNT
