"""Cache folder of compiled kernels and results: entries are verified when read and replaced atomically.

An entry is one file, ``NAME.hopflow`` in the folder or in a folder below it. It holds a line with the version of the
format, the SHA-256 of all that follows, the name of the entry, a zero byte and the payload. An entry that is damaged,
has another name, belongs to another user or can be written by other users is absent: its owner computes it again.
No error of the file system reaches the caller: a full or read-only disk costs time only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Cache", "clear", "contents", "folder", "names", "read", "write"]

MAGIC = b"hopflow cache 1\n"
"""First line of an entry. Another version of the format has another number."""
DIGEST_SIZE = hashlib.sha256().digest_size
SUFFIX = ".hopflow"
NAME = re.compile(r"(?:\w[\w-]*/)?\w[\w.-]*", re.ASCII)
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
LOCATIONS = (
    ("HOPFLOW_CACHE_DIR", "."),
    ("NUMBA_CACHE_DIR", "hopflow"),
    ("XDG_CACHE_HOME", "hopflow"),
    ("HOME", ".cache/hopflow"),
)
"""Environment variables and the folder below the folder that each names, the first choice first."""
HOPFLOW_FILE = re.compile(
    rf"""
    \w[\w.-]*\{SUFFIX}                              # an entry
    | \.\w[\w.-]*\{SUFFIX}\.[a-z0-9_]{{8}}\.tmp       # its temporary file
    | \.?kernel_[0-9a-f]{{24}}([.-].*)?              # before format 1: kernels, their folders, Numba's index and code
    | \.?code_hashes(-[0-9a-f]{{20}})?\.pickle(\.\d+\.\d+)?
    """,
    re.ASCII | re.VERBOSE,
)
OLD_RESULTS = re.compile(r"\.?\w+-[0-9a-f]{20,32}\.pickle(\.\d+\.\d+)?", re.ASCII)
OLD_RESULT_FOLDERS = ("findings", "computed")
OLD_COPY = re.compile(r"scratch_[a-z0-9_]{8}")
OLD_TEMPORARY_FILE = re.compile(r"tmp[a-z0-9_]{8}\.tmp")


class Cache(NamedTuple):
    """Contents of the cache folder.

    Attributes
    ----------
    folder
        Its path; None if no folder is usable, so that nothing is stored on disk.
    entries
        Number of compiled kernels and stored results.
    size
        Total size of their files in bytes.
    """

    folder: Path | None
    entries: int
    size: int


class _Choice(NamedTuple):
    """Folder chosen for an environment, with its device, inode, mode and owner at that time."""

    folder: Path | None
    identity: tuple[int, int, int, int] | None


_choices: dict[tuple[str | None, ...], _Choice] = {}
_reported: set[Path] = set()


def folder() -> Path | None:
    """Return the cache folder, created if absent; None if no folder is usable.

    The first folder that is writable and private to the user: ``$HOPFLOW_CACHE_DIR``, ``$NUMBA_CACHE_DIR/hopflow``,
    ``$XDG_CACHE_HOME/hopflow``, ``~/.cache/hopflow`` or a folder for temporary files. A folder that belongs to another
    user or that others can write is not used, since they could place machine code in it. A line on stderr names it.
    """
    key = (*(os.environ.get(variable) for variable, _ in LOCATIONS), tempfile.gettempdir())
    choice = _choices.get(key)
    if choice is None or choice.identity != _identity(choice.folder):
        choice = _choices[key] = _choose()
    return choice.folder


def read(name: str) -> bytes | None:
    """Return the payload of an entry; None if it is absent, damaged, or not private to the user."""
    path = _path(name)
    if path is None:
        return None
    try:
        if path.parent != folder() and not _is_private(path.parent.lstat(), stat.S_ISDIR):
            return None
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:  # noqa: PTH123
            if not _is_private(os.fstat(file.fileno()), stat.S_ISREG):
                return None
            content = file.read()
    except OSError:
        return None
    start = len(MAGIC) + DIGEST_SIZE
    body = memoryview(content)[start:]
    prefix = _prefix(name)
    if content[:start] != MAGIC + hashlib.sha256(body).digest() or body[: len(prefix)] != prefix:
        return None
    return bytes(body[len(prefix) :])


def write(name: str, payload: bytes) -> bool:
    """Write an entry atomically; return False after an error of the file system.

    Other processes read the old entry or the new one. An entry that a power failure damaged is absent.
    """
    path = _path(name)
    if path is None:
        return False
    digest = hashlib.sha256(_prefix(name))
    digest.update(payload)
    try:
        if path.parent != folder():
            _make_private(path.parent)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines((MAGIC, digest.digest(), _prefix(name), payload))
            Path(scratch).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(scratch).unlink()
            raise
    except OSError:
        return False
    return True


def names(prefix: str = "") -> list[str]:
    """Return the sorted names of the entries that begin with a prefix, whether they can be read or not."""
    top = folder()
    if top is None:
        return []
    files = [*top.glob(f"*{SUFFIX}"), *top.glob(f"*/*{SUFFIX}")]
    listed = (file.relative_to(top).as_posix().removesuffix(SUFFIX) for file in files)
    return sorted(name for name in listed if name.startswith(prefix) and NAME.fullmatch(name))


def contents() -> Cache:
    """Return the path of the cache, the number of its entries and their size.

    Examples
    --------
    >>> contents().entries >= 0
    True
    """
    top = folder()
    paths = dict(_hopflow_paths(top)) if top else {}
    return Cache(top, sum(paths.values()), sum(map(_size, paths)))


def clear(prefix: str = "") -> Cache:
    """Remove the entries whose names begin with a prefix; return the former contents.

    Without a prefix, remove all files that hopflow wrote in the folder. This includes files of earlier versions and
    temporary files of killed processes. Other files stay.
    """
    before = contents()
    if before.folder is None:
        return before
    if prefix:
        paths = [before.folder / f"{name}{SUFFIX}" for name in names(prefix)]
    else:
        paths = [path for path, _ in _hopflow_paths(before.folder)]
    for path in paths:
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    for parent in {path.parent for path in paths} - {before.folder}:
        with contextlib.suppress(OSError):  # where there are other files
            parent.rmdir()
    return before


def _choose() -> _Choice:
    """Return the first usable folder, and report the folders before it that others could write."""
    refused: list[tuple[Path, str]] = []
    selected: Path | None = None
    for candidate in _candidates():
        try:
            candidate.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = candidate.resolve(strict=True)
            reason = _why_not_private(candidate, path)
        except (OSError, RuntimeError):  # RuntimeError: a cycle of links
            continue
        if reason:
            refused.append((candidate, reason))
        elif os.access(path, os.R_OK | os.W_OK | os.X_OK):
            selected = path
            break
    for candidate, reason in refused:
        if candidate not in _reported and sys.stderr is not None:
            _reported.add(candidate)
            consequence = f"{selected} is used instead" if selected else "nothing is kept on disk"
            sys.stderr.write(f"hopflow: the cache folder {candidate} {reason}: {consequence}\n")
    return _Choice(selected, _identity(selected))


def _candidates() -> Iterator[Path]:
    """Yield the paths that may be the cache folder, the first choice first."""
    for variable, below in LOCATIONS:
        if value := os.environ.get(variable):
            yield Path(value) / below
    yield Path(tempfile.gettempdir()) / f"hopflow-{_user() or 0}"


def _why_not_private(candidate: Path, path: Path) -> str:
    """Return the reason why a folder is not private to the user; empty if it is."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(path)
    if _user() is None:
        return ""
    link_owner = candidate.lstat().st_uid if candidate.is_symlink() else status.st_uid
    if status.st_uid != _user() or link_owner not in (_user(), 0):
        return "belongs to another user"
    if not _is_private(status, stat.S_ISDIR):
        return f"can be written by other users (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


