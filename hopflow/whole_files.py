"""Atomic file writes."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing", "synchronize"]

MAX_NAME_SUFFIX = 50
"""Characters at the end of a file's name that its scratch file keeps; names have at most 255 bytes."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a scratch path whose file atomically replaces ``path`` at the end.

    The scratch path has the same suffix. After an error the scratch file is removed and ``path`` is unchanged. The
    content is synchronized to disk before the rename, so that a full disk, a killed process or a power failure leaves
    either the old or the new file. A killed process can leave its scratch file, whose name begins with a dot. The
    target of a link is replaced. Permissions are preserved. Devices and pipes, such as ``/dev/stdout``, are written
    directly.

    Raises
    ------
    OSError
        If the file may not be written or the disk is full.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "found.txt")
    ...     with replacing(path) as scratch:
    ...         _ = scratch.write_text("all of it")
    ...     path.read_text(), len(list(Path(folder).iterdir()))
    ('all of it', 1)
    """
    if _is_device(path):
        yield path
        return
    target = Path(os.path.realpath(path))
    exists = target.exists()
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    name = f".{os.getpid()}.{threading.get_ident()}.{target.name[-MAX_NAME_SUFFIX:]}"
    scratch = target.with_name(name)
    try:
        yield scratch
        if exists:
            shutil.copymode(target, scratch)
        synchronize(scratch)
        scratch.replace(target)
        with contextlib.suppress(OSError):  # some file systems refuse it for folders
            synchronize(target.parent)
    except OSError as error:
        if error.filename in (None, str(scratch)):
            error.filename = str(path)
        raise
    finally:
        scratch.unlink(missing_ok=True)


def _is_device(path: Path) -> bool:
    """Return whether a path is a device, a pipe or an open file of a process."""
    if path.exists() and not path.is_file():
        return True
    folders = {str(path.absolute().parent), os.path.realpath(path.parent)}
    return any(folder == "/dev" or folder.startswith(("/dev/fd", "/proc")) for folder in folders)


def synchronize(path: Path) -> None:
    """Flush a file or a folder to disk."""
    if path.is_dir() and os.name != "posix":  # elsewhere folders cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
