"""Smaller packets: everything stays the same in bytes, and constant rates behave the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PIE,
    RED,
    Fair,
    OnOff,
    Pause,
    Priority,
    shrink_packets,
    simulate,
    takano2006,
)
from responsefn import AIMD, CUBIC


def test_bytes_stay_the_same(bottleneck) -> None:
    small = shrink_packets(bottleneck, 5)
    for one, other in zip(bottleneck.links, small.links, strict=True):
        assert other.rate * small.packet_size == pytest.approx(one.rate * bottleneck.packet_size)
        assert other.buffer * small.packet_size == pytest.approx(
            one.buffer * bottleneck.packet_size
        )
        assert other.delay == one.delay
    for one, other in zip(bottleneck.flows, small.flows, strict=True):
        assert other.max_window == 5 * one.max_window
        assert other.source == AIMD(5.0, 0.5)


def test_thresholds_and_rates_are_scaled(bottleneck) -> None:
    *others, last = bottleneck.links
    for rule, expected in (
        (Pause(high=20.0, low=10.0), Pause(high=80.0, low=40.0)),
        (Fair(), Fair()),
        (Priority(), Priority()),
    ):
        given = replace(bottleneck, links=(*others, replace(last, discipline=rule)))
        assert shrink_packets(given, 4).links[-1].discipline == expected
    red = replace(last, discipline=RED(low=5.0, high=15.0, weight=0.02))
    small = shrink_packets(replace(bottleneck, links=(*others, red)), 4).links[-1].discipline
    assert (small.low, small.high) == (20.0, 60.0)
    assert (1.0 - small.weight) ** 4 == pytest.approx(1.0 - 0.02)
    for source in (CBR(100.0), OnOff(100.0, 0.1, 0.2)):
        flow = replace(bottleneck.flows[0], source=source, size=50.0)
        (found,) = shrink_packets(replace(bottleneck, flows=(flow,)), 3).flows
        assert (found.source.rate, found.size) == (300.0, 150.0)


def test_a_fluid_of_constant_rates_does_not_know_the_size(bottleneck) -> None:
    """Without transmission times the fluid is linear in the unit of amounts."""
    from dfcmodel import Fluid

    flows = tuple(replace(flow, source=CBR(1200.0)) for flow in bottleneck.flows)
    given, method = replace(bottleneck, flows=flows), Fluid(store_and_forward=False)
    one, other = (simulate(shrink_packets(given, k), method, duration=0.2) for k in (1, 8))
    np.testing.assert_allclose(other.delivered / 8, one.delivered, atol=1e-6)
    np.testing.assert_allclose(other.lost.sum() / 8, one.lost.sum(), rtol=1e-6)


def test_what_has_no_known_form_is_refused(refused, bottleneck) -> None:
    refused(["factor"], lambda: shrink_packets(bottleneck, 0.5))
    refused(["source", "'target'"], lambda: shrink_packets(takano2006("1", dfc=False), 2))
    cubic = replace(bottleneck.flows[0], source=CUBIC())
    refused(["source", "CUBIC"], lambda: shrink_packets(replace(bottleneck, flows=(cubic,)), 2))
    *others, last = bottleneck.links
    links = (*others, replace(last, discipline=PIE()))
    refused(
        ["discipline", "router->end"], lambda: shrink_packets(replace(bottleneck, links=links), 2)
    )
