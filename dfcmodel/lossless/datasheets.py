"""Datasheets of ports beyond rate, cable, frames and cell: option objects of `headroom` and `credits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.quantities import (
    FIBRE,
    LARGEST_FRAME,
    OVERHEAD,
    SMALLEST_FRAME,
    both_ends,
    check_duration,
    range_ends,
    velocity,
)
from hopflow.parameters import Options, param, validate_parameters
from hopflow.units import WholeWithUnit, WithUnit, declares

if TYPE_CHECKING:
    from dfcmodel.lossless.quantities import Given, Range
    from hopflow.units import Dimension

__all__ = ["HEADROOM_UNITS", "CreditDatasheet", "Datasheet", "PauseDatasheet"]


DELAYS = ("pipeline", "interface", "gearbox")
"""Delays of `Datasheet`, which the functions convert at the rate of the link; None: 0."""
DATASHEET_UNITS: dict[str, Dimension] = dict.fromkeys(DELAYS, "time")
"""Dimensions of the fields of `Datasheet` that are kept as written."""
MAX_OVERHEAD = 1000
"""Maximum overhead of a frame on the line in bytes."""
HEADROOM_UNITS: dict[str, Dimension] = {"mtu": "size", "lossless_mtu": "size", "cell": "size", "small_packets": "share"}
"""Dimensions of the sizes and shares that `headroom` takes."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Datasheet(Options):
    """Delays of a port and its signal velocity; headrooms take pairs as ranges."""

    interface: Range | None = None
    gearbox: Range | None = None
    pipeline: Range | None = None
    velocity: float | tuple[float, float] = FIBRE

    @property
    def delays(self) -> dict[str, Any]:
        """Delays by name, as written: s, strings with units, or pairs of these; 0 where the sheet states none."""
        return {name: 0.0 if getattr(self, name) is None else getattr(self, name) for name in DELAYS}


@declares(**DATASHEET_UNITS, update="time")
@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class CreditDatasheet(Datasheet):
    """Datasheet of a port that returns credits, for `credits`.

    Delays are kept as written and converted at the rate of the link; a value that no rate allows is refused here.

    Parameters
    ----------
    interface, gearbox, pipeline
        Delays as in `PauseDatasheet`; ``pipeline`` is the time from the freed cell to the message, and from the message
        to its use.
    velocity
        Signal velocity, m/s.
    smallest
        Bytes of the smallest frame, 64 for Ethernet. Fibre Channel's frames have 36: delimiters, header and CRC.
    message
        Bytes of the message that returns credits, preamble included.
    behind_frame
        Whether a message waits for the end of a frame that the receiver sends; otherwise it interrupts the frame.
    update
        Longest time between two messages.
    cut_through
        Whether the receiver forwards a frame before it is complete.
    overhead
        Overhead of each frame on the line in bytes, such as preamble and gap; 20 for Ethernet. A smaller overhead needs
        more credits, as more small frames fit into the loop.

    Examples
    --------
    >>> from dfcmodel.lossless import CreditDatasheet
    >>> CreditDatasheet(message=8, behind_frame=False)
    CreditDatasheet(message=8, behind_frame=False)
    """

    smallest: WholeWithUnit = param(SMALLEST_FRAME, "size", at_least=1, at_most=LARGEST_FRAME, hint="bytes")
    message: WholeWithUnit = param(72, "size", at_least=1, at_most=LARGEST_FRAME, hint="bytes")
    behind_frame: bool = param(True)
    update: Given = 0.0
    cut_through: bool = param(False)
    overhead: WholeWithUnit = param(OVERHEAD // 8, "size", at_least=0, at_most=MAX_OVERHEAD, hint="bytes")

    def __post_init__(self) -> None:
        for name, delay in {**self.delays, "update": self.update}.items():
            check_duration(name, delay)
        velocity("velocity", self.velocity)  # type: ignore[arg-type]


@declares(**DATASHEET_UNITS, response="time")
@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class PauseDatasheet(Datasheet):
    """Datasheet of a port that pauses its peer, and of the peer, for `headroom` and `Fabric.headroom`.

    Delays are kept as written and converted at the rate of the link; a value that no rate allows is refused here.

    Parameters
    ----------
    interface
        Delay of the MAC and PHY of the receiver's port, both directions together. Delays are seconds, or strings:
        ``1.2 us``, ``905 quanta``, ``820 B`` (the time of that many bytes at line rate). A pair (low, high) is a range.
    gearbox
        Delay of a retimer or gearbox, per direction.
    pipeline
        Time from the first cell above the threshold until the pause frame is ready to be sent.
    velocity
        Signal velocity, m/s.
    smallest
        Bytes of the smallest frame of the class.
    response
        Response time of the peer, from the end of the pause frame at its port until it starts no further frame; None:
        the maximum of IEEE 802.3 31B.3.7 for this rate, at 10 Gb/s that of 10GBASE-T (74 quanta, others have 60).
    response_measured
        Whether a response time below the standard's maximum is guaranteed for this peer.
    exceeded
        Above 0: ``small_packets`` is the share of the traffic that is small, of independent frames, and a window
        exceeds the headroom with this probability, at the worst phase and size of the small frames; 0: never.
    merged
        Whether one PFC frame carries the pauses of all classes (IEEE 802.1Q, clause 36).
    resume_queued
        Whether the class's own resume frame may still be waiting when the threshold is crossed again.

    Examples
    --------
    >>> from dfcmodel.lossless import PauseDatasheet
    >>> PauseDatasheet(pipeline="250ns", merged=True)
    PauseDatasheet(pipeline='250ns', merged=True)
    """

    smallest: WholeWithUnit = param(
        SMALLEST_FRAME, "size", at_least=SMALLEST_FRAME, at_most=LARGEST_FRAME, hint="bytes"
    )
    response: Range | None = None
    response_measured: bool = param(False)
    exceeded: WithUnit = param(0.0, "share", at_least=0.0, below=1.0)
    merged: bool = param(False)
    resume_queued: bool = param(False)

    def __post_init__(self) -> None:
        responses = {} if self.response is None else {"response": self.response}
        for name, bounds in {**self.delays, **responses}.items():
            for end in range_ends(name, bounds):
                check_duration(name, end)
        both_ends("velocity", self.velocity, velocity)
