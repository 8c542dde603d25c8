"""Compiled events of switch programs beside their Python functions."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel import CAKE, FlowQueueCoDel, QueuedPacket, SwitchProgram, WeightedFair
from dfcmodel.network.program_events import program_events_of, program_signature_of

EVENT = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double))
EVENTS = ("on_enqueue", "on_dequeue")


@pytest.mark.parametrize("program", [WeightedFair(1.0, 2.0, 3.0, 4.0), FlowQueueCoDel()])
def test_an_event_at_its_address_is_the_function(program: SwitchProgram) -> None:
    rng = np.random.default_rng(1)
    signature = program_signature_of(program)
    addresses = program_events_of((signature,))[0]
    kind, given = type(program), program.numbers()
    fields = len(kind.State._fields)
    for _ in range(200):
        state = np.round(rng.random(fields) * 2.0, 1)
        seen = QueuedPacket(*np.round(rng.random(len(QueuedPacket._fields)) * 3.0))
        for address, name in zip(addresses.tolist()[:2], EVENTS, strict=True):
            record = np.zeros(64)
            record[:fields] = state
            record[16 : 16 + len(given)] = list(given.values())
            record[32 : 32 + len(seen)] = seen
            EVENT(address)(record.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
            wanted = getattr(kind, name)(kind.State(*state), SimpleNamespace(**given), seen)
            np.testing.assert_array_equal(record[:fields], wanted)


def test_the_choice_of_a_queue_is_written_behind_what_a_program_sees() -> None:
    address = int(program_events_of((program_signature_of(CAKE()),))[0, 2])
    record = np.zeros(64)
    record[19] = 1024.0  # its parameters are target, interval, quantum, queues
    record[32 + QueuedPacket._fields.index("hash")] = 0.375
    EVENT(address)(record.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
    assert record[56] == 384.0
    assert list(CAKE().numbers()) == ["target", "interval", "quantum", "queues"]
    assert program_events_of((program_signature_of(WeightedFair()),))[0, 2] == 0


def test_programs_that_differ_in_parameters_alone_share_their_events() -> None:
    assert program_signature_of(WeightedFair(1.0)) == program_signature_of(WeightedFair(2.0))
