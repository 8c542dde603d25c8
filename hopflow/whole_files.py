"""Files that are there whole or not at all, whoever else writes or reads them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file at, in the same folder, which takes the place of ``path`` afterwards.

    After an error what was written is removed, and ``path`` stays as it was. What was written is on the disk before it takes the
    name, so that a power failure leaves the old file or the new one.

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
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        yield scratch
        _synchronize(scratch, os.O_RDWR)
        scratch.replace(path)
        if os.name == "posix":  # elsewhere folders cannot be opened
            with contextlib.suppress(OSError):  # some file systems refuse it for folders
                _synchronize(path.parent, os.O_RDONLY)
    finally:
        scratch.unlink(missing_ok=True)


def _synchronize(path: Path, flags: int) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
