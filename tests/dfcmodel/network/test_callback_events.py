"""Functions of managers, programs, receivers and laws, compiled and called by address, beside the same in plain Python."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    CAKE,
    PIE,
    CoDel,
    Credits,
    FlowQueueCoDel,
    LinkEvent,
    QueuedPacket,
    QueueManager,
    ReceivedPacket,
    ReceiverAgent,
    SwitchProgram,
    WeightedFair,
)
from dfcmodel.engine.kernel.records import MAX_PARAMETERS, MAX_STATE, SEEN
from dfcmodel.network.callback_events import (
    LAW_EVENTS,
    agent_events_of,
    law_events_of,
    law_signature_of,
    manager_events_of,
    manager_signature_of,
    program_events_of,
    signature_of,
)
from dfcmodel.network.queueing.disciplines import Arrivals

STEPS = [
    Arrivals(0.01 * n, 0.01, backlog, arrivals, 100.0, backlog / 100.0, random)
    for n, (backlog, arrivals, random) in enumerate(
        [(10.0, 1.0, 0.5), (30.0, 2.0, 0.1), (60.0, 3.0, 0.9), (80.0, 2.5, 0.01), (5.0, 0.5, 0.3)] * 8
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


EVENT = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double))


@pytest.mark.parametrize("program", [WeightedFair(1.0, 2.0, 3.0, 4.0), FlowQueueCoDel()])
def test_an_event_at_its_address_is_the_function(program: SwitchProgram) -> None:
    rng = np.random.default_rng(1)
    signature = signature_of(program)
    addresses = program_events_of((signature,))[0]
    kind, given = type(program), program.numbers()
    fields = len(kind.State._fields)
    for _ in range(200):
        state = np.round(rng.random(fields) * 2.0, 1)
        seen = QueuedPacket(*np.round(rng.random(len(QueuedPacket._fields)) * 3.0))
        for address, name in zip(addresses.tolist()[:2], ("on_enqueue", "on_dequeue"), strict=True):
            record = np.zeros(64)
            record[:fields] = state
            record[16 : 16 + len(given)] = list(given.values())
            record[32 : 32 + len(seen)] = seen
            EVENT(address)(record.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
            wanted = getattr(kind, name)(kind.State(*state), SimpleNamespace(**given), seen)
            np.testing.assert_array_equal(record[:fields], wanted)


def test_the_choice_of_a_queue_is_written_behind_what_a_program_sees() -> None:
    address = int(program_events_of((signature_of(CAKE()),))[0, 2])
    record = np.zeros(64)
    record[19] = 1024.0  # its parameters are target, interval, quantum, queues
    record[32 + QueuedPacket._fields.index("hash")] = 0.375
    EVENT(address)(record.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
    assert record[56] == 384.0
    assert list(CAKE().numbers()) == ["target", "interval", "quantum", "queues"]
    assert program_events_of((signature_of(WeightedFair()),))[0, 2] == 0


def test_programs_that_differ_in_parameters_alone_share_their_events() -> None:
    assert signature_of(WeightedFair(1.0)) == signature_of(WeightedFair(2.0))


@dataclass(frozen=True)
class Batched(ReceiverAgent):
    """Acknowledges packets by batches; credits come by the timer."""

    unsolicited: float = 2.0
    batch: float = 4.0

    @staticmethod
    def on_packet(s, q, e):
        whole = e.expected % q.batch == 0.0
        return s._replace(ack=q.batch if whole else 0.0, timer=e.time + q.batch * e.packet_time)

    @staticmethod
    def on_timer(s, q, e):
        return s._replace(credits=q.unsolicited, timer=math.inf)


def test_compiled_events_do_what_python_does() -> None:
    agent = Batched(batch=3.0)
    signature = signature_of(agent)
    assert signature == (Batched, ("unsolicited", "batch"))
    addresses = agent_events_of((signature,))
    assert addresses.shape == (1, 2)
    assert agent_events_of(()).shape == (1, 2)
    state = Batched.State()
    for number in (1.0, 2.0):
        seen = ReceivedPacket(1.5, 0.0, number, number + 1.0, 0.0, 9.0, number + 1.0, 1.0, 1e-3)
        for address, event in zip(addresses[0], (Batched.on_packet, Batched.on_timer), strict=True):
            record = np.zeros(42)
            record[:5], record[16:18], record[32:] = state, (2.0, 3.0), seen
            call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(int(address))
            call(record.ctypes.data)
            assert tuple(record[:5]) == tuple(event(state, agent, seen))


def test_the_events_of_a_law_change_their_end_alone() -> None:
    law = Credits(update=2.0)
    addresses = law_events_of((law_signature_of(law),))[0].tolist()
    call = {
        name: ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double))(address)
        for name, address in zip(LAW_EVENTS, addresses, strict=True)
    }
    numbers = np.zeros(41)
    values = list(law.numbers().values())
    numbers[16 : 16 + len(values)] = values
    numbers[32:39] = LinkEvent(0.0, 1.0, 0.0, 0.0, 2.0, 1e6, 1e-6)
    at = numbers.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    allowed = []
    for _ in range(3):
        call["may_send"](at)
        allowed.append(numbers[40])
        call["on_send"](at)
    assert allowed == [1.0, 1.0, 0.0]
    assert numbers[0] == 3.0
    call["on_departure"](at)
    assert numbers[8:11].tolist() == [0.0, 0.0, 1.0]
    call["on_departure"](at)
    assert numbers[8:11].tolist() == [1.0, 2.0, 0.0]
    numbers[35] = 2.0
    call["on_message"](at)
    assert numbers[0] == 1.0
