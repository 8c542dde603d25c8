"""Loss recoveries of the packet level, one per module, written with the same base class as user recoveries."""

from __future__ import annotations

from dfcmodel.packets.recoveries.base import LossRecovery
from dfcmodel.packets.recoveries.linux import LinuxRecovery
from dfcmodel.packets.recoveries.newreno import NewRenoRecovery
from dfcmodel.packets.recoveries.prr import PRRRecovery
from dfcmodel.packets.recoveries.rack import RackRecovery
from dfcmodel.packets.recoveries.reno import RenoRecovery
from dfcmodel.packets.recoveries.sack import SackRecovery
from dfcmodel.packets.recoveries.tahoe import TahoeRecovery

__all__ = [
    "RECOVERIES",
    "LinuxRecovery",
    "LossRecovery",
    "NewRenoRecovery",
    "PRRRecovery",
    "RackRecovery",
    "RenoRecovery",
    "SackRecovery",
    "TahoeRecovery",
]

RECOVERIES: dict[str, LossRecovery] = {
    "tahoe": TahoeRecovery(),
    "reno": RenoRecovery(),
    "newreno": NewRenoRecovery(),
    "sack": SackRecovery(),
    "prr": PRRRecovery(),
    "rack": RackRecovery(),
    "linux-6.12": LinuxRecovery(),
}
"""Loss recoveries by their names in `Packets`."""
