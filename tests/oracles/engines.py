"""Entries of the engines and of the oracles, and comparisons of their runs: what tests need behind `dfcmodel.simulate`.

Tests of behaviour use these and the public names, so that a change inside of an engine leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from dfcmodel import simulate
from dfcmodel.engine.plan import compile_scenario
from dfcmodel.engine.run import advance
from dfcmodel.lossless.guards import watchdog_runs
from dfcmodel.packets import simulation, traces
from dfcmodel.packets.engine import Records, begin_run, run_engine
from dfcmodel.packets.plan import PacketPlan
from dfcmodel.packets.simulation import plan_scenario
from dfcmodel.results import Trajectory
from tests.oracles.packets.simulation import run_reference, trace_reference, watch_reference

__all__ = [
    "ENGINES",
    "NAMES",
    "advance",
    "begin_run",
    "check_records",
    "compile_scenario",
    "equal_records",
    "plain_engines",
    "plain_simulate",
    "plan_scenario",
    "run_engine",
    "run_reference",
]

EXACT = (
    "window", "round_trip", "acked", "loss_count", "delivered", "lost", "waiting", "peak", "drops", "carried",
    "first_loss", "finished", "timeouts", "loss_events", "marks", "total", "emitted", "inside", "notifications",
    "queued_bytes", "peak_bytes", "at_hosts", "causes", "counted",
)  # fmt: skip
SUMS = ("transit", "waited")
"""Sums of times whose order of addition differs between the engines."""


@contextmanager
def plain_engines() -> Iterator[None]:
    """Replace the compiled engines inside of a ``with`` block.

    Packets run on the oracle, an independent event simulation. The fluid's kernel runs as plain Python: the same
    code without compilation. The independent oracle of the fluid is `tests.oracles.fluid.runs.advance`.
    """
    plain = partial(advance, compiled=False)
    with (
        mock.patch.object(simulation, "run_plan", run_reference),
        mock.patch.object(traces, "trace_engine", trace_reference),
        mock.patch.object(watchdog_runs, "watch_engine", watch_reference),
        mock.patch("dfcmodel.simulation.advance", plain),
    ):
        yield


def plain_simulate(*arguments: Any, **options: Any) -> Trajectory:
    """Return what `dfcmodel.simulate` returns, from the plain engines; packets take a thousand times longer."""
    with plain_engines():
        return simulate(*arguments, **options)


ENGINES: tuple[Callable[..., Trajectory], ...] = (simulate, plain_simulate)
"""The compiled engines, and the plain ones."""
NAMES = ("compiled", "oracle")
"""Names of both for test identifiers."""


def check_records(one: Records, other: Records) -> None:
    """Compare all records of two runs, pauses too; those of drops and queues up to the end of the samples."""
    S = one.plan.samples
    for name in EXACT:
        a, b = getattr(one, name), getattr(other, name)
        if name in {"delivered", "lost", "waiting", "queued_bytes", "at_hosts"}:
            a, b = a[:S], b[:S]
        np.testing.assert_array_equal(a, b, err_msg=name)
    assert sorted(one.switched.tolist()) == sorted(other.switched.tolist())
    for name in SUMS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12, err_msg=name)


def equal_records(plan: PacketPlan) -> Records:
    """Return the records of a packet run of the compiled engine after comparing them with those of the oracle."""
    found = run_engine(plan)
    check_records(found, run_reference(plan))
    return found
