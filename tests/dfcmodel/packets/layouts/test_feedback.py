"""Layouts of diffusion-type flow control: rates of lanes, and who reports to whom."""

from __future__ import annotations

import numpy as np

from dfcmodel import CBR, DFC, FIFO, Flow, Link, Packets, Scenario
from dfcmodel.network.flows import window_rules
from dfcmodel.packets.kernel.diffusion import RECEIVE_FEEDBACK, SEND_FEEDBACK
from dfcmodel.packets.layouts.arrays import lay_out
from dfcmodel.packets.layouts.lookahead import ordered_ports, windows
from dfcmodel.packets.plans import Plan
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of

RULE = DFC(0.2, 1.5, phases="synchronous")


def chain_of_three() -> Plan:
    """Return a shaped flow over links of DFC, DFC and FIFO, and one that joins."""
    links = [
        Link(1, 2, 1e3, 1e-3, 50.0, RULE),
        Link(2, 3, 2e3, 4e-3, 50.0, RULE),
        Link(3, 4, 2e3, 1e-3, 50.0, FIFO()),
    ]
    flows = [
        Flow("shaped", (1, 2, 3, 4), CBR(100.0), host="shaped"),
        Flow("joins", (2, 3), CBR(100.0), host="direct"),
    ]
    return plan_of(Scenario("three", links, flows, duration=0.1), Packets(seed=1))


def test_nodes_report_to_the_ports_that_feed_them_once_per_delay() -> None:
    """To the host and the first link; the second one feeds a FIFO link and hears of nobody."""
    clocks = {clock.to: clock for clock in chain_of_three().clocks}
    host = 3
    assert clocks.keys() == {0, 1, host}
    assert (clocks[0].of, clocks[1].of, clocks[host].of) == (1, -1, 0)
    assert [clocks[p].period for p in (0, 1, host)] == [1e-3, 4e-3, 1e-3]
    assert clocks[0].keys == clocks[host].keys == ((0, False),)
    assert all(clock.first == 0.0 for clock in clocks.values())


def test_rows_have_the_numbers_of_the_law() -> None:
    plan = chain_of_three()
    arrays = lay_out(plan, signatures_of(window_rules(plan.scenario.flows))).arrays
    port_rows, rows = arrays["port"], arrays["diffusive"]
    one, two, host = (rows[port_rows["lane"][p]] for p in (0, 1, 3))
    np.testing.assert_allclose([one["gain"], two["gain"]], [0.2 / 1e-3, 0.2 / 4e-3])
    np.testing.assert_allclose([one["told_rate"], two["told_rate"]], [1e3, 2e3])
    assert [row["intensity"] for row in (one, two, host)] == [1.5] * 3
    assert [row["counts"] for row in (one, two, host)] == [1, 1, 0]
    assert port_rows["lanes"][[0, 1, 3]].tolist() == [1, 2, 1]
    events = arrays["packet"][: arrays["counters"][1]]
    assert (events["number"] == SEND_FEEDBACK).sum() == 2
    assert (events["number"] == RECEIVE_FEEDBACK).sum() == 3


def test_a_window_is_not_longer_than_a_period_of_feedback() -> None:
    plan = chain_of_three()
    _, ahead = windows(plan, ordered_ports(plan))
    assert ahead < 1e-3
