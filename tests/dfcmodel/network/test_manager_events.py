"""Queue managers as events of the engine: called by address they do what their function says."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import PIE, CoDel, QueueManager
from dfcmodel.engine.kernel.records import MAX_PARAMETERS, MAX_STATE, SEEN
from dfcmodel.network.disciplines import Arrivals
from dfcmodel.network.manager_events import manager_events_of, manager_signature_of

STEPS = [
    Arrivals(0.01 * n, 0.01, backlog, arrivals, 100.0, backlog / 100.0, random)
    for n, (backlog, arrivals, random) in enumerate(
        [(10.0, 1.0, 0.5), (30.0, 2.0, 0.1), (60.0, 3.0, 0.9), (80.0, 2.5, 0.01), (5.0, 0.5, 0.3)]
        * 8
    )
]


@pytest.mark.parametrize("manager", [CoDel(), PIE()], ids=lambda manager: type(manager).__name__)
def test_the_event_of_a_manager_is_its_function(manager: QueueManager) -> None:
    """Compiled, by address, against the function in plain Python, step after step, to rounding."""
    signature = manager_signature_of(manager)
    (address,) = manager_events_of((signature,)).tolist()
    call = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double))(address)
    numbers = np.zeros(MAX_STATE + MAX_PARAMETERS + SEEN)
    values = manager.numbers(1500.0)
    numbers[MAX_STATE : MAX_STATE + len(values)] = list(values.values())
    state: Any = type(manager).State()
    parameters = NamedTuple("Params", [(name, float) for name in values])(**values)
    numbers[: len(state)] = state
    acted = 0
    for seen in STEPS:
        numbers[MAX_STATE + MAX_PARAMETERS :] = seen
        call(numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
        state = type(manager).on_step(state, parameters, seen)
        np.testing.assert_allclose(numbers[: len(state)], state, rtol=1e-12)
        acted += state[0] > 0.0
    assert acted, "it drops at such a delay"


def test_more_numbers_than_a_record_holds_are_refused() -> None:
    @dataclass(frozen=True)
    class Many(QueueManager):
        class State(NamedTuple):
            drop: float = 0.0
            mark: float = 0.0

        def numbers(self, packet_size: float) -> dict[str, float]:
            return {f"p{n}": 0.0 for n in range(MAX_PARAMETERS + 1)}

        @staticmethod
        def on_step(s: Any, q: Any, e: Any) -> Any:
            return s

    with pytest.raises(ValueError, match=r"parameters of Many = 17: must be at most 16"):
        manager_signature_of(Many())
