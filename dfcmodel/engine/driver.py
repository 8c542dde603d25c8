"""Execution of a plan: the kernel compiled for its window rules, run in blocks with progress."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from multiprocessing import parent_process
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.engine.compilation import compile_template
from dfcmodel.engine.kernel.columns import QUEUE_FAULT, WINDOW_FAULT
from dfcmodel.engine.kernel.loop import run

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats
    from dfcmodel.engine.plans import Plan

    Records = tuple[Floats, Floats, Floats]

__all__ = ["advance"]

CELLS_PER_FLOW = 32
"""Cost per step of a flow's endpoints, in cells."""
BLOCK = 100_000_000
"""Cells times steps between two progress reports: some tenths of a second."""


def advance(plan: Plan, steps: int, every: int, *, compiled: bool = True) -> Records:
    """Run a plan from t = 0, in place.

    Parameters
    ----------
    plan
        The plan; its state is advanced.
    steps, every
        Number of steps, a multiple of ``every``, the sampling interval in steps.
    compiled
        False runs the kernel as plain Python: hundreds of times slower, for tests.

    Returns
    -------
    tuple of numpy.ndarray
        Per interval: shape (T, F, 5), mean packets in transit, cumulative acknowledgement, cwnd,
        host's backlog and round-trip time (s); (T, C), packets queued at its end; (T, C), packets
        lost in it.

    Raises
    ------
    ArithmeticError
        When a number becomes NaN; the message names the time and the queue or flow.
    """
    F, C = len(plan.state.flow), len(plan.state.up)
    records = (
        np.zeros((steps // every, F, 5)),
        np.zeros((steps // every, C)),
        np.zeros((steps // every, C)),
    )
    kernel = compile_template(run, plan.rules, compiled=compiled)
    for first, end in _blocks(plan, steps, every):
        stopped = kernel(
            first, end - first, every, plan.step, plan.quantum, plan.scenario.min_rto,
            plan.first_shared, plan.past_shared, plan.state,
            *(record[first // every : end // every] for record in records),
        )  # fmt: skip
        if stopped >= 0:
            raise ArithmeticError(_fault(plan))
    return records


def _blocks(plan: Plan, steps: int, every: int) -> Iterable[tuple[int, int]]:
    """Return first steps and ends of the blocks of a run, with a progress bar for a long run.

    There is no bar outside the main thread and process, where the runs of an ensemble take place.
    """
    work = len(plan.state.up) + CELLS_PER_FLOW * len(plan.state.flow)
    size = max(1, BLOCK // (work * every)) * every
    blocks = [(first, min(first + size, steps)) for first in range(0, steps, size)]
    alone = threading.current_thread() is threading.main_thread() and parent_process() is None
    if len(blocks) < 2 or not alone:
        return blocks
    from tqdm import tqdm

    return tqdm(blocks, plan.scenario.name, delay=1.0, disable=None, leave=False, unit="block")


def _fault(plan: Plan) -> str:
    """Return the reason why a run stopped, with time and place."""
    kind, step, at = map(int, plan.state.fault)
    when = f"{plan.scenario.name}, t = {step * plan.step:g} s"
    if kind == QUEUE_FAULT:
        link = plan.scenario.links[plan.links[plan.state.link_of[at]]]
        return f"{when}: the queue at node {link.source!r} (link {link.name}) is not a number"
    flow = plan.scenario.flows[at].name
    if kind == WINDOW_FAULT:
        return f"{when}: the window of flow {flow!r} is not a number"
    return f"{when}: the emission log of flow {flow!r} is full"
