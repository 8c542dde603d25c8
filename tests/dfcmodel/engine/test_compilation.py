"""Kernels from templates and window rules: what an ACK does, and RFC 6298 in both forms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel.engine.compilation import _snippet, compile_template
from dfcmodel.engine.kernel import tcp_sender
from dfcmodel.engine.kernel.columns import KIND, RTT_VAR, SRTT, TCP_COLUMNS, TIMEOUT
from dfcmodel.engine.sender_tables import signature_of
from responsefn import NewReno, Reno, Tahoe
from responsefn.responses.cycles import numbers_of

SIGNATURES = tuple(signature_of(rule) for rule in (Tahoe(), Reno(), NewReno()))


@pytest.mark.parametrize("compiled", [False, True])
def test_the_retransmission_timer_is_that_of_rfc_6298(compiled: bool) -> None:
    """Sections 2.2 and 2.3: SRTT = 7/8 SRTT + 1/8 R', RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|."""
    measure = compile_template(tcp_sender.measure, SIGNATURES, compiled=compiled)
    tcp = np.zeros((1, TCP_COLUMNS))
    measure(tcp, 0, 0.1, 0.2)
    assert tcp[0, [SRTT, RTT_VAR, TIMEOUT]].tolist() == pytest.approx([0.1, 0.05, 0.3])
    measure(tcp, 0, 0.2, 0.2)
    assert tcp[0, [SRTT, RTT_VAR]].tolist() == pytest.approx([0.1125, 0.0625])
    assert tcp[0, TIMEOUT] == pytest.approx(0.1125 + 4 * 0.0625)


def test_three_acks_change_the_window_by_three_times_what_one_does() -> None:
    """A rule stands in the table as its state and its parameters; Reno adds 1/cwnd per ACK."""
    rule, names = SIGNATURES[1]
    assert rule is Reno
    state = Reno.State()._replace(cwnd=10.0, ssthresh=5.0)
    first = TCP_COLUMNS + max(len(each.State._fields) for each, _ in SIGNATURES)
    row = np.zeros((1, first + len(names)))
    row[0, KIND] = 1
    row[0, TCP_COLUMNS : TCP_COLUMNS + len(state)] = state
    row[0, first:] = list(numbers_of(Reno()).values())
    scope = {
        "tcp": row, "f": 0, "amount": 3.0, "now": 0.0, "R1on_ack": Reno.on_ack,
        "Event": lambda time, rtt: (time, rtt),
        "R1State": Reno.State, "R1Params": lambda *values: SimpleNamespace(**dict(zip(names, values, strict=True))),
    }  # fmt: skip
    exec(_snippet(SIGNATURES, first, "on_ack"), scope)  # noqa: S102 (it is the kernel's own text)
    assert row[0, TCP_COLUMNS] == pytest.approx(10.0 + 3.0 / 10.0)
