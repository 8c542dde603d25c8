"""Datasheet of a port beyond rate, cable, frames and cell: keywords of `headroom` and `credits`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from dfcmodel.lossless.quantities import Given, Range
    from hopflow.units import Dimension

__all__ = [
    "DATASHEET_UNITS",
    "HEADROOM_UNITS",
    "CreditDatasheet",
    "Datasheet",
    "HeadroomOptions",
    "PauseDatasheet",
]


DATASHEET_UNITS: dict[str, Dimension] = {
    "interface": "time", "gearbox": "time", "pipeline": "time", "smallest": "size",
}  # fmt: skip
"""Dimensions of the keywords of `Datasheet`."""
HEADROOM_UNITS: dict[str, Dimension] = {
    **DATASHEET_UNITS, "response": "time", "mtu": "size", "lossless_mtu": "size", "cell": "size",
    "small_packets": "share", "exceeded": "share",
}  # fmt: skip
"""Dimensions of the parameters of `headroom`, without rate and cable."""


class Datasheet(TypedDict, total=False):
    """Delays of a port in times, and its smallest frame in bytes; headrooms take pairs as ranges."""

    interface: Range | None
    gearbox: Range | None
    pipeline: Range | None
    velocity: float | tuple[float, float]
    smallest: Given


class CreditDatasheet(Datasheet, total=False):
    """Datasheet of a port that returns credits."""

    message: Given
    behind_frame: bool
    update: Given
    cut_through: bool
    overhead: Given


class PauseDatasheet(Datasheet, total=False):
    """Datasheet of a port that pauses its peer, and of the peer."""

    response: Range | None
    response_measured: bool
    exceeded: float
    merged: bool
    resume_queued: bool


class HeadroomOptions(PauseDatasheet, total=False):
    """All parameters of `headroom` except rate and cable."""

    mtu: Given
    lossless_mtu: Given | None
    cell: Given | None
    small_packets: float | tuple[float, float]
    classes: int
