"""The loss event of a run, and the record of a window that cannot be."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from .jit import call_on_array, compiled
from .rows import LARGEST, LEAST, ON_LOSS, RECORD, STATE

__all__ = ["lose", "report"]


@compiled
def report(wrong, event, now, rtt, cwnd):
    """Record a wrong window; the state before it is recorded already."""
    wrong[0] = event
    wrong[1] = 0.0
    wrong[2] = now
    wrong[3] = rtt
    wrong[4] = cwnd


@compiled
def lose(run, loss, now, rtt, wrong):
    """Apply the rule's ``on_loss`` to the state of one run; return False for a wrong window."""
    for n in range(len(wrong) - RECORD):
        wrong[RECORD + n] = run[STATE + n]
    call_on_array(loss, run, now, rtt, 0.0, 0.0)
    if LEAST <= run[STATE] <= LARGEST:
        return True
    report(wrong, ON_LOSS, now, rtt, run[STATE])
    return False
