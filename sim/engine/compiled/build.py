"""Builds the kernel: a shared library in C, next to this file, that ctypes loads.

setup.py calls it during installation, and `python -m sim.engine.compiled.build` rebuilds it. This module and its parent
packages import only the standard library, because nothing else is available in a build.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parent / "kernel"
LIBRARY = Path(__file__).with_name("_kernel" + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so"))

ZIG = "ziglang==0.17.1"  # a C compiler from PyPI (101 MB), used if there is no other
GLIBC = "2.28"  # the oldest version supported by Zig builds, the same as for NumPy's wheels


class Target(NamedTuple):
    """A platform for which Zig compiles on any other.

    Attributes:
        zig: its name for Zig, with the oldest version of its C library or system.
        ending: that of the library.
        wheel: its tag in the names of wheels.
    """

    zig: str
    ending: str
    wheel: str


TARGETS = {
    "linux-x86_64": Target(f"x86_64-linux-gnu.{GLIBC}", ".so", "manylinux_2_28_x86_64"),
    "linux-aarch64": Target(f"aarch64-linux-gnu.{GLIBC}", ".so", "manylinux_2_28_aarch64"),
    "macos-x86_64": Target("x86_64-macos.11.0", ".dylib", "macosx_11_0_x86_64"),
    "macos-arm64": Target("aarch64-macos.11.0", ".dylib", "macosx_11_0_arm64"),
}

# Without contraction to fused multiply-adds, results are bit-identical with every compiler. Warnings are errors in
# development builds only, because future compilers may have new warnings.
_FLAGS = ["-std=c11", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra"]
_RELEASE = ["-O3", "-g0"]
_DEBUG = ["-O1", "-g", "-fno-omit-frame-pointer", "-DKERNEL_DEBUG", "-Werror"]
VARIANTS = {
    "release": _RELEASE,
    "strict": [*_RELEASE, "-Werror"],
    "debug": _DEBUG,
    "sanitize": [*_DEBUG, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}


def sources_hash() -> str:
    """Return the SHA-256 of the kernel's sources, which is compiled into the library."""
    files = sorted(path for path in SOURCES.iterdir() if path.suffix in {".c", ".h"})
    return hashlib.sha256(b"".join(b"%s\0%s\0" % (path.name.encode(), path.read_bytes()) for path in files)).hexdigest()


def target() -> Target | None:
    """Return the platform for which to build, which TAILCAST_TARGET names; None: this one."""
    name = os.environ.get("TAILCAST_TARGET")
    if name and name not in TARGETS:
        sys.exit(f"TAILCAST_TARGET={name}: there is no such platform; use one of {', '.join(TARGETS)}")
    return TARGETS[name] if name else None


def uses_zig() -> bool:
    """Whether to compile with Zig: for another platform, with CC=zig, or if there is no C compiler."""
    return target() is not None or (os.environ.get("CC") or shutil.which("cc") or "zig") == "zig"


def portable_platform() -> str | None:
    """Return the platform tag of the wheel if the library also runs on other distributions."""
    other = target() or TARGETS.get(f"linux-{platform.machine()}")
    is_portable = target() is not None or (uses_zig() and platform.libc_ver()[0] == "glibc")
    return other.wheel if other and is_portable else None


def ending() -> str:
    """Return the ending of the library's name."""
    other = target()
    return other.ending if other else LIBRARY.suffix


def _compiler() -> list[str]:
    if not uses_zig():
        return shlex.split(os.environ.get("CC") or "cc")
    named = next((each.zig for each in TARGETS.values() if each.wheel == portable_platform()), None)
    options = ["-target", named] if named else []
    # The default is the processor of this machine.
    return [sys.executable, "-m", "ziglang", "cc", *options, "-mcpu=baseline"]


def build(library: Path = LIBRARY, variant: str = "release") -> None:
    """Build the library, or exit with a message that names the failed command."""
    library.parent.mkdir(parents=True, exist_ok=True)
    define = f'-DKERNEL_SOURCES="{sources_hash()}"'
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:  # the library is replaced atomically
        output = Path(scratch) / library.name
        files = [str(SOURCES / "kernel.c"), "-o", str(output), "-lm"]
        # Without a name, that of a library for macOS is the path of the scratch folder.
        named = ["-install_name", f"@rpath/{LIBRARY.stem}.dylib"] if ending() == ".dylib" else []
        command = [*_compiler(), *_FLAGS, *VARIANTS[variant], define, *named, *files]
        caches = {"ZIG_GLOBAL_CACHE_DIR": scratch, "ZIG_LOCAL_CACHE_DIR": scratch}
        try:
            subprocess.run(command, env=os.environ | caches, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = error.strerror if isinstance(error, OSError) else f"exit status {error.returncode}"
            sys.exit(
                f"The kernel does not compile ({reason}): {shlex.join(command)}\n"
                f"Set CC=zig to compile with {ZIG} from PyPI, or TAILCAST_NO_KERNEL=1 to install without the kernel "
                "(simulations are then slow)."
            )
        output.replace(library)


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the kernel.")
    parser.add_argument("variant", nargs="?", choices=VARIANTS, default="release")
    parser.add_argument("-o", "--output", type=Path, default=LIBRARY)
    parser.add_argument(
        "--requirements", action="store_true", help="print packages to install before the build, if any"
    )
    arguments = parser.parse_args()
    if arguments.requirements:
        print(*[ZIG] * uses_zig())
    else:
        build(arguments.output, arguments.variant)


if __name__ == "__main__":
    main()
