"""Runs by the oracles in place of the compiled engines, with the input and the result of `dfcmodel.simulate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from dfcmodel import Trajectory, simulate
from dfcmodel.engine import driver
from dfcmodel.lossless import watchdog_runs
from dfcmodel.packets import simulation, traces
from tests.oracles.packets.simulation import run_reference, trace_reference, watch_reference

__all__ = ["ENGINES", "NAMES", "plain_engines", "plain_simulate"]


@contextmanager
def plain_engines() -> Iterator[None]:
    """Replace the compiled engines inside of a ``with`` block.

    Packets run on the oracle, an independent event simulation. The fluid's kernel runs as plain Python: the same
    code without compilation. The independent oracle of the fluid is `tests.oracles.fluid.runs.advance`.
    """
    plain = partial(driver.advance, compiled=False)
    with (
        mock.patch.object(simulation, "run_engine", run_reference),
        mock.patch.object(traces, "trace_engine", trace_reference),
        mock.patch.object(watchdog_runs, "watch_engine", watch_reference),
        mock.patch.object(driver, "advance", plain),
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
