"""Window rules and queue managers as events of the engine, and the timer of RFC 6298."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from dfcmodel.engine.kernel import records as fluid_records
from dfcmodel.engine.kernel import retransmission_timer
from dfcmodel.engine.kernel.records import FLOW, ON_ACK, ON_LOSS
from dfcmodel.packets.kernel import layout
from responsefn import NewReno, Reno, Tahoe
from responsefn.responses.rule_compilation import numbers_of
from responsefn.responses.rule_events import MAX_PARAMETERS, MAX_STATE, events_of, signature_of
from responsefn.simulation.kernel import records as shared_records

SIGNATURES = tuple(signature_of(rule) for rule in (Tahoe(), Reno(), NewReno()))


def test_the_retransmission_timer_is_that_of_rfc_6298() -> None:
    """Sections 2.2 and 2.3: SRTT = 7/8 SRTT + 1/8 R', RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|."""
    flow = np.zeros(1, dtype=FLOW).view(np.recarray)[0]
    retransmission_timer.sample_rtt(flow, 0.1, 0.2)
    assert [flow.srtt, flow.rttvar, flow.rto] == pytest.approx([0.1, 0.05, 0.3])
    retransmission_timer.sample_rtt(flow, 0.2, 0.2)
    assert [flow.srtt, flow.rttvar] == pytest.approx([0.1125, 0.0625])
    assert flow.rto == pytest.approx(0.1125 + 4 * 0.0625)


def window_after(event: int, acks: float, *, compiled: bool, several: bool = True) -> float:
    """Return Reno's window of 10 packets, in congestion avoidance, after an event."""
    events = events_of(SIGNATURES, several=several, compiled=compiled)
    flow = np.zeros(1, dtype=FLOW).view(np.recarray)
    flow.cwnd, flow.ssthresh = Reno.State()._replace(cwnd=10.0, ssthresh=5.0)[:2]
    numbers = list(numbers_of(Reno()).values())
    flow.parameters[0, : len(numbers)] = numbers
    if not compiled:
        events[1, event](flow[0], 0.0, 0.1, acks, 0.0)
        return float(flow.cwnd[0])
    call = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), *[ctypes.c_double] * 4)
    window = np.zeros(MAX_STATE + MAX_PARAMETERS)
    window[:2] = flow.cwnd[0], flow.ssthresh[0]
    window[MAX_STATE : MAX_STATE + len(numbers)] = numbers
    call(int(events[1, event]))(
        window.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), 0.0, 0.1, acks, 0.0
    )
    return float(window[0])


@pytest.mark.parametrize("compiled", [False, True])
def test_three_acks_change_the_window_by_three_times_what_one_does(compiled: bool) -> None:
    """Reno adds 1/cwnd per ACK (RFC 5681, 3.1, eq. 3) and halves on a loss."""
    assert window_after(ON_ACK, 3.0, compiled=compiled) == pytest.approx(10.0 + 3.0 / 10.0)
    assert window_after(ON_LOSS, 0.0, compiled=compiled) == pytest.approx(5.0)


def test_the_records_of_all_kernels_have_room_for_as_many_numbers() -> None:
    for records in (fluid_records, layout, shared_records):
        assert (records.MAX_STATE, records.MAX_PARAMETERS) == (MAX_STATE, MAX_PARAMETERS)
        fields = getattr(records, "RULE", records.FLOW).fields
        assert fields["parameters"][1] - fields["cwnd"][1] == 8 * MAX_STATE


def test_an_ack_by_itself_gives_what_the_rule_returns_to_the_last_bit() -> None:
    """10 + (10.1 - 10) is not 10.1."""
    found = window_after(ON_ACK, 1.0, compiled=True, several=False)
    assert found == 10.0 + 1.0 / 10.0
