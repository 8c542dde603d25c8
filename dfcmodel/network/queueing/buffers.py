"""Buffers counted in bytes or in cells of a switch chip, in place of packets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hopflow.checks import one_number
from hopflow.units import PacketUnits, WithUnit, declares, quantities, quantity

__all__ = ["ByteBuffer", "buffer_of", "whole_cells"]

LARGEST = 1e15
"""Bytes of the largest buffer: sums of whole bytes are exact in double precision."""
ROUNDING = 1e-12
"""Part of a size by which the conversion of its unit may be off."""


@declares(size="size", cell="size")
@dataclass(frozen=True)
class ByteBuffer:
    """The buffer of a link in bytes, or in cells: ``Link(..., buffer=ByteBuffer("150 kB"))``.

    At packet level every packet and ACK takes its own bytes, rounded up to whole cells. Thresholds of the link in
    packets (pauses, RED, marking) then count what waits in units of a data packet, so that an ACK is the part of a
    packet that its bytes are. The fluid has as many data packets of room as fit.

    Parameters
    ----------
    size
        Bytes, or a string with a unit: ``"150 kB"``, ``"12 MB"`` (powers of 1000), ``"64 KiB"`` (of 1024), from 1 B to 1 PB. What is less than
        a cell is not used.
    cell
        Bytes of a cell, a whole number or a string with a unit; 1 counts bytes.

    Raises
    ------
    ValueError
        For sizes that are not whole numbers of bytes, and less than one cell.

    Examples
    --------
    >>> ByteBuffer("150 kB").packets(1500.0)
    100.0
    >>> cells = ByteBuffer("150 kB", cell=80)
    >>> cells.room, cells.taken(1500.0), cells.taken(40.0)
    (150000, 1520.0, 80.0)
    """

    size: float | str
    cell: float | str = 1

    def __post_init__(self) -> None:
        for name in ("size", "cell"):
            given = getattr(self, name)
            found = quantity(name, given, "size") if isinstance(given, str) else given
            hint = "in bytes, or a string such as '150 kB'"
            found = one_number(name, found, at_least=1.0, at_most=LARGEST, hint=hint)
            if abs(found - round(found)) > ROUNDING * found:
                raise ValueError(f"{name} = {given!r}: must be a whole number of bytes")
            object.__setattr__(self, name, round(found))
        if self.room == 0:
            msg = f"must be at least a cell of {self.cell} B"
            raise ValueError(f"size = {self.size}: {msg}")

    @property
    def room(self) -> int:
        """Bytes that can be used: whole cells."""
        return int(self.size) // int(self.cell) * int(self.cell)

    @quantities(size="size")
    def taken(self, size: WithUnit) -> float:
        """Return the bytes that a packet of ``size`` bytes takes: whole cells.

        >>> ByteBuffer(1000, cell=80).taken(81)
        160.0
        """
        return whole_cells(size, int(self.cell))

    @quantities(packet_size="size")
    def packets(self, packet_size: WithUnit) -> float:
        """Return how many packets of ``packet_size`` bytes fit, in parts of a packet.

        >>> ByteBuffer(2000).packets(1000.0)
        2.0
        """
        return self.room / self.taken(packet_size)


def whole_cells(size: float, cell: int) -> float:
    """Return the bytes of the cells that a packet of ``size`` bytes takes in a buffer.

    >>> whole_cells(81, 80)
    160.0
    """
    return float(math.ceil(size / cell) * cell)


def buffer_of(name: str, text: str) -> float | ByteBuffer:
    """Return a buffer from a string: packets, ``"80pkt"``, or a `ByteBuffer`, ``"150 kB"``.

    >>> buffer_of("buffer", "80pkt"), buffer_of("buffer", "150 kB")
    (80.0, ByteBuffer(size=150000, cell=1))
    """
    amount = quantity(name, text, "amount")
    return ByteBuffer(text) if isinstance(amount, PacketUnits) else amount
