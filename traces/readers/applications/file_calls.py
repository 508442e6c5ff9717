"""What system calls do with files: which operation of a file system each one is.

Calls and their arguments are those of Linux (man-pages, section 2), as `strace_lines` reads them. Paths are followed
through current directories and open directories, offsets through reads, writes and lseek.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from traces.readers.applications.open_files import OpenFile, Process, Processes
from traces.readers.applications.strace_lines import Begun, Call, text_of

NO_FILE = "on a pipe, a socket, a device or a descriptor whose file is not known"
NOT_OF_FILES = "no operation on a file"
OF_DESCRIPTORS = "of descriptors and offsets alone"
DIRECTORY_OPENED = "opens or closes a directory"
MAPPED = "a file mapped into memory, whose reads no call shows"
FURTHER_PAGE = "a further page of a directory"
EMPTY_COPY = "a copy that moves nothing"
SHARED = "closes one of several descriptors of an open file"
"""Why calls are left out."""

_DESCRIPTOR = re.compile(r"(-?\d+|AT_FDCWD)(?:<(.*)>)?")
_OFFSET = re.compile(r"\[(\d+)\]")
_MODE = re.compile(r"stx?_mode=S_IF([A-Z]+)")
_SIZE = re.compile(r"stx?_size=(\d+)")
_FLAGS = re.compile(r"flags=([A-Z_0-9|]+)")


class Request(NamedTuple):
    """An operation on a file: its name (empty: a mapping), the path, a second path, and what else is known of it."""

    op: str
    path: str
    target: str | None = None
    handle: int | None = None
    size_bytes: int | None = None
    start_bytes: int | None = None
    length_bytes: int | None = None
    moved_bytes: int = 0


Outcome = Request | str
"""An operation, or why there is none."""

_TO_PATH = {  # calls that name a path: place of the directory's descriptor (None: none), of the path, of its length
    "truncate": (None, 0, 1), "chmod": (None, 0, None), "chown": (None, 0, None), "lchown": (None, 0, None),
    "utime": (None, 0, None), "utimes": (None, 0, None), "fchmodat": (0, 1, None), "fchmodat2": (0, 1, None),
    "fchownat": (0, 1, None), "utimensat": (0, 1, None), "futimesat": (0, 1, None),
}  # fmt: skip
_STATS = {  # place of the directory's descriptor, of the path and of the result
    "stat": (None, 0), "lstat": (None, 0), "newfstatat": (0, 1), "fstatat64": (0, 1), "statx": (0, 1),
}  # fmt: skip
_BIRTHS = ("clone", "clone3", "fork", "vfork")


class FileCalls:
    """The operations of the calls of an application, in their order."""

    def __init__(self) -> None:
        self.processes = Processes()
        self._handles = 0
        self._size: dict[str, int] = {}  # of files, as far as it is known; they exist
        self._of: Mapping[str, Callable[[Process, Call], Outcome]] = {
            "open": self._open, "openat": self._open, "openat2": self._open, "creat": self._open,
            **dict.fromkeys(("read", "pread64", "readv", "preadv", "preadv2"), self._read),
            **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), self._write),
            "sendfile": self._sendfile, "sendfile64": self._sendfile, "copy_file_range": self._copy,
            **dict.fromkeys(("fsync", "fdatasync", "sync_file_range"), self._fsync),
            "close": self._close, "lseek": self._lseek, "_llseek": self._lseek, "mmap": self._mmap,
            "dup": self._dup, "dup2": self._dup, "dup3": self._dup, "fcntl": self._fcntl,
            **dict.fromkeys(("rename", "renameat", "renameat2"), self._rename),
            **dict.fromkeys(("unlink", "unlinkat"), self._unlink),
            **dict.fromkeys(_STATS, self._stat), "fstat": self._fstat,
            **dict.fromkeys(("getdents", "getdents64"), self._getdents),
            **dict.fromkeys(("mkdir", "mkdirat"), self._mkdir),
            **dict.fromkeys(_TO_PATH, self._setattr),
            **dict.fromkeys(("ftruncate", "fchmod", "fchown"), self._setattr_of_open),
            "chdir": self._chdir, "fchdir": self._chdir, "getcwd": self._chdir,
        }  # fmt: skip

    def begun(self, call: Begun) -> None:
        """Take note of a call that has not returned yet."""
        if call.name in _BIRTHS:
            self.processes.bears(call.pid, "CLONE_FILES" in call.text)

    def outcome(self, call: Call) -> Outcome:
        """Return the operation that a call is, or why it is none."""
        process = self.processes.of(call.pid)
        if call.name in _BIRTHS:
            if call.result is not None and call.result > 0:
                self.processes.born(call.pid, call.result, any("CLONE_FILES" in text for text in call.arguments))
            else:
                self.processes.bore_none(call.pid)
        elif call.name == "execve" and call.result == 0:
            process.execute()
        elif call.name == "close_range" and call.result == 0:
            return self._close_range(process, call)
        known = self._of.get(call.name)
        if known is None:
            return f"{NOT_OF_FILES}: {call.name}"
        try:
            return known(process, call)
        except (IndexError, ValueError):
            return f"its arguments are not those of {call.name}"

    # Paths and descriptors

    def _descriptor(self, process: Process, argument: str) -> tuple[int | None, OpenFile | None]:
        """Return a descriptor, None for the current directory, and its open file, if it is known."""
        found = _DESCRIPTOR.fullmatch(argument)
        if found is None:
            raise ValueError(argument)
        decoded = found[2]
        if found[1] == "AT_FDCWD":
            process.directory = decoded or process.directory
            return None, None
        number = int(found[1])
        if number not in process.files and decoded and decoded.startswith("/"):  # strace -y
            process.put(number, self._opened(decoded))
        return number, process.files.get(number)

    def _opened(self, path: str | None) -> OpenFile:
        self._handles += 1
        return OpenFile(path, self._handles)

    def _path(self, process: Process, call: Call, at: int | None, place: int) -> str | None:
        """Return the path that a call names; None if it names none, but a descriptor's file."""
        descriptor = None if at is None else self._descriptor(process, call.arguments[at])[0]
        text = text_of(call.arguments[place])
        if text is None and call.arguments[place] != "NULL":
            raise ValueError(call.arguments[place])
        return process.path_of(text, descriptor) if text else None

    def _file(self, process: Process, call: Call, place: int = 0) -> OpenFile | None:
        """Return the open file of a descriptor among the arguments, if it is known to be of a path."""
        file = self._descriptor(process, call.arguments[place])[1]
        return file if file is not None and file.path is not None else None

    # Opening and closing

    def _open(self, process: Process, call: Call) -> Outcome:
        at = 0 if call.name.startswith("openat") else None
        place = 0 if at is None else 1
        path = self._path(process, call, at, place)
        if path is None:
            return f"its arguments are not those of {call.name}"
        flags = "O_CREAT|O_WRONLY|O_TRUNC" if call.name == "creat" else call.arguments[place + 1]
        given = set((_FLAGS.search(flags) or [flags, flags])[1].split("|"))
        creates = "O_CREAT" in given and (bool(given & {"O_EXCL", "O_TRUNC"}) or path not in self._size)
        op = "CREATE" if creates else "OPEN"
        if call.error is not None or call.result is None:
            return Request(op, path)
        file = self._opened(path)
        file.appends = "O_APPEND" in given
        process.put(call.result, file, "O_CLOEXEC" in given)
        if given & {"O_DIRECTORY", "O_PATH", "O_TMPFILE"}:
            file.handle = 0  # of no file
            return DIRECTORY_OPENED
        self._size[path] = 0 if creates or "O_TRUNC" in given else self._size.get(path, 0)
        return Request(op, path, handle=file.handle, size_bytes=0 if creates else None)

    def _close(self, process: Process, call: Call) -> Outcome:
        number, file = self._descriptor(process, call.arguments[0])
        if number is None or file is None:
            return NO_FILE
        if call.error is None:
            process.drop(number)
        if file.path is None:
            return NO_FILE
        if not file.handle:
            return DIRECTORY_OPENED
        return SHARED if file.descriptors else Request("CLOSE", file.path, handle=file.handle)

    def _close_range(self, process: Process, call: Call) -> Outcome:
        first, last = (int(text, 0) for text in call.arguments[:2])
        for number in [number for number in process.files if first <= number <= last]:
            process.drop(number)
        return OF_DESCRIPTORS

    def _dup(self, process: Process, call: Call) -> Outcome:
        file = self._descriptor(process, call.arguments[0])[1]
        if call.error is None and call.result is not None:
            if file is None:
                process.drop(call.result)
            else:
                process.put(call.result, file, "O_CLOEXEC" in call.arguments[-1])
        return OF_DESCRIPTORS

    def _fcntl(self, process: Process, call: Call) -> Outcome:
        number, file = self._descriptor(process, call.arguments[0])
        what = call.arguments[1]
        if call.error is None and file is not None and number is not None and call.result is not None:
            if what.startswith("F_DUPFD"):
                process.put(call.result, file, what.endswith("CLOEXEC"))
            elif what == "F_SETFD":
                process.put(number, file, "FD_CLOEXEC" in call.arguments[2])
            elif what == "F_SETFL":
                file.appends = "O_APPEND" in call.arguments[2]
        return OF_DESCRIPTORS

    def _chdir(self, process: Process, call: Call) -> Outcome:
        if call.error is None:
            if call.name == "fchdir":
                file = self._file(process, call)
                process.directory = file.path if file else None
            else:
                process.directory = self._path(process, call, None, 0) or process.directory
        return f"{NOT_OF_FILES}: {call.name}"

    # Reading and writing

    def _read(self, process: Process, call: Call) -> Outcome:
        return self._transfer(process, call, "READ")

    def _write(self, process: Process, call: Call) -> Outcome:
        return self._transfer(process, call, "WRITE")

    def _transfer(self, process: Process, call: Call, op: str) -> Outcome:
        file = self._file(process, call)
        if file is None or file.path is None or not file.handle:
            return NO_FILE
        positioned, vector = call.name.startswith("p"), "v" in call.name.removeprefix("p")
        start = int(call.arguments[3]) if positioned else file.offset_bytes
        known = self._size.get(file.path, 0)
        if op == "WRITE" and file.appends:
            start = known
        if call.error is not None or call.result is None:
            wanted = None if vector else int(call.arguments[2])
            return Request(op, file.path, None, file.handle, None, None if wanted is None else start, wanted)
        moved = call.result
        if not positioned:
            file.offset_bytes = start + moved
        if moved:
            self._size[file.path] = max(known, start + moved)
        return Request(op, file.path, None, file.handle, None, start, moved, moved)

    def _lseek(self, process: Process, call: Call) -> Outcome:
        file = self._file(process, call)
        if file is not None and call.error is None and call.result is not None:
            found = _OFFSET.search(call.arguments[2]) if call.name == "_llseek" else None
            file.offset_bytes = int(found[1]) if found else call.result
        return OF_DESCRIPTORS

    def _mmap(self, process: Process, call: Call) -> Outcome:
        file = self._file(process, call, 4) if len(call.arguments) > 4 and call.arguments[4][:2] != "-1" else None
        return f"{NOT_OF_FILES}: mmap" if file is None or file.path is None else Request("", file.path)

    def _sendfile(self, process: Process, call: Call) -> Outcome:
        """Return a COPY if both are files, else the READ of what goes elsewhere."""
        return self._moved(process, call, (1, 2), (0, None))

    def _copy(self, process: Process, call: Call) -> Outcome:
        return self._moved(process, call, (0, 1), (2, 3))

    def _moved(self, process: Process, call: Call, source: tuple[int, int], to: tuple[int, int | None]) -> Outcome:
        """Return what moves bytes from a descriptor to another, given the places of the descriptors and offsets."""
        read, written = self._file(process, call, source[0]), self._file(process, call, to[0])
        if read is None or read.path is None or not read.handle:
            return NO_FILE
        start = self._moves(read, call, source[1])
        op, target = ("READ", None) if written is None else ("COPY", written.path)
        moved = call.result or 0
        if written is not None and written.path is not None and call.error is None:
            at = self._moves(written, call, to[1])
            self._size[written.path] = max(self._size.get(written.path, 0), at + moved)
        if op == "COPY" and (call.error is not None or not moved):
            return EMPTY_COPY
        if call.error is not None:
            return Request(op, read.path, target, read.handle, None, start, 0)
        size = moved if op == "COPY" else None
        return Request(op, read.path, target, read.handle, size, start, moved, moved if op == "READ" else 0)

    def _moves(self, file: OpenFile, call: Call, place: int | None) -> int:
        """Return where a call reads or writes, and move the offset on if it goes by that."""
        found = None if place is None else _OFFSET.match(call.arguments[place])
        if found is not None:
            return int(found[1])
        start = file.offset_bytes
        file.offset_bytes += (call.result or 0) if call.error is None else 0
        return start

    def _fsync(self, process: Process, call: Call) -> Outcome:
        file = self._file(process, call)
        return NO_FILE if file is None or file.path is None else Request("FSYNC", file.path, handle=file.handle or None)

    # Names and attributes

    def _rename(self, process: Process, call: Call) -> Outcome:
        at = call.name != "rename"
        old = self._path(process, call, 0 if at else None, 1 if at else 0)
        new = self._path(process, call, 2 if at else None, 3 if at else 1)
        if old is None or new is None:
            return f"its arguments are not those of {call.name}"
        if call.error is None:
            self._size[new] = self._size.pop(old, 0)
            self.processes.renamed(old, new)
        return Request("RENAME", old, new)

    def _unlink(self, process: Process, call: Call) -> Outcome:
        at = call.name == "unlinkat"
        path = self._path(process, call, 0 if at else None, 1 if at else 0)
        if path is None or (at and "AT_REMOVEDIR" in call.arguments[2]):
            return f"{NOT_OF_FILES}: rmdir"
        if call.error is None:
            self._size.pop(path, None)
        return Request("UNLINK", path)

    def _mkdir(self, process: Process, call: Call) -> Outcome:
        at = call.name == "mkdirat"
        path = self._path(process, call, 0 if at else None, 1 if at else 0)
        return NO_FILE if path is None else Request("MKDIR", path)

    def _stat(self, process: Process, call: Call) -> Outcome:
        at, place = _STATS[call.name]
        path = self._path(process, call, at, place)
        if path is None:
            return self._fstat(process, call)
        return self._status(call, path)

    def _fstat(self, process: Process, call: Call) -> Outcome:
        file = self._file(process, call)
        return NO_FILE if file is None or file.path is None else self._status(call, file.path, file.handle or None)

    def _status(self, call: Call, path: str, handle: int | None = None) -> Outcome:
        if call.error is not None:
            return Request("STAT", path, handle=handle)
        shown = ",".join(call.arguments)
        mode, size = _MODE.search(shown), _SIZE.search(shown)
        if mode is not None and mode[1] not in ("REG", "DIR", "LNK"):
            return NO_FILE
        is_file = mode is None or mode[1] == "REG"
        if is_file and size is not None:
            self._size[path] = int(size[1])
        known = int(size[1]) if size is not None and is_file else None if is_file else 0
        return Request("STAT", path, handle=handle, size_bytes=known)

    def _setattr(self, process: Process, call: Call) -> Outcome:
        at, place, length = _TO_PATH[call.name]
        path = self._path(process, call, at, place)
        if path is None:
            return self._setattr_of_open(process, call)
        return self._changed(call, path, None, length)

    def _setattr_of_open(self, process: Process, call: Call) -> Outcome:
        file = self._file(process, call)
        if file is None or file.path is None:
            return NO_FILE
        return self._changed(call, file.path, file.handle or None, 1 if call.name == "ftruncate" else None)

    def _changed(self, call: Call, path: str, handle: int | None, length: int | None) -> Outcome:
        size = None if length is None else int(call.arguments[length])
        if size is not None and call.error is None:
            self._size[path] = size
        return Request("SETATTR", path, handle=handle, size_bytes=size)

    def _getdents(self, process: Process, call: Call) -> Outcome:
        file = self._file(process, call)
        if file is None or file.path is None:
            return NO_FILE
        if file.listed:
            return FURTHER_PAGE
        file.listed = True
        return Request("READDIR", file.path)
