"""D09 depends on the host."""

from __future__ import annotations

import pytest

from validation import Verdict
from validation.claims.takano2006 import scenario_6
from validation.claims.takano2006.matrices import matrix

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
pytestmark = (
    pytest.mark.slow
)  # all scenarios on all hosts, 30 s of runs; `make run` measures them too
DIRECT = "hosts in node 1's buffer with DFC too"


def test_losses_with_shaped_hosts_would_be_noticed(doctor, judged) -> None:
    matrix.cache_clear()
    doctor(scenario_6.STUDY.with_dfc_case, lambda d: d.assign(dropped=7), "flows")
    assert judged("D09")["dfc_lossy"].packets is R
    matrix.cache_clear()


def test_the_direct_host_loses_as_the_paper_says() -> None:
    judged = scenario_6.readings(scenario_6.measure())[DIRECT]
    assert judged["dfc_lossy"] == (R, R)
    assert judged["dfc_low"] == (R, R)


def test_no_host_gives_both_figures() -> None:
    figures = scenario_6.measure().figures
    assert figures["shaped"].packets == (True, False)
    assert not any(all(found) for sides in figures.values() for found in sides)


def test_smaller_buffers_lose_more() -> None:
    losses = list(scenario_6.measure().losses.values())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == 0.0
