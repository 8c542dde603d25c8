"""The loss event of a run, and the record of a window that cannot be."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from hopflow.kernels.marks import call_on_array, compiled

from .rows import MAX_WINDOW, MIN_WINDOW, ON_LOSS, RECORD, STATE

__all__ = ["apply_loss", "report"]


@compiled
def report(wrong, event, now, rtt, cwnd):
    """Record a wrong window; the state before it is recorded already."""
    wrong[0] = event
    wrong[1] = 0.0
    wrong[2] = now
    wrong[3] = rtt
    wrong[4] = cwnd


@compiled
def apply_loss(run, loss, now, rtt, wrong):
    """Apply the rule's ``on_loss`` to the state of one run; return False for a wrong window."""
    for n in range(len(wrong) - RECORD):
        wrong[RECORD + n] = run[STATE + n]
    call_on_array(loss, run, now, rtt, 0.0, 0.0)
    if MIN_WINDOW <= run[STATE] <= MAX_WINDOW:
        return True
    report(wrong, ON_LOSS, now, rtt, run[STATE])
    return False
