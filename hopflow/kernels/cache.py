"""The folder of compiled kernels: where it is, how much it holds, and how it is emptied."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hopflow.kernels.loading import folder

__all__ = ["Cache", "clear_cache", "kernel_cache"]


class Cache(NamedTuple):
    """What the folder of compiled kernels holds.

    Attributes
    ----------
    folder
        Where it is: the first that can be written to of ``$HOPFLOW_CACHE_DIR``,
        ``$NUMBA_CACHE_DIR/hopflow``, ``$XDG_CACHE_HOME/hopflow``, ``~/.cache/hopflow`` and a folder
        of the user's own among temporary files.
    kernels
        Number of kernels.
    size
        Bytes of all files.
    """

    folder: Path
    kernels: int
    size: int


def kernel_cache() -> Cache:
    """Return where compiled kernels are kept, how many there are, and their bytes.

    Examples
    --------
    >>> kernel_cache().kernels >= 0
    True
    """
    place = folder()
    files = [path for path in place.rglob("kernel_*") if path.is_file()]
    count = sum(path.suffix == ".py" for path in files)
    return Cache(place, count, sum(path.stat().st_size for path in files))


def clear_cache() -> Cache:
    """Remove all compiled kernels; return what there was. They are compiled again when needed."""
    before = kernel_cache()
    for path in before.folder.glob("kernel_*"):
        path.unlink(missing_ok=True)
    for path in (before.folder / "__pycache__").glob("kernel_*"):
        path.unlink(missing_ok=True)
    return before
