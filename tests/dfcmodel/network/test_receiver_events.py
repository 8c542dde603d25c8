"""Receiver agents as compiled callbacks: what a function of the class does in plain Python."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass

import numpy as np

from dfcmodel import ReceivedPacket, ReceiverAgent
from dfcmodel.network.receiver_events import agent_events_of, agent_signature_of


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
    signature = agent_signature_of(agent)
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
