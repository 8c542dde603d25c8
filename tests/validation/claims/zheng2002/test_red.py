"""The fixed point of RED."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import TFRC, independent_constant
from validation.claims.effect_claims import where
from validation.claims.zheng2002.red import (
    BY_EVENTS,
    FAST,
    SLOW,
    SWITCHES,
    WITH_TIMER,
    Group,
    fixed_point,
    variation,
)


@pytest.mark.parametrize("link", [SLOW, FAST])
@pytest.mark.parametrize("number", [5, 20, 60])
def test_flows_fill_the_link_at_the_fixed_point(number: int, link) -> None:
    found = fixed_point(Group("TCP(1,1/2)", number), Group("TFRC", number), link=link)
    sent = number * sum(found.rates) * (1 - found.loss)
    assert sent == pytest.approx(link.capacity, rel=1e-6)
    assert found.loss == link.loss(found.queue)


def test_red_is_gentle_and_continuous() -> None:
    queues = np.linspace(0.0, 200.0, 2001)
    losses = np.array([SLOW.loss(queue) for queue in queues])
    assert losses[0] == 0.0
    assert losses[-1] == 1.0
    assert np.abs(np.diff(losses)).max() < 0.002
    assert SLOW.loss(90.0) == pytest.approx(0.1)


def test_loss_is_that_of_the_bundled_runs() -> None:
    """20 TCP flows: ns-2 loses 2.16 % of the packets; the fixed point knows no burst, hence 15 %."""
    assert fixed_point(Group("TCP(1,1/2)", 20)).loss == pytest.approx(0.0216, rel=0.15)


@pytest.mark.parametrize(
    ("kind", "a", "b"), [("TCP(1,1/2)", 1, 1 / 2), ("TCP(3/7,1/4)", 3 / 7, 1 / 4)]
)
def test_variation_has_the_moments_of_the_window_under_independent_losses(kind, a, b) -> None:
    """Simulated window by window, p = 1e-4: mean square a/(p b), and its own mean."""
    rng = np.random.default_rng(5)
    p, window, time, first, second = 1e-4, 100.0, 0.0, 0.0, 0.0
    for packets in rng.exponential(1 / p, 40_000):
        top = np.sqrt(window**2 + 2 * a * packets)
        time += (top - window) / a
        first += (top**2 - window**2) / (2 * a)
        second += (top**3 - window**3) / (3 * a)
        window = (1 - b) * top
    mean, square = first / time, second / time
    assert variation(kind) == pytest.approx(np.sqrt(square / mean**2 - 1), rel=0.03)
    assert independent_constant(b) > 0


def test_a_periodic_saw_tooth_varies_less() -> None:
    assert variation("TCP(1,1/2)", periodic=True) == pytest.approx(1 / (3 * np.sqrt(3)))


def test_losses_of_one_round_trip_are_one_event_of_tfrc() -> None:
    """RFC 5348, Sect. 5.2: T = f(p_event) with p_event = p/(1 + p T R), as the bundled runs count it."""
    p, rtt = 0.0413, 0.0845
    rate = SWITCHES[WITH_TIMER](p, rtt)
    event = p / (1.0 + p * rate * rtt)
    assert rate == pytest.approx(float(TFRC(rto=0.2).rate(p=event, rtt=rtt)), rel=1e-5)
    flows = where("zheng2002/friendliness-15", pair="TFRC with TCP(1,1/2)", number=16, kind="TFRC")
    assert float(flows["p_event"].mean()) == pytest.approx(event, rel=0.03)  # seeds: about 2 %


def test_tfrc_gains_by_each_switch() -> None:
    """An equation of loss events, fewer than losses, sends more; and so does a shorter timeout."""
    rates = [fixed_point(Group(kind, 16), Group("TCP(1,1/2)", 16)).rates
             for kind in ("TFRC", BY_EVENTS, WITH_TIMER)]  # fmt: skip
    ratios = [a / b for a, b in rates]
    assert ratios == sorted(ratios)
