"""How answers depend on the step and on a small disturbance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Fluid, Scenario, chain, check_step, simulate, takano2006


def test_first_loss_in_a_fifo_network_does_not_depend_on_the_step() -> None:
    """The moment when the buffer is full is found inside the step."""
    times = [
        simulate(
            takano2006("4", dfc=False, tcp="newreno"),
            Fluid(steps_per_delay=m, store_and_forward=False),
            duration=0.08,
        ).first_loss[0]
        for m in (2, 4, 16)
    ]
    assert np.ptp(times) < 1e-8


def test_first_loss_with_transmission_times_is_ns2s() -> None:
    """ns-2: 0.07178 s. Round trips are rounded by half a step at most, and there are 12 before."""
    times = [
        simulate(takano2006("4", dfc=False), duration=0.08, method=Fluid(m)).first_loss[0]
        for m in (4, 16, 64)
    ]
    assert abs(times[0] - times[2]) < 12 * 0.5 * 25e-6
    np.testing.assert_allclose(times, 0.07178, rtol=0.007)


def test_first_loss_and_peak_queue_with_dfc_are_right_to_a_part_of_the_step() -> None:
    """Feedback clocks are rounded to steps: what follows errs by a tenth of one."""
    law = DFC(diffusion=0.05, phases="synchronous")
    flows = [
        Flow("one", range(1, 7), CBR(900.0), host="unshaped"),
        Flow("two", (3, 4, 5, 6), CBR(700.0), start=0.0311, host="unshaped"),
    ]
    links = chain(6, rate=1000.0, delay=2e-3, buffer=10.0, discipline=law)
    scenario = Scenario("cbr", links, flows, duration=0.2)
    wide = replace(scenario, links=[replace(link, buffer=1e3) for link in links])
    steps = np.array([2, 4, 8, 16, 64])
    first = np.array([simulate(scenario, method=Fluid(m)).first_loss[0] for m in steps])
    peak = np.array([simulate(wide, method=Fluid(m)).peak_queue.max() for m in steps])
    h = 2e-3 / steps[:-1]
    assert (np.abs(first[:-1] - first[-1]) < 0.1 * h).all()
    assert (np.abs(peak[:-1] - peak[-1]) < 0.1 * h * 1600.0).all()  # 1600 packets/s come in


def test_a_run_that_chance_decides_says_so() -> None:
    tahoe = check_step(takano2006("1", dfc=False))
    assert tahoe.chaotic
    assert "ensemble" in repr(tahoe)
    settled = check_step(takano2006("1"), duration=0.3)
    assert not settled.chaotic
    assert settled.status.ok
    assert settled.efficiency_error.max() < 1e-3
    assert settled.plot().get_ylabel() == "efficiency"


def test_a_run_shorter_than_a_step_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^duration = 1e-300: .*; in s; the step is 2\.5e-05 s"):
        check_step(takano2006("1"), duration=1e-300)
