"""Trajectories of packets: units, seeds, and the fluid beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Fluid, Packets, simulate


def test_a_trajectory_counts_packets(one_link) -> None:
    run = simulate(one_link, method=Packets(seed=1))
    assert run.status.ok
    assert run.delivered[0, -1] == round(run.delivered[0, -1])
    assert run.delivered[0, -1] <= 2.0 * 1000.0
    assert (np.diff(run.delivered[0]) >= 0.0).all()
    assert run.peak_queue[0] <= 20.0
    base = 2 * 0.01 + (1500 + 40) / 1500 / 1000.0
    assert np.nanmin(run.round_trip) == pytest.approx(base)


def test_a_seed_repeats_a_run_and_another_one_differs(one_link) -> None:
    runs = [simulate(one_link, method=Packets(seed=s), packet_jitter=1e-3) for s in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].window, runs[1].window)
    assert (runs[0].window != runs[2].window).any()


def test_rng_gives_the_seed_that_the_method_lacks(one_link) -> None:
    one, other = (
        simulate(one_link, method=Packets(), packet_jitter=1e-3, rng=rng) for rng in (3, 4)
    )
    assert (one.window != other.window).any()


def test_ns2_opens_with_a_packet_that_carries_no_data(one_link) -> None:
    short = replace(one_link, flows=(replace(one_link.flows[0], size=30.0),))
    run = simulate(short, method=Packets(convention="ns2"))
    assert run.delivered[0, -1] == 30.0
    assert run.finished[0] > 0.0


def test_the_fluid_is_the_default_and_refuses_packet_jitter(one_link) -> None:
    one, other = simulate(one_link), simulate(one_link, method=Fluid())
    np.testing.assert_array_equal(one.delivered, other.delivered)
    with pytest.raises(ValueError, match="packet_jitter"):
        simulate(one_link, packet_jitter=1e-3)


def test_both_levels_agree_on_a_long_transfer(one_link) -> None:
    """One NewReno flow with a buffer of a bandwidth x delay product keeps the link busy."""
    fluid = simulate(one_link, duration=20.0).delivered[0, -1]
    packets = simulate(one_link, method=Packets(seed=1), duration=20.0).delivered[0, -1]
    assert packets == pytest.approx(fluid, rel=0.02)  # a timeout of 0.2 s more or less is 1 %
