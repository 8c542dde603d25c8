"""Buffers counted in bytes or in cells of a switch chip instead of packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hopflow.checks import one_number
from hopflow.units import PacketUnits, WithUnit, declares, quantities, quantity

__all__ = ["ByteBuffer", "buffer_of", "cell_bytes"]

LARGEST = 1e15
"""Bytes of the largest buffer: sums of integer bytes are exact in double precision."""
ROUNDING = 1e-12
"""Relative error of a size by conversion of its unit."""


@declares(size="size", cell="size")
@dataclass(frozen=True)
class ByteBuffer:
    """The buffer of a link in bytes, or in cells: ``Link(..., buffer=ByteBuffer("150 kB"))``.

    At packet level every packet and ACK takes its size, rounded up to complete cells. Thresholds of the link in packets
    (pauses, RED, marking) then count the queue in units of a data packet, so that an ACK counts as a fraction of a
    packet. The fluid has room for the data packets that fit.

    Parameters
    ----------
    size
        Bytes, or a string with a unit: ``"150 kB"``, ``"12 MB"`` (powers of 1000), ``"64 KiB"`` (of 1024), from 1 B to
        1 PB. A remainder of less than a cell is not used.
    cell
        Bytes of a cell, a whole number or a string with a unit; 1 counts bytes.

    Raises
    ------
    ValueError
        For sizes that are not whole numbers of bytes, and a size of less than one cell.

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
            value = getattr(self, name)
            size = quantity(name, value, "size") if isinstance(value, str) else value
            hint = "in bytes, or a string such as '150 kB'"
            size = one_number(name, size, at_least=1.0, at_most=LARGEST, hint=hint)
            if abs(size - round(size)) > ROUNDING * size:
                raise ValueError(f"{name} = {value!r}: must be a whole number of bytes")
            object.__setattr__(self, name, round(size))
        if self.room == 0:
            msg = f"must be at least a cell of {self.cell} B"
            raise ValueError(f"size = {self.size}: {msg}")

    @property
    def room(self) -> int:
        """Usable bytes: complete cells."""
        return int(self.size) // int(self.cell) * int(self.cell)

    @quantities(size="size")
    def taken(self, size: WithUnit) -> float:
        """Return the bytes of the complete cells that a packet of ``size`` bytes takes.

        >>> ByteBuffer(1000, cell=80).taken(81)
        160.0
        """
        return float(cell_bytes(size, int(self.cell)))

    @quantities(packet_size="size")
    def packets(self, packet_size: WithUnit) -> float:
        """Return the number of packets of ``packet_size`` bytes that fit, with a fractional part.

        >>> ByteBuffer(2000).packets(1000.0)
        2.0
        """
        return self.room / self.taken(packet_size)


def cell_bytes(size: Any, cell: Any) -> Any:
    """Return the bytes of the cells that a packet of ``size`` bytes takes in a buffer; of arrays, one that both fit.

    >>> cell_bytes(81, 80)
    160.0
    """
    taken = np.ceil(size / cell) * cell
    return taken if np.ndim(taken) else float(taken)


def buffer_of(name: str, text: str) -> float | ByteBuffer:
    """Return a buffer from a string: packets, ``"80pkt"``, or a `ByteBuffer`, ``"150 kB"``.

    >>> buffer_of("buffer", "80pkt"), buffer_of("buffer", "150 kB")
    (80.0, ByteBuffer(size=150000, cell=1))
    """
    amount = quantity(name, text, "amount")
    return ByteBuffer(text) if isinstance(amount, PacketUnits) else amount
