"""What the kernel must compute, said naively: NumPy over queues, batches in lists, no compiled code.

Flows that react to losses or marks lose nothing in it; those without feedback do, to managers and to
full buffers (`reference_drops`), except under PFC and where whole packets go. Queues, delays and clocks come from the same plan and senders are the
same functions run as plain Python, always by the long way; the rates of DFC are those of `law`; all
else is written anew, without the kernel's cumulative counts, shortcuts and rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.records import PER_INPUT
from dfcmodel.engine.reference_inputs import RunByInput
from dfcmodel.engine.reference_run import Run

if TYPE_CHECKING:
    from dfcmodel.engine.driver import Records
    from dfcmodel.engine.plans import Plan

__all__ = ["advance"]


def advance(plan: Plan, steps: int, every: int) -> Records:
    """Run a plan from t = 0; arguments and result as for `driver.advance`.

    Raises
    ------
    NotImplementedError
        When a packet of a flow with feedback would be lost, or might be marked; for managers of several queues.
    """
    run = RunByInput if PER_INPUT in plan.layout.queue_types else Run
    return run(plan).advance(steps, every)
