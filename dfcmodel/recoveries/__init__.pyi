# The public names of the module by the modules that define them: read on first use, and by type checkers.
from ..packets.recoveries import (
    LinuxRecovery,
    NewRenoRecovery,
    PRRRecovery,
    RackRecovery,
    RenoRecovery,
    SackRecovery,
    TahoeRecovery,
)
from ..packets.recoveries.base import (
    LossRecovery,
    grow_window,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
    send_new,
    set_alarm,
)

__all__ = [
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
    "reduce_window",
    "restart_timer",
    "retransmit",
    "send_new",
    "set_alarm",
]
