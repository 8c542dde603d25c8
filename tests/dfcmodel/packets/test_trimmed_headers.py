"""Headers without payload at receivers: agents see them, and selective repair sends the packet again at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dfcmodel import Credited, Flow, Link, Packets, ReceiverAgent, Scenario, Trimming, simulate
from dfcmodel.network.run_tables import TRIMMED
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.simulation import plan_scenario
from responsefn import DCQCN, RateRule
from tests.oracles.packets.simulation import run_reference


@dataclass(frozen=True)
class Asking(ReceiverAgent):
    """Ask for each packet of which the header alone has come; a credit for whatever comes."""

    unsolicited: float = 8.0

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Answer a packet, or a header."""
        if e.trimmed == 1.0:
            return s._replace(nack=e.number, credits=1.0)
        return s._replace(ack=1.0, credits=1.0)


def incast(rule: RateRule, receiver: ReceiverAgent | None, hosts: int = 8) -> Scenario:
    links = [Link(f"h{n}", "switch", 1e6, 1e-6, 1000) for n in range(hosts)]
    links.append(Link("switch", "rack", 1e6, 1e-6, 500, Trimming()))
    flows = [
        Flow(
            str(n), (f"h{n}", "switch", "rack"), rule, size=50, host="nic", max_window=60,
            receiver=receiver,
        )
        for n in range(hosts)
    ]  # fmt: skip
    return Scenario("incast", links, flows, duration=0.02, packet_size=9000.0, min_rto=10e-3)


@pytest.mark.parametrize(("rule", "receiver"), [(DCQCN(), None), (Credited(), Asking())])
def test_each_packet_that_was_cut_is_sent_again_once_and_no_timer_expires(
    rule: RateRule, receiver: ReceiverAgent | None
) -> None:
    run = simulate(incast(rule, receiver), Packets(seed=1, recovery="selective"), sample=1e-3)
    assert set(run.drops().cause.values.tolist()) == {"trimmed"}
    assert run.timeouts.sum() == 0
    assert run.emitted is not None
    assert run.emitted.sum() == 8 * 50 + run.lost.sum()
    assert np.isfinite(run.finished).all()


@pytest.mark.parametrize("recovery", ["selective", "go-back-n"])
@pytest.mark.parametrize(("rule", "receiver"), [(DCQCN(), None), (Credited(), Asking())])
def test_both_engines_agree(rule: RateRule, receiver: ReceiverAgent | None, recovery: str) -> None:
    # with random losses as well, so that a header is not the only sign of one
    method = Packets(seed=3, recovery=recovery, loss={"switch->rack": 0.03})
    scenario = incast(rule, receiver, hosts=4)
    plans = (plan_scenario(scenario, method, duration=4e-3, sample=4e-4) for _ in range(2))
    found, wanted = run_engine(next(plans)), run_reference(next(plans))
    assert found.causes[:, TRIMMED].sum() > 0
    assert found.causes.sum() > found.causes[:, TRIMMED].sum()
    for name in ("finished", "timeouts", "loss_events", "causes", "inside", "emitted"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    for name in ("delivered", "lost"):
        own, other = getattr(found, name)[:-1], getattr(wanted, name)[:-1]
        np.testing.assert_array_equal(own, other, err_msg=name)
    assert (found.imbalance == 0.0).all()
