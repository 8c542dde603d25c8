"""Run a plan by the fabric kernel: up to the first event that it lacks, which leaves the plan to the other kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import manager_events_of
from dfcmodel.packets.engine import PARTS_WITHOUT_PROGRESS, Records, sender_events
from dfcmodel.packets.fabric.arrays import MOST_SLOTS, lay_out_fabric, windows_of
from dfcmodel.packets.fabric.kernel.layout import Fabric, Recorded
from dfcmodel.packets.fabric.kernel.windows import FAULT, FULL, NO_ROOM, SWITCHED, USED
from dfcmodel.packets.fabric.records import records_of
from dfcmodel.packets.layouts.managers import signatures_of_managers
from dfcmodel.packets.plan import ENDLESS
from dfcmodel.packets.refusals import check_numbers, check_rate
from hopflow.kernels import engine
from hopflow.progress import may_show_bar, parts, progress_bar
from responsefn.rule_events import signatures_of

if TYPE_CHECKING:
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["FabricRun", "begin_fabric", "run_fabric"]

KERNEL = "dfcmodel.packets.fabric.kernel"
GROUPS = itemgetter(*Fabric._fields), itemgetter(*Recorded._fields)
"""Functions that return the fields of each group of arrays from a dictionary of all."""
GROWING = ("packet", "sent_at", "arriving")


@dataclass
class FabricRun:
    """A run of the fabric kernel, which is for lossless networks of senders with rates.

    Attributes
    ----------
    plan, arrays, records
        The plan, the state of the run, and its records.
    windows
        Number of windows per sample.
    done
        Samples that have been completed.
    bar
        Progress bar over samples; None: no bar.
    """

    plan: PacketPlan
    arrays: dict[str, Any]
    records: Records
    windows: int
    done: int = 0
    bar: Any = None

    @property
    def fault(self) -> int:
        """Reason for which the run cannot continue, as the kernel numbers them; 0: none."""
        return int(self.arrays["counters"][FAULT])

    def advance(self, until: int) -> bool:
        """Advance to the end of sample ``until``; return False after a fault; ArithmeticError if a rate is NaN."""
        counters, run = self.arrays["counters"], None
        width = self.plan.sample / self.windows
        for last in parts(self, until, self.plan.samples_of_part):
            if run is None:
                groups = (fields(self.arrays) for fields in GROUPS)
                run = engine(KERNEL).bind(*groups, width, self.windows, self.done, last)
            self.done = run(self.done, last)
            if self.fault:
                return False
            self._check_rates()
            if self.records.take_switches(int(counters[SWITCHED])):
                self.arrays["switches"] = self.records.switches
                run = None
            counters[SWITCHED] = 0
            if 2 * counters[USED] > len(self.arrays["packet"]):
                for name in GROWING:
                    old = self.arrays[name]
                    self.arrays[name] = np.concatenate([old, np.empty_like(old)])
                run = None
        return True

    def _check_rates(self) -> None:
        """Raise ArithmeticError for a rule that has set its rate to NaN."""
        for k in np.flatnonzero(np.isnan(self.arrays["rate"]["rate"])).tolist():
            f = int(np.flatnonzero(self.arrays["flow"]["rule"] == k)[0])
            check_rate(self.plan.scenario, f, math.nan, self.done * self.plan.sample)

    def finish(self) -> Records:
        """Return the records of a run at its end, once: its state is freed; OverflowError for too many packets."""
        used_up = self.arrays["flow"]["sent"] >= ENDLESS
        check_numbers(self.plan.scenario, used_up & (self.plan.all_packets > ENDLESS), self.plan.end)
        return records_of(self.plan, self.records, self.arrays)


def begin_fabric(plan: PacketPlan, spare: int = 1, longer: int = 1) -> FabricRun | None:
    """Return a run at t = 0, with ``spare`` times the packets, ``longer`` times the slots; None if slots are too many.

    There is room for ``spare`` times as many packets as usual, and for packets that are sent ``longer`` times as far
    ahead.
    """
    windows = windows_of(plan, longer)
    if windows.slots > MOST_SLOTS:
        return None
    columns = plan.scenario.table.columns["source"].values
    changing = [source for source in columns if not getattr(source, "is_constant", False)]
    signatures = signatures_of(changing)
    arrays = lay_out_fabric(plan, signatures, windows, spare)
    arrays["events"] = sender_events(signatures)
    arrays["managers"] = manager_events_of(signatures_of_managers(plan))
    records = Records(plan, is_lossless=True)
    arrays |= records.rows()
    arrays["carried"] = np.zeros((plan.samples, len(arrays["hop"])), dtype=np.int32)
    plan.release("hops", "is_counted")  # columns of all hops, which the loop does not read
    return FabricRun(plan, arrays, records, windows.per_sample)


def run_fabric(plan: PacketPlan) -> Records | None:
    """Run a plan from t = 0 and return its records; None if the kernel cannot, such as after a loss or a timeout.

    Raises
    ------
    OverflowError
        When a flow sends more packets than there are sequence numbers, 2^31 - 2.
    ArithmeticError
        When a rate is not a number.
    """
    spare = longer = 1
    while True:
        run = begin_fabric(plan, spare, longer)
        if run is None:
            return None
        if plan.samples > PARTS_WITHOUT_PROGRESS * plan.samples_of_part and may_show_bar():
            run.bar = progress_bar(total=plan.samples, desc=plan.scenario.name, unit="sample")
        done = run.advance(plan.samples)
        if run.bar is not None:
            run.bar.close()
        if done:
            break
        if run.fault == NO_ROOM:
            spare *= 4
        elif run.fault == FULL:
            longer *= 4
        else:
            return None
    return run.finish()
