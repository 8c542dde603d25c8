"""One pause-controlled link: its frames, its cells and its delays, in whole bit times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dfcmodel.lossless.quantities import LARGEST_FRAME, MAX_RATE, OVERHEAD, PREAMBLE, SMALLEST_FRAME
from hopflow.checks import flag, format_value, integer, one_number, unwrap_scalar

__all__ = ["PAUSE_FRAME", "PausedLink"]

PAUSE_FRAME = 64
"""Bytes of a PAUSE or PFC frame (IEEE 802.3, Annex 31B; IEEE 802.1Q, clause 36)."""


@dataclass(frozen=True)
class PausedLink:
    """A sender, a receiver that pauses it, and the cable: one rate, b/s, both ways, in bytes and bit times.

    Parameters
    ----------
    rate
        Line rate in b/s.
    mtu
        Bytes of the largest frame of any class that the receiver transmits to the sender.
    lossless_mtu
        Bytes of the largest frame of the paused class.
    cell
        Bytes of a buffer cell, 64 to ``lossless_mtu``; 1 counts bytes of frames.
    small_packets
        Fraction of the frames of each window that may be smaller than ``lossless_mtu``: 0 to 1.
    classes
        Number of classes paused separately, 1 to 8.
    cable
        One-way propagation delay; this and the following delays are in bit times.
    response
        Time from the end of the pause frame at the sender's port until it starts no further frame.
    interface
        Delay of the MAC and PHY of the receiver's port, both directions together.
    gearbox
        Delay of a retimer or gearbox on the cable, per direction.
    pipeline
        Time from the first bit of the first cell above the threshold until the pause frame is ready
        to be sent.
    smallest
        Bytes of the smallest frame of the paused class, 64 to ``lossless_mtu``.
    merged
        Whether one PFC frame carries the pauses of all classes (IEEE 802.1Q, clause 36), so that no pause
        waits for other classes.
    resume_queued
        Whether the class's own resume frame may still be waiting when the threshold is crossed again.
    exceeded
        Above 0: ``small_packets`` is a share of the traffic instead, of independent frames, and the headroom is
        exceeded by a window with this probability.

    Raises
    ------
    ValueError
        For a number of bytes or bit times outside its range, and where frames are larger than ``mtu``.

    Examples
    --------
    >>> from dfcmodel import PausedLink
    >>> link = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    >>> link.cells_of(1500), link.window
    (8, 111768)
    """

    rate: int
    mtu: int
    lossless_mtu: int
    cell: int = 1
    small_packets: float = 0.0
    classes: int = 1
    cable: int = 0
    response: int = 0
    interface: int = 0
    gearbox: int = 0
    pipeline: int = 0
    smallest: int = SMALLEST_FRAME
    merged: bool = False
    resume_queued: bool = False
    exceeded: float = 0.0

    shortest_frame: ClassVar[int] = SMALLEST_FRAME
    """Lower limit of ``smallest``, of Ethernet."""

    def __post_init__(self) -> None:
        self._store_integer("rate", 10**6, MAX_RATE, "b/s")
        self._store_integer("mtu", SMALLEST_FRAME, LARGEST_FRAME)
        self._store_integer("lossless_mtu", SMALLEST_FRAME, self.mtu, "at most mtu")
        self._store_integer("smallest", self.shortest_frame, self.lossless_mtu, "at most lossless_mtu")
        one_number("exceeded", self.exceeded, at_least=0.0, below=1.0)
        if self.exceeded and not 0.0 < self.small_packets < 1.0:
            raise ValueError(
                f"exceeded = {format_value(self.exceeded)}: needs small_packets between 0 and 1, the share of the "
                f"traffic that is small; it is {format_value(self.small_packets)}"
            )
        flag("merged", self.merged)
        flag("resume_queued", self.resume_queued)
        self._check_cell()
        one_number("small_packets", self.small_packets, at_least=0.0, at_most=1.0)
        self._store_integer("classes", 1, 8)
        for name in ("cable", "response", "interface", "gearbox", "pipeline"):
            self._store_integer(name, 0, 10**13, "bit times")

    def _check_cell(self) -> None:
        """Replace the cell by its value as an int; ValueError for one that no chip has."""
        cell = unwrap_scalar(self.cell)
        lowest = 1 if isinstance(cell, (int, float)) and cell == 1 else SMALLEST_FRAME
        why = "between the smallest and the largest frame; None: bytes"
        self._store_integer("cell", lowest, self.lossless_mtu, why)

    def _store_integer(self, name: str, low: int, high: int, why: str = "") -> None:
        """Replace field ``name`` by its value as an int; ValueError outside of ``low`` to ``high``."""
        object.__setattr__(self, name, integer(name, getattr(self, name), low, high, why=why))

    @property
    def overhead(self) -> int:
        """Bytes of preamble and gap per frame, which are on the line but not in the buffer."""
        return OVERHEAD // 8

    @property
    def delays(self) -> dict[str, int]:
        """Bit times from the first cell above the threshold to the last frame's start, by cause."""
        frame = 8 * PAUSE_FRAME + OVERHEAD
        return {
            "frame leaving the receiver": 8 * self.mtu + OVERHEAD,
            "pause frames of other classes": 0 if self.merged else (self.classes - 1) * frame,
            "own resume frame": frame * self.resume_queued,
            "pause frame": PREAMBLE + 8 * PAUSE_FRAME,
            "pipeline": self.pipeline,
            "interface": self.interface,
            "gearbox": 2 * self.gearbox,
            "cable": 2 * self.cable,
            "response": self.response,
        }

    @property
    def window(self) -> int:
        """Bit times from the first bit above the threshold in which the sender may start frames."""
        return sum(self.delays.values())

    @property
    def has_equal_frames(self) -> bool:
        """Whether all frames of the paused class have ``lossless_mtu`` bytes."""
        return self.small_packets == 0.0 or self.smallest == self.lossless_mtu

    def cells_of(self, size: int) -> int:
        """Return the number of cells of a frame of ``size`` bytes."""
        return -(-size // self.cell)
