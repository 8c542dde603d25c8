"""Iterates of a long solution on a grid, kept in a file to be taken up again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.whole_files import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.multigrid.grids.models import GridModel

__all__ = ["NO_CHECKPOINT", "Checkpoint", "NoCheckpoint", "checkpoint_of"]

MAGIC = "hopflow MatrixFree checkpoint 1"
SECONDS_BETWEEN_FILES = 120.0  # s between two files


class NoCheckpoint:
    """No file: a solution begins at nothing, and is kept nowhere.

    Attributes
    ----------
    cycles
        That have passed.
    """

    cycles = 0

    def load(self, x: NDArray[np.float64]) -> None:
        """Set x to what was kept, if anything was."""

    def on_cycle(self, cycles: int, x: NDArray[np.float64]) -> None:
        """Note that a cycle has passed; keep x if the last one kept is old."""

    def save(self, x: NDArray[np.float64]) -> None:
        """Keep x."""

    def delete(self) -> None:
        """Delete what was kept, if anything was."""


NO_CHECKPOINT = NoCheckpoint()


class Checkpoint(NoCheckpoint):
    """A file with x, and for which chain and after how many cycles it is.

    A new file is written beside the old one, and then takes its place: at every moment there is a whole
    one. A line of JSON comes first, then x as float64 in the byte order of the machine.

    Parameters
    ----------
    path
        Of the file, in a folder that exists.
    grid
        The chain.

    Raises
    ------
    ValueError
        Where there is no such folder, too little room on its disk, or a file that is not a checkpoint,
        not whole, or of another chain.
    """

    def __init__(self, path: str | os.PathLike[str], grid: GridModel) -> None:
        self.path, self.name = Path(path), grid.model.name
        self.size = grid.layout.into[0].size
        self.key = _key(grid)
        self.cycles = 0
        self._next = time.monotonic() + SECONDS_BETWEEN_FILES
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise self._error("there is no such folder")
        if self.path.exists():
            self.cycles = self._header()["cycles"]
        elif (free := shutil.disk_usage(folder).free) < 8 * self.size:
            raise self._error(f"{8 * self.size:.3g} bytes are needed, {free:.3g} are free")

    def load(self, x: NDArray[np.float64]) -> None:
        """Set x to what the file has, if there is one; ValueError where that is not probabilities."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.readline()
            file.readinto(x.view(np.uint8).data)
        if not (np.isfinite(x.sum()) and x.min() >= 0.0):
            raise self._error("its numbers are not probabilities")

    def on_cycle(self, cycles: int, x: NDArray[np.float64]) -> None:
        """Note that a cycle has passed; write a file if the last one is old."""
        self.cycles = cycles
        if time.monotonic() >= self._next:
            self.save(x)

    def save(self, x: NDArray[np.float64]) -> None:
        """Write the file."""
        header = {"magic": MAGIC, "chain": self.name, "key": self.key, "size": self.size}
        with replacing(self.path) as scratch, scratch.open("wb") as file:
            file.write(json.dumps({**header, "cycles": self.cycles}).encode() + b"\n")
            file.write(x.view(np.uint8).data)
        self._next = time.monotonic() + SECONDS_BETWEEN_FILES

    def delete(self) -> None:
        """Delete the file, if there is one."""
        self.path.unlink(missing_ok=True)

    def _header(self) -> dict[str, Any]:
        """Return what the file says of itself."""
        try:
            with self.path.open("rb") as file:
                line = file.readline(10_000)
            header: dict[str, Any] = json.loads(line)
            right = header["magic"] == MAGIC
        except (OSError, ValueError, KeyError, TypeError):
            right = False
        if not right:
            raise self._error("it is not a checkpoint")
        if header["key"] != self.key:
            message = f"it is of another chain ({header['chain']}, other parameters or rules)"
            raise self._error(f"{message}: delete it, or name another file")
        if self.path.stat().st_size != len(line) + 8 * self.size:
            raise self._error("it is not whole")
        return header

    def _error(self, why: str) -> ValueError:
        return ValueError(f"checkpoint = {str(self.path)!r}: {why}")


def checkpoint_of(path: str | os.PathLike[str] | None, grid: GridModel) -> NoCheckpoint:
    """Return the checkpoint of a chain at a path, or none."""
    return NO_CHECKPOINT if path is None else Checkpoint(path, grid)


def _key(grid: GridModel) -> str:
    """Return a hash of all that makes up a chain on a grid."""
    layout = grid.layout
    digest = hashlib.sha256(repr((layout.axes, layout.inner, layout.low)).encode())
    for side, rates in (layout.into, layout.out):
        digest.update(repr((side.shape, side.width)).encode())
        arrays: list[Any] = [side.begin, side.steps, side.others, side.rows, side.row_kind]
        arrays += [rates.rate, rates.exit_rate]
        if rates.counts is not None:
            arrays += [rates.counts.curves, *rates.counts.rates, *rates.counts.exits]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
    for array in (layout.combinations, layout.shift):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
