"""One link under credits, frame by frame, in bit times, for frames that need every credit.

A sender transmits frames back to back as long as it has credits for all cells of the next frame. The receiver forwards
them at line rate, and returns the credits of a frame when its last bit has left.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.lossless.quantities import OVERHEAD, PREAMBLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CreditScenario", "CreditWitness", "preamble_of"]


def preamble_of(overhead: int) -> int:
    """Return the bit times of overhead before a frame, at most Ethernet's preamble; ``overhead`` is bit times."""
    return min(PREAMBLE, overhead)


@dataclass(frozen=True, eq=False)
class CreditScenario:
    """Frames of a sender with its credits, and bit times of the receiver's forwarding and of returning credits.

    Parameters
    ----------
    sizes
        Bytes of the frames, sent back to back while there are credits.
    cell
        Bytes of a credit.
    credits
        Credits at time 0.
    forwarding
        Bit times from the start of a frame at the sender until the receiver can begin to send it, without the bits
        of the frame.
    stored
        Whether a frame is received completely before it is forwarded.
    returning
        Bit times from the end of a frame at the receiver's output until the sender can use its credits.
    overhead
        Overhead of each frame on the line in bit times, of which `preamble_of` precede the frame.

    Examples
    --------
    >>> from dfcmodel.lossless import credits
    >>> credits("100Gbps", "100m", 1500, credit=64).witness().fills.run()
    0
    """

    sizes: NDArray[np.int64]
    cell: int
    credits: int
    forwarding: int
    stored: bool
    returning: int
    overhead: int = OVERHEAD

    def run(self) -> int:
        """Return the number of frames delayed for lack of credits; ValueError if one needs more than there are.

        Raises
        ------
        ValueError
            For a frame that needs more credits than there are.
        """
        free, waits = self.credits, 0
        start = out = 0
        pending: deque[tuple[int, int]] = deque()
        for size in self.sizes.tolist():
            cells = -(-size // self.cell)
            ready = start
            while free < cells and pending:
                back, count = pending.popleft()
                start, free = max(start, back), free + count
            while pending and pending[0][0] <= start:
                free += pending.popleft()[1]
            if free < cells:
                raise ValueError(f"credits = {self.credits}: a frame of {size} B needs {cells}")
            waits += start > ready
            free -= cells
            out = max(out, start + self.forwarding + 8 * size * self.stored)
            pending.append((out + preamble_of(self.overhead) + 8 * size + self.returning, cells))
            start, out = start + 8 * size + self.overhead, out + 8 * size + self.overhead
        return waits


@dataclass(frozen=True)
class CreditWitness:
    """Two runs that prove a number of credits: with it no frame waits, with one fewer a frame waits.

    Parameters
    ----------
    fills, waits
        The same frames with exactly the credits, and with one fewer.

    Examples
    --------
    >>> from dfcmodel.lossless import credits
    >>> credits("400Gbps", "300m", credit=192, small_packets=1).witness().holds
    True
    """

    fills: CreditScenario
    waits: CreditScenario

    @property
    def holds(self) -> bool:
        """Whether the two runs prove the credits minimal: no frame waits in ``fills``, a frame waits in ``waits``."""
        return self.fills.run() == 0 and self.waits.run() > 0

    @classmethod
    def of(cls, scenario: CreditScenario) -> CreditWitness:
        """Return the witness of a scenario whose credits are the required number."""
        return cls(scenario, replace(scenario, credits=scenario.credits - 1))
