"""Plans: what the ports of a run have in common, and what follows from their disciplines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfcmodel import FIFO, Fair, Packets, Pause, chain
from dfcmodel.packets.plans import Plan
from tests.dfcmodel.packets.conftest import plan_of


def chain_of(one_link, *disciplines) -> Plan:
    """Return the plan of a flow over links with these disciplines."""
    links = chain(len(disciplines) + 1, rate=100.0, delay=0.01, buffer=20)
    links = [replace(link, discipline=rule) for link, rule in zip(links, disciplines, strict=True)]
    path = (*(link.source for link in links), links[-1].target)
    flow = replace(one_link.flows[0], path=path, host="direct")
    return plan_of(replace(one_link, links=tuple(links), flows=(flow,)), Packets(seed=1))


def test_values_by_discipline_are_those_of_each_port(one_link) -> None:
    plan = chain_of(one_link, FIFO(), Fair(), FIFO())
    named = plan.by_discipline(lambda rule: type(rule).__name__)
    assert named.tolist() == [type(port.discipline).__name__ for port in plan.ports]
    assert plan.under(Fair) == [1]
    assert plan.under(Fair, FIFO) == list(range(len(plan.ports)))


def test_a_port_with_pause_pauses_what_feeds_it_which_has_lanes_then(one_link) -> None:
    plan = chain_of(one_link, FIFO(), Pause(6.0, 3.0), FIFO())
    assert (plan.pausable(1), plan.pausable(2)) == ((0,), ())
    assert plan.with_lanes[:3].tolist() == [True, True, False]


def test_columns_are_those_of_the_ports(one_link) -> None:
    plan = chain_of(one_link, FIFO(), Fair())
    for name, values in (("rooms", "room"), ("bits", "bits"), ("delays", "delay")):
        np.testing.assert_array_equal(
            getattr(plan, name), [getattr(port, values) for port in plan.ports]
        )
