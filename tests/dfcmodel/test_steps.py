"""The step: what half of it changes, and whether a run is chaotic; the bare law in bulk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Scenario, chain, simulate, takano2006
from dfcmodel.step_checks import check_step
from dfcmodel.theory.law import bare_law
from dfcmodel.theory.ring_arrays import TILE, advance_rings
from responsefn import WindowRule


def test_first_loss_in_a_fifo_network_does_not_depend_on_the_step() -> None:
    """The moment when the buffer is full is found inside the step."""
    times = [
        simulate(takano2006("4", dfc=False), duration=0.08, steps_per_delay=m).first_loss[0]
        for m in (2, 4, 16)
    ]
    assert np.ptp(times) < 1e-8
    assert times[0] == pytest.approx(0.0717, abs=5e-4)  # ns-2: 0.07178, with its packets' delays


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
    first = np.array([simulate(scenario, steps_per_delay=m).first_loss[0] for m in steps])
    peak = np.array([simulate(wide, steps_per_delay=m).peak_queue.max() for m in steps])
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


class Growing(WindowRule):
    """A rule whose window becomes no number."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd * (s.cwnd - s.cwnd) / (s.cwnd - s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        return s


@pytest.mark.slow
def test_no_number_stops_the_run_with_time_and_place() -> None:
    flow = Flow("broken", (1, 2, 3), Growing())
    scenario = Scenario("test", chain(3, rate=1e4, delay=1e-3, buffer=100), (flow,), 0.1)
    with pytest.raises(ArithmeticError, match=r"t = 0\.00\d+ s: the window of flow 'broken'"):
        simulate(scenario)


@pytest.mark.parametrize(("nodes", "threads"), [(20, 1), (20, 3), (TILE + 6, 1), (3 * TILE, 2)])
def test_rings_follow_the_law(nodes: int, threads: int) -> None:
    """In one tile and in several, whose last one is short or whole; 18 periods are two turns."""
    n = np.random.default_rng(3).uniform(0, 10, (5, nodes))
    expected = [bare_law(row, 0.1, 30, base_rate=5.0)[-1] for row in n]
    J = np.full_like(n, 5.0)
    w = J - 0.1 * n
    advance_rings(n, J, w, 0.1, 12, threads=threads)
    advance_rings(n, J, w, 0.1, 18, threads=threads)
    np.testing.assert_allclose(n, expected, rtol=1e-12)


def test_rings_refuse_what_is_not_alike() -> None:
    n = np.ones((2, 5))
    with pytest.raises(ValueError, match="sent of shape"):
        advance_rings(n, n[:1], n.copy(), 0.1, 1)
    with pytest.raises(ValueError, match="told of shape"):
        advance_rings(n, n.copy(), np.ones((5, 2)).T, 0.1, 1)
    with pytest.raises(ValueError, match="diffusion"):
        advance_rings(n, n.copy(), n.copy(), 0.0, 1)
