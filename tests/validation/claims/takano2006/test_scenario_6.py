"""D09 depends on the host."""

from __future__ import annotations

import dataclasses

from validation.claims.takano2006 import scenario_6
from validation.verdicts import Verdict

R, C, N = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.NOT_REPRODUCED


def test_losses_with_shaped_hosts_would_be_noticed(doctor, judged) -> None:
    doctor(scenario_6.STUDY.with_dfc_case, lambda d: d.assign(dropped=7), "flows")
    assert judged("D09")["dfc_lossy"].packets is R


def test_the_direct_host_loses_as_the_paper_says() -> None:
    found = scenario_6.measure()
    direct = dataclasses.replace(found, hosts={**found.hosts, "shaped": found.hosts["direct"]})
    judged = scenario_6.judge(direct)
    assert judged["dfc_lossy"] == (R, R)
    assert judged["dfc_low"] == (R, R)


def test_smaller_buffers_lose_more() -> None:
    losses = list(scenario_6.measure().losses.values())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == 0.0