def _is_private(status: os.stat_result, is_type: Callable[[int], bool]) -> bool:
    """Return whether a file has a type and only the user can write it."""
    if not is_type(status.st_mode):
        return False
    return _user() is None or (status.st_uid == _user() and not status.st_mode & WRITABLE_BY_OTHERS)


def _make_private(path: Path) -> None:
    """Create a folder that only the user can write, or restrict an existing one.

    Raises
    ------
    OSError
        If it is no folder or belongs to another user.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    if _is_private(path.lstat(), stat.S_ISDIR):
        return
    if path.is_symlink():
        raise NotADirectoryError(path)
    path.chmod(0o700)  # made by an earlier version under a umask that lets groups write
    if not _is_private(path.lstat(), stat.S_ISDIR):
        raise PermissionError(path)


def _identity(path: Path | None) -> tuple[int, int, int, int] | None:
    """Return the device, inode, mode and owner of a folder; None if it is absent."""
    if path is None:
        return None
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mode, status.st_uid


def _user() -> int | None:
    """Return the effective user ID of this process; None on Windows."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def _path(name: str) -> Path | None:
    """Return the file of an entry; None without a cache folder.

    Raises
    ------
    ValueError
        For a name with characters other than letters, digits and ``_.-``, or in nested folders.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"name = {name!r}: must be letters, digits, _, . and -, in at most one folder")
    top = folder()
    return None if top is None else top / f"{name}{SUFFIX}"


def _prefix(name: str) -> bytes:
    """Return the bytes between digest and payload: the name of the entry and a zero byte."""
    return name.encode() + b"\0"


def _hopflow_paths(top: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files and folders written by hopflow in the cache folder, and whether each is an entry."""
    for path in _children(top):
        if HOPFLOW_FILE.fullmatch(path.name):
            yield path, _is_entry(path)
        elif _is_left_behind(path):
            yield path, False
        elif path.is_dir() and not path.is_symlink():
            for inner in _children(path):
                old = path.name in OLD_RESULT_FOLDERS and OLD_RESULTS.fullmatch(inner.name)
                if old or HOPFLOW_FILE.fullmatch(inner.name):
                    yield inner, _is_entry(inner) and path.name != "__pycache__"


def _children(path: Path) -> list[Path]:
    """Return the sorted paths in a folder; an empty list if it cannot be read."""
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _is_entry(path: Path) -> bool:
    """Return whether a file written by hopflow is a kernel or a result, not a part of one or a temporary file."""
    return path.suffix in (SUFFIX, ".pickle", ".py") or (path.is_dir() and not path.suffix)


def _is_left_behind(path: Path) -> bool:
    """Return whether a path is a leftover of a killed process of an earlier version.

    The names are from `tempfile`, so that mode and contents must match too.
    """
    try:
        private = not path.is_symlink() and not path.stat().st_mode & 0o077
        if OLD_TEMPORARY_FILE.fullmatch(path.name):
            return private and path.is_file()
        copied = (file.suffix in (".py", "") for file in path.rglob("*"))
        return bool(OLD_COPY.fullmatch(path.name)) and private and path.is_dir() and all(copied)
    except OSError:
        return False


def _size(path: Path) -> int:
    """Return the size of a file, or of all files below a folder, in bytes."""
    files = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
    total = 0
    for file in files:
        with contextlib.suppress(OSError):
            status = file.lstat()
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total
