"""The compiled engine: arrays of a plan, the loop, records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.flows import window_rules
from dfcmodel.packets.kernel.boxes import FAULT, SWITCHED
from dfcmodel.packets.layouts import lay_out
from dfcmodel.packets.records import Records
from hopflow.kernels import loop_of
from responsefn.responses.rule_events import events_of, signatures_of

if TYPE_CHECKING:
    from dfcmodel.packets.plans import Plan

__all__ = ["run_engine"]

KERNEL = "dfcmodel.packets.kernel"


def run_engine(plan: Plan, *, compiled: bool = True) -> Records:
    """Run a plan from t = 0 and return its records.

    Parameters
    ----------
    plan
        What to run.
    compiled
        False runs the kernel as plain Python: hundreds of times slower, for tests.

    Raises
    ------
    MemoryError
        When the number of packets in the network exceeds the preallocated arrays.
    """
    signatures = signatures_of(window_rules(plan.scenario.flows))
    layout = lay_out(plan, signatures)
    records = Records(plan)
    events = events_of(signatures, several=False, compiled=compiled)
    arrays = list(layout.arrays.values())
    if not compiled:  # fields of records as attributes, which compiled code has
        arrays = [each.view(np.recarray) if each.dtype.names else each for each in arrays]
    run, tally, done = loop_of(KERNEL, compiled=compiled), layout.arrays["tally"], 0
    while done < plan.samples:
        done = run(
            events, *arrays, *records.rows(), layout.ahead, records.scale, plan.sample, done,
            plan.samples,
        )  # fmt: skip
        if tally[FAULT]:
            place = f"{plan.scenario.name}, t = {done * plan.sample:g} s"
            msg = "more packets in the network than links and windows can hold"
            raise MemoryError(f"{place}: {msg}")
        records.take_switches(int(tally[SWITCHED]))
        tally[SWITCHED] = 0
    records.take_in(layout.arrays)
    return records
