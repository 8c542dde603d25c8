"""LEDBAT by RFC 6817, 2.4.2: growth by the distance from the target."""

from __future__ import annotations

import pytest

from responsefn import LEDBAT, Delivery

RULE = LEDBAT()
SEEN = Delivery(*[0.0] * 15)._replace(time=1.0, acked=1.0, in_flight=100.0)


@pytest.mark.parametrize(("delay", "change"), [(0.0, 1.0), (0.05, 0.5), (0.1, 0.0), (0.2, -1.0)])
def test_the_window_moves_by_the_distance_from_the_target(delay: float, change: float) -> None:
    base = 0.04
    state = RULE.State()._replace(cwnd=50.0, base=base, last=1.0, last_2=1.0, last_3=1.0)
    after = LEDBAT.on_delivery(state, RULE.params, SEEN._replace(rtt=base + delay))
    assert after.cwnd - 50.0 == pytest.approx(change / 50.0, abs=1e-12)


def test_the_base_is_forgotten_after_ten_minutes() -> None:
    state = RULE.State()
    for minute in range(12):
        rtt = 0.01 if minute == 0 else 0.05
        seen = SEEN._replace(time=60.0 * (minute + 1), rtt=rtt)
        state = LEDBAT.on_delivery(state, RULE.params, seen)
    held = [getattr(state, name) for name in state._fields if name.startswith("base")]
    assert min(held) == 0.05


@pytest.mark.parametrize(("window", "after"), [(9.0, 4.5), (3.0, 2.0), (2.0, 2.0), (1.0, 1.0)])
def test_a_loss_halves_the_window_and_never_raises_it(window: float, after: float) -> None:
    """``cwnd = min(cwnd, max(cwnd/2, MIN_CWND * MSS))``; a timeout leaves one packet."""
    assert LEDBAT.on_loss(RULE.State(cwnd=window), RULE.params, None).cwnd == after


@pytest.mark.parametrize("target", [0.0, 0.2])
def test_the_target_is_at_most_100_ms(target: float) -> None:
    with pytest.raises(ValueError, match="target"):
        LEDBAT(target=target)
