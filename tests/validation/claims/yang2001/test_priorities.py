"""Claims about Table 4: what another order of the data would say."""

from __future__ import annotations

import pytest

from validation.claims import find
from validation.claims.yang2001 import priorities
from validation.claims.yang2001.tables import seen
from validation.verdicts import Verdict


def test_the_fluid_model_is_near_the_runs_under_cc() -> None:
    """Within a fifth for every class of TCP: nothing of the model is fitted."""
    model, packets = priorities.modelled("cc/cc", "FCFS").iloc[0], seen("cc/cc", "FCFS").mean()
    for kind in priorities.TCP:
        assert model["cc", kind] == pytest.approx(packets["cc", kind], rel=0.2)


def test_a_reversed_order_is_contradicted() -> None:
    frame = seen("cc/cc", "FCFS")
    upside_down = frame.rename(columns={"TCP1": "TCP4", "TCP4": "TCP1"})
    assert min(e.value for e in priorities.ordered(upside_down, "cc")) < 0


def test_unused_slots_are_seen_in_packets_only() -> None:
    finding = find("Y17").check()
    assert (finding.model, finding.simulation) == (Verdict.CONTRADICTED, Verdict.HOLDS)
