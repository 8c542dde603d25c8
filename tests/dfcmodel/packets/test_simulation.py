"""Trajectories of packets: units, seeds, and the fluid beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import Flow, Fluid, Link, Packets, RateTrace, Scenario, simulate
from responsefn import NewReno, WindowRule
from responsefn.linux import LinuxCUBIC
from tests.dfcmodel.packets.conftest import random_scenario
from tests.oracles.engines import ENGINES, NAMES


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
    one, other = (simulate(one_link, method=Packets(), packet_jitter=1e-3, seed=rng) for rng in (3, 4))
    assert (one.window != other.window).any()


def test_ns2_opens_with_a_packet_that_carries_no_data(one_link) -> None:
    short = replace(one_link, flows=(replace(one_link.flows[0], size=30.0),))
    run = simulate(short, method=Packets(convention="ns2"))
    assert run.delivered[0, -1] == 30.0
    assert run.finished[0] > 0.0


def test_the_fluid_is_the_default(one_link) -> None:
    one, other = simulate(one_link, level="fluid"), simulate(one_link, method=Fluid())
    np.testing.assert_array_equal(one.delivered, other.delivered)


def test_both_levels_agree_on_a_long_transfer(one_link) -> None:
    """One NewReno flow with a buffer of a bandwidth x delay product keeps the link busy."""
    fluid = simulate(one_link, duration=20.0, level="fluid").delivered[0, -1]
    packets = simulate(one_link, method=Packets(seed=1), duration=20.0).delivered[0, -1]
    assert packets == pytest.approx(fluid, rel=0.02)  # a timeout of 0.2 s more or less is 1 %


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_a_run_lasts_as_long_as_asked_and_its_last_sample_is_shorter(simulate: Any) -> None:
    """14 samples of 20 ms and one of 13; sums over samples are those of single milliseconds."""
    scenario = random_scenario("pause", 3)
    method = Packets(seed=1)
    run, fine = (simulate(scenario, method, duration=0.293, sample=s) for s in (0.02, 1e-3))
    assert run.time[-1] == fine.time[-1] == 0.293
    assert np.diff(run.time) == pytest.approx([0.02] * 13 + [0.013])
    ends = np.append(20 * np.arange(1, 15), 293) - 1
    for key in ("delivered", "window", "queued", "backlog"):
        np.testing.assert_array_equal(getattr(run, key), getattr(fine, key)[:, ends], err_msg=key)
    parts = np.split(fine.in_transit, ends[:-1] + 1, axis=1)
    means = np.stack([part.mean(axis=1) for part in parts], axis=1)
    np.testing.assert_allclose(run.in_transit, means, atol=1e-9)
    np.testing.assert_array_equal(run.lost.sum(axis=2), fine.lost.sum(axis=2))
    np.testing.assert_array_equal(run.paused, fine.paused)
    assert run.carried.sum() > 0


def test_samples_that_do_not_divide_a_run_are_a_little_shorter() -> None:
    run = simulate(random_scenario("fifo", 1), Packets(seed=1), duration=0.1 * np.pi, sample=0.02)
    assert run.time[-1] == 0.1 * np.pi
    np.testing.assert_allclose(np.diff(run.time, prepend=0.0), 0.1 * np.pi / 16)


@pytest.mark.parametrize("rule", [NewReno(), LinuxCUBIC()], ids=repr)
def test_ssthresh_is_held_constant_from_the_second_timeout_of_a_packet_on(rule: WindowRule) -> None:
    """RFC 5681, 3.1: the outage that lasts for two timeouts ends with the same slow start as that of one.

    The link stops at 1.2 s, with 62 packets in flight; when it works again, the ACKs of these end slow start at the
    window that the first timeout set.
    """
    windows = {}
    for end in (1.8, 3.2):
        outage = RateTrace("a->b", [0.0, 1.2, end], ["100Mbps", 0, "100Mbps"])
        flow = Flow("f", ("a", "b"), rule)
        scenario = Scenario(
            "outage", [Link("a", "b", "100Mbps", "132ms", 4000)], [flow], duration=4.0, elements=[outage]
        )
        run = simulate(scenario, Packets(), sample=0.132)
        windows[run.timeouts[0]] = float(run.window[0, run.time > end + 0.4][0])
    assert list(windows) == [1, 2]
    assert windows[2] == pytest.approx(windows[1], rel=0.1)
