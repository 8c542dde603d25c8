"""TIMELY and its patch by Zhu et al. 2016, Algorithms 1 and 2, and the fixed point of the patched one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import Flow, Fluid, Link, Packets, Scenario, simulate
from responsefn import TIMELY, Feedback, PatchedTIMELY

RATE = 10e9 / 12000.0
OLD, NEW = TIMELY(segment=1.0, alpha=1.0), PatchedTIMELY(segment=1.0, alpha=1.0)


def after(rule: Any, rtt: float, *, previous: float = 1e-4, apart: float = 1.0, **more: float):
    """Return the rate of 1e5 packets/s after a round-trip time that followed ``previous``."""
    state = rule.start(1e6)._replace(rate=1e5, previous=previous, updated=0.0, **more)
    return rule.on_feedback(state, rule.params, Feedback(apart, rtt, 1.0, 0.0)).rate


def test_the_rate_grows_below_t_low_and_falls_above_t_high() -> None:
    delta = OLD.delta
    for rule in (OLD, NEW):
        assert after(rule, 40e-6, previous=30e-6) == 1e5 + delta
        assert after(rule, 1e-3) == pytest.approx(1e5 * (1.0 - rule.beta * 0.5))


def test_between_the_thresholds_it_follows_the_gradient() -> None:
    delta = OLD.delta
    assert after(OLD, 90e-6) == 1e5 + delta
    assert after(OLD, 90e-6, falling=4.0) == 1e5 + 5.0 * delta
    assert after(OLD, 110e-6, falling=4.0) == pytest.approx(1e5 * (1.0 - 0.8 * 0.5))
    assert after(OLD, 110e-6, apart=5e-6) == pytest.approx(1e5 * (1.0 - 0.25 * 0.8 * 0.5))


@pytest.mark.parametrize(("gradient", "weight"), [(-0.3, 0.0), (-0.1, 0.3), (0.0, 0.5), (0.4, 1.0)])
def test_the_patch_goes_by_the_round_trip_time_itself(gradient: float, weight: float) -> None:
    rtt = 1e-4 + gradient * NEW.min_rtt
    expected = NEW.delta * (1.0 - weight) + 1e5 * (1.0 - NEW.beta * weight * (rtt - 5e-5) / 5e-5)
    assert after(NEW, rtt) == pytest.approx(expected)


def test_a_segment_gives_one_round_trip_time() -> None:
    rule = TIMELY(segment=4.0)
    state = rule.start(1e6)._replace(rate=1e5, previous=4e-5, updated=0.0)
    rates = []
    for n in range(8):
        state = rule.on_feedback(state, rule.params, Feedback(0.1 * n, 4e-5, 1.0, 0.0))
        rates.append(state.rate)
    assert np.flatnonzero(np.diff([1e5, *rates])).tolist() == [3, 7]


def star(rule: Any, flows: int) -> Scenario:
    """Return flows over one link of 10 Gb/s and 20 us, which start 2 ms after one another at its rate."""
    links = [Link("in", "out", RATE, 5e-6, 4000.0)]
    links += [Link(f"s{n}", "in", RATE, 5e-6, 4000.0) for n in range(flows)]
    senders = [Flow(f"{n}", (f"s{n}", "in", "out"), rule, start=2e-3 * n) for n in range(flows)]
    return Scenario("TIMELY", tuple(links), tuple(senders), duration=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Packets(seed=1), Fluid()], ids=["packets", "fluid"])
@pytest.mark.parametrize("flows", [2, 4])
def test_patched_flows_come_to_the_fixed_point(method: Any, flows: int) -> None:
    """Zhu et al. 2016, fixed point of patched TIMELY: equal rates, RTT = T_low (1 + N delta / (beta C)).

    A packet and a half for whole packets and for the transmission times that a round trip has.
    """
    rule = PatchedTIMELY()
    run = simulate(star(rule, flows), method=method, sample=1e-4)
    late = run.time > 0.2
    got = np.ptp(run.delivered[:, late], axis=1)
    rtt = rule.t_low * (1.0 + flows * rule.delta / (rule.beta * RATE))
    queue = (rtt - 20e-6) * RATE - 2.0
    assert got.sum() == pytest.approx(RATE * 0.1, rel=2e-3)
    assert got.min() / got.max() > 0.99
    assert run.queued.max(axis=0)[late].mean() == pytest.approx(queue, abs=1.5)


@pytest.mark.slow
def test_flows_without_the_patch_share_by_how_they_began() -> None:
    """Zhu et al. 2016, infinite fixed points: the queue never settles."""
    run = simulate(star(TIMELY(), 2), method=Packets(seed=1), sample=1e-4)
    late = run.time > 0.2
    got = np.ptp(run.delivered[:, late], axis=1)
    assert got.min() / got.max() < 0.5
    assert run.queued.max(axis=0)[late].std() > 5.0


@pytest.mark.parametrize(("name", "value"), [("beta", 0.0), ("t_high", 1e-6), ("segment", 0.5)])
def test_parameters_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{name} = "):
        TIMELY(**{name: value})
    with pytest.raises(ValueError, match="not below t_low"):
        TIMELY(t_low=1.0)
    with pytest.raises(ValueError, match="follows round-trip times"):
        TIMELY().rate(0.01)
