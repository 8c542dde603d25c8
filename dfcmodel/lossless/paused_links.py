"""One pause-controlled link: its frames, its cells and its delays, in whole bit times."""

from __future__ import annotations

from dataclasses import dataclass

from hopflow.checks import one_number, whole

__all__ = ["GAP", "OVERHEAD", "PAUSE_FRAME", "PREAMBLE", "SMALLEST_FRAME", "PausedLink"]

PREAMBLE = 64
"""Bits of preamble and start frame delimiter (IEEE 802.3, 3.2)."""
GAP = 96
"""Bits of the interpacket gap (IEEE 802.3, 4.4.2)."""
OVERHEAD = PREAMBLE + GAP
SMALLEST_FRAME = 64
"""Bytes (IEEE 802.3, 4.4.2)."""
PAUSE_FRAME = 64
"""Bytes of a PAUSE or PFC frame (IEEE 802.3, Annex 31B; IEEE 802.1Q, clause 36)."""


@dataclass(frozen=True)
class PausedLink:
    """A sender, a receiver that pauses it, and the cable between them, at one rate both ways.

    Parameters
    ----------
    rate
        In b/s.
    mtu
        Bytes of the largest frame of any class that the receiver sends back.
    lossless_mtu
        Bytes of the largest frame of the class that is paused.
    cell
        Bytes of a buffer cell, 64 to ``lossless_mtu``; 1 counts bytes of frames.
    small_packets
        Share of the frames that need not have ``lossless_mtu``: 0 to 1.
    classes
        Classes that are paused apart, 1 to 8.
    cable
        Propagation one way, bit times, as all that follow.
    response
        From the end of the pause frame at the sender's port until it begins no frame any more.
    interface
        MAC and PHY of the receiver's port, sending and receiving together.
    gearbox
        A retimer or gearbox on the way, per direction.
    pipeline
        From the first bit of the cell above the threshold to a pause frame that is ready to go.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

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

    def __post_init__(self) -> None:
        whole("rate", self.rate, 10**6, 10**13, why="b/s")
        whole("mtu", self.mtu, SMALLEST_FRAME, 65535)
        whole("lossless_mtu", self.lossless_mtu, SMALLEST_FRAME, self.mtu, why="at most mtu")
        if self.cell != 1:
            why = (
                "no cell is smaller than the smallest frame or larger than the largest; None: bytes"
            )
            whole("cell", self.cell, SMALLEST_FRAME, self.lossless_mtu, why=why)
        one_number("small_packets", self.small_packets, at_least=0.0, at_most=1.0)
        whole("classes", self.classes, 1, 8)
        for name in ("cable", "response", "interface", "gearbox", "pipeline"):
            whole(name, getattr(self, name), 0, 10**13, why="bit times")

    @property
    def delays(self) -> dict[str, int]:
        """Bit times by cause, from the cell above the threshold to the last begin of a frame."""
        others = (self.classes - 1) * (8 * PAUSE_FRAME + OVERHEAD)
        return {
            "frame leaving the receiver": 8 * self.mtu + OVERHEAD,
            "pause frames of other classes": others,
            "pause frame": PREAMBLE + 8 * PAUSE_FRAME,
            "pipeline": self.pipeline,
            "interface": self.interface,
            "gearbox": 2 * self.gearbox,
            "cable": 2 * self.cable,
            "response": self.response,
        }

    @property
    def window(self) -> int:
        """Bit times in which the sender may begin frames after the first bit of the crossing cell."""
        return sum(self.delays.values())

    def cells_of(self, size: int) -> int:
        """Return the cells of a frame of ``size`` bytes."""
        return -(-size // self.cell)
