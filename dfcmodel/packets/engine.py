"""The compiled engine: arrays of a plan, the loop, records."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.layouts import lay_out, rule_signatures
from dfcmodel.packets.records import Records
from dfcmodel.rule_events import events_of
from hopflow.kernels import compiled_package, is_compiled_package

if TYPE_CHECKING:
    from dfcmodel.packets.plans import Plan

__all__ = ["run_engine"]

KERNEL = "dfcmodel.packets.kernel"
_lock = threading.Lock()


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
    signatures = rule_signatures(plan.scenario)
    layout = lay_out(plan, signatures)
    records = Records(plan)
    events = events_of(signatures, several=False, compiled=compiled)
    arrays = list(layout.arrays.values())
    if not compiled:  # fields of records as attributes, which compiled code has
        arrays = [each.view(np.recarray) if each.dtype.names else each for each in arrays]
    done = _loop(compiled)(
        events, *arrays, *records.rows(), layout.ahead, records.scale, plan.sample, 0, plan.samples
    )
    if done < plan.samples:
        place = f"{plan.scenario.name}, t = {done * plan.sample:g} s"
        raise MemoryError(f"{place}: more packets in the network than links and windows can hold")
    records.take_in(layout.arrays)
    return records


def _loop(compiled: bool) -> Callable[..., Any]:
    """Return the loop, compiled when it is called for the first time on a machine, or plain Python."""
    if not compiled:
        plain: Callable[..., Any] = importlib.import_module(f"{KERNEL}.loop").run
        return plain
    with _lock:
        package = compiled_package(KERNEL)
        if not is_compiled_package(KERNEL, "run"):
            print("dfcmodel: compiling the packet level, once on this machine ...", file=sys.stderr)  # noqa: T201
        loop: Callable[..., Any] = importlib.import_module(f"{package.__name__}.loop").run
        return loop
