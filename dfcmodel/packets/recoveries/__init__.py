"""Loss recoveries of the packet level, one to a module, written as a user writes one."""

from __future__ import annotations

from dfcmodel.packets.recoveries.base import (
    LossRecovery,
    grow_window,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
    send_new,
    set_alarm,
)
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
    "grow_window",
    "limited_transmit",
    "recovery_named",
    "reduce_window",
    "restart_timer",
    "retransmit",
    "send_new",
    "set_alarm",
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


def recovery_named(given: str | LossRecovery) -> LossRecovery:
    """Return a loss recovery from its name, or as it is."""
    return RECOVERIES[given] if isinstance(given, str) else given
