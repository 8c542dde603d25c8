"""The cache of compiled kernels: location, size and removal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from hopflow.kernels.loading import folder

__all__ = ["Cache", "clear_cache", "kernel_cache"]


class Cache(NamedTuple):
    """Contents of the folder of compiled kernels.

    Attributes
    ----------
    folder
        Its location: the first writable one of ``$HOPFLOW_CACHE_DIR``, ``$NUMBA_CACHE_DIR/hopflow``,
        ``$XDG_CACHE_HOME/hopflow``, ``~/.cache/hopflow`` and a per-user folder for temporary files.
    kernels
        Number of kernels.
    size
        Total size of all files in bytes.
    """

    folder: Path
    kernels: int
    size: int


def kernel_cache() -> Cache:
    """Return location, number and total size of the compiled kernels.

    Examples
    --------
    >>> kernel_cache().kernels >= 0
    True
    """
    place = folder()
    kernels = [path for path in place.glob("kernel_*") if path.is_dir() or path.suffix == ".py"]
    packages = [path for path in kernels if path.is_dir()]
    files = [path for path in place.rglob("kernel_*") if path.is_file()]
    files += [path for package in packages for path in package.rglob("*") if path.is_file()]
    return Cache(place, len(kernels), sum(path.stat().st_size for path in files))


def clear_cache() -> Cache:
    """Remove all compiled kernels (recompiled when needed); return the former contents."""
    before = kernel_cache()
    for path in before.folder.glob("kernel_*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    for path in (before.folder / "__pycache__").glob("kernel_*"):
        path.unlink(missing_ok=True)
    return before
