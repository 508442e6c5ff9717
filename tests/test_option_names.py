"""Options have names in `cli` alone: below it, messages and docstrings name fields and parameters."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

BELOW_CLI = ("traces", "models", "sim", "validate")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OF_OTHER_PROGRAMS = {
    "models/minio/site/readers.py": {"--json"},  # mc admin info
    "models/site/hardware/arrays.py": {"--detail"},  # mdadm
    "models/site/hardware/dperf.py": {"--verbose"},
    "validate/lab/box/network.py": {"--net"},  # of nsenter
    "sim/engine/compiled/build.py": {
        "--output",
        "--requirements",
    },  # its own
    "traces/provenance.py": {
        *("--branch", "--error-unmatch", "--git-dir", "--no-ahead-behind", "--porcelain"),  # git
        *("--untracked-files", "--work-tree"),
    },
    "traces/benchmarks/command_line.py": {"--np", "--ntasks"},  # mpirun, srun
    "traces/readers/tools/elbencho.py": {"--opslog"},
    "traces/readers/stores/minio_trace.py": {"--json"},  # mc admin trace
    "validate/lab/box/packages.py": {"--no-install-recommends"},  # apt-get
    "validate/lab/box/drives.py": {"--exists", "--cflags", "--libs"},  # pkg-config
    "validate/lab/ceph/cluster.py": {
        *("--addv", "--clobber", "--create", "--fsid"),  # monmaptool
        *("--cluster-addr", "--keyring", "--mkfs", "--monmap", "--no-mon-config", "--osd-uuid", "--public-addr"),
        *("--access-key", "--display-name", "--secret-key", "--uid"),  # radosgw-admin
        "--ms_bind_port_min",
    },
    "validate/lab/ceph/placement.py": {"--bucket"},  # radosgw-admin
    "validate/lab/ceph/reshard.py": {"--bucket", "--num-shards"},  # radosgw-admin
    "validate/lab/ceph/configuration.py": {"--ms_bind_port_max", "--ms_bind_port_min"},  # ceph-osd
    "validate/lab/file_systems/juicefs.py": {
        *("--bucket", "--cache-dir", "--no-syslog", "--no-usage-report", "--storage"),
    },
    "validate/lab/programs/found.py": {"--version"},
    "validate/lab/programs/pypi.py": {
        *("--disable-pip-version-check", "--no-deps", "--no-input", "--only-binary", "--quiet", "--target"),  # pip
    },
    "validate/lab/file_systems/redis.py": {"--bind", "--dir", "--port", "--set-proc-title"},
    "validate/lab/file_systems/s3fs.py": {"--version"},
    "validate/lab/minio/admin_trace.py": {"--json"},  # mc admin trace
    "validate/probe/jobs.py": {
        *("--bs", "--direct", "--end_fsync", "--fdatasync", "--filename", "--io_size", "--iodepth", "--ioengine"),
        *("--name", "--norandommap", "--output-format", "--randrepeat", "--runtime", "--rw", "--size"),  # fio
    },
    "validate/lab/minio/program.py": {"--quiet", "--address"},  # minio server
    "validate/lab/garage/cluster.py": {"--config"},  # garage
    "validate/lab/programs/cargo.py": {
        "--features",
        "--locked",
        "--no-default-features",
        "--root",
        "--target-dir",
        "--version",
    },  # cargo
    "validate/lab/seaweedfs/cluster.py": {"--chdir"},  # env
    "validate/lab/versitygw/program.py": {"--health", "--port", "--quiet"},  # versitygw
}


def texts(path: Path) -> Iterator[str]:
    """All strings of a module, parts of formatted ones and docstrings too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_option_is_named_below_cli():
    found = {}
    for package in BELOW_CLI:
        for path in (ROOT / package).rglob("*.py"):
            named = {option for text in texts(path) for option in OPTION.findall(text)}
            if named:
                found[str(path.relative_to(ROOT))] = named
    assert found == OF_OTHER_PROGRAMS
