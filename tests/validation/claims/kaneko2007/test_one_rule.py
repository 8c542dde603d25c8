"""Flows of one rule, alone and with other round trips."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.one_rule import ALL_RTTS, ALONE, ALONE_NS2
from validation.verdicts import Verdict


@pytest.mark.slow
def test_windows_of_the_product_reproduce_k09(doctor, judged) -> None:
    doctor(ALONE, lambda flows: flows.assign(mean_cwnd=667.0 + flows["seed"]))
    assert judged("K09")["near"].packets is Verdict.HOLDS  # the mean, which does not decide


@pytest.mark.slow
def test_an_hstcp_that_gets_nothing_is_not_called_fairer_than_another(doctor, judged) -> None:
    def starve(flows):
        """HSTCP is in ns-2 only, and compared with the rules there."""
        far = (flows["rule"] == "highspeed") & (flows["flow"] == 2)
        return flows.assign(goodput_bits=flows["goodput_bits"].mask(far, 1.0 + flows["seed"]))

    doctor((*ALL_RTTS["ns-3"], *ALL_RTTS["ns-2"]), starve)
    assert judged("K05")["least"].packets is Verdict.HOLDS


@pytest.mark.slow
def test_windows_below_the_product_contradict_k09(doctor, judged) -> None:
    doctor((ALONE[0], ALONE_NS2), lambda frame: frame.assign(cwnd=600.0), "series")
    assert judged("K09")["below"].packets is Verdict.CONTRADICTED
