"""Limited Slow-Start by RFC 3742, Sect. 2, and HyStart++ by RFC 9406, Sect. 4.2 and 4.3."""

from __future__ import annotations

import itertools
import math
import pickle

import pytest

from responsefn import (
    CUBIC,
    NewReno,
    Reno,
    hystart,
    limited_slow_start,
)
from tests.responsefn.events import Event

RULE = hystart(Reno())


def test_limited_slow_start_takes_the_round_trips_that_the_rfc_says() -> None:
    """Up to max_ssthresh their logarithm; then each adds max_ssthresh / 2 packets to 3/4 max_ssthresh, by K."""
    rule = limited_slow_start(Reno(), max_ssthresh=100.0)
    state, windows = rule.State(cwnd=1.0), [1.0]
    while state.cwnd < 1500.0:
        for _ in range(int(state.cwnd)):
            state = rule.on_ack(state, rule.params, None)
        windows.append(state.cwnd)
    fast = [w for w in windows if w <= 100.0]
    assert fast == [2.0**n for n in range(7)]
    steps = [after - w for w, after in itertools.pairwise(windows[8:])]
    assert min(steps) > 0.98 * 50.0  # 2 %: the window of the round trip in whole packets
    assert max(steps) < 75.0
    assert steps[-1] == pytest.approx(50.0, rel=0.04)
    most = math.log2(100.0) + (1500.0 - 100.0) / 50.0
    assert math.log2(100.0) + (1500.0 - 100.0) / 100.0 < len(windows) - 1 <= most + 1.0


def rounds(state, *round_trips: float, acks: int | None = None):
    """Return the states after rounds of ACKs, each at one round-trip time in s; ``acks``: of the last one."""
    found = []
    for n, rtt in enumerate(round_trips):
        count = int(state.left or state.cwnd) if acks is None or n + 1 < len(round_trips) else acks
        for _ in range(count):
            state = RULE.on_ack(state, RULE.params, Event(0.0, rtt))
        found.append(state)
    return found


@pytest.mark.parametrize(("last", "more"), [(0.001, 0.004), (0.08, 0.01), (1.0, 0.016)])
def test_slow_start_ends_after_eight_samples_of_a_longer_round_trip(last: float, more: float):
    """RttThresh = max(4 ms, min(lastRoundMinRTT / 8, 16 ms))."""
    begun = RULE.State(cwnd=10.0)
    assert rounds(begun, last, last + more, acks=7)[-1].rounds == 0.0
    assert rounds(begun, last, last + 0.999 * more, acks=12)[-1].rounds == 0.0
    state = rounds(begun, last, last + more, acks=8)[-1]
    assert (state.rounds, state.baseline) == (1.0, last + more)


def test_conservative_slow_start_grows_by_a_quarter_and_lasts_five_rounds() -> None:
    """The round in which it begins counts; then ssthresh is the window, and congestion avoidance begins."""
    states = rounds(RULE.State(cwnd=10.0), 0.1, *[0.12] * 5)
    assert states[0].cwnd == 20.0
    assert states[1].cwnd == 20.0 + 8.0 + 12.0 / 4.0
    assert [s.rounds for s in states] == [0.0, 2.0, 3.0, 4.0, 5.0, 5.0]
    for before, after in itertools.pairwise(states[1:]):
        assert after.cwnd == before.cwnd + int(before.left) / 4.0
    assert [s.ssthresh for s in states] == [math.inf] * 5 + [states[-1].cwnd]
    after = RULE.on_ack(states[-1], RULE.params, Event(0.0, 0.12))
    assert after.cwnd == states[-1].cwnd + 1.0 / states[-1].cwnd


def test_slow_start_goes_on_if_the_round_trip_was_long_by_chance() -> None:
    states = rounds(RULE.State(cwnd=10.0), 0.1, 0.12, 0.11)
    assert states[1].rounds == 2.0
    assert (states[2].rounds, states[2].baseline) == (0.0, math.inf)
    begun = states[2]
    assert RULE.on_ack(begun, RULE.params, Event(0.0, 0.11)).cwnd == begun.cwnd + 1.0


def test_after_a_loss_slow_start_is_the_standard_one() -> None:
    lost = RULE.on_timeout(rounds(RULE.State(cwnd=64.0), 0.1)[0], RULE.params, Event(0.0, 0.1))
    for _ in range(20):
        lost = RULE.on_ack(lost, RULE.params, Event(0.0, 0.3))
    assert lost.cwnd == 21.0


def test_rules_with_another_slow_start_respond_as_before() -> None:
    rule = hystart(CUBIC(C=0.2), css_rounds=3)
    plain = NewReno()
    assert hystart(plain).rate(1e-3, 0.1) == plain.rate(1e-3, 0.1)
    assert limited_slow_start(plain).cycle(1e-2, 0.1).rate == plain.cycle(1e-2, 0.1).rate
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert repr(rule) == "hystart(CUBIC(C=0.2), css_rounds=3)"
    assert rule.replace(css_rounds=5) == hystart(CUBIC(C=0.2))
    assert "RFC 9438" in rule.cite()
    assert "RFC 9406" in rule.cite()


@pytest.mark.parametrize(("name", "minimum"), [("n_rtt_sample", 1), ("css_growth_divisor", 2), ("css_rounds", 1)])
def test_the_smallest_values_of_the_documentation_are_taken(name: str, minimum: int) -> None:
    assert getattr(hystart(Reno(), **{name: minimum}), name) == minimum
    with pytest.raises(ValueError, match=f"{name} = .*: must be a finite number >= {minimum}"):
        hystart(Reno(), **{name: minimum - 1e-9})
    equal = hystart(Reno(), min_rtt_thresh=0.01, max_rtt_thresh=0.01)
    assert equal.min_rtt_thresh == equal.max_rtt_thresh
    assert limited_slow_start(Reno(), max_ssthresh=1.0).max_ssthresh == 1.0


def test_limited_slow_start_begins_above_max_ssthresh() -> None:
    """RFC 3742, Sect. 2: K = int(cwnd / (0.5 max_ssthresh)) where cwnd > max_ssthresh, else a packet per ACK."""
    rule = limited_slow_start(Reno(), max_ssthresh=100.0)
    for w in range(1, 401):
        step = rule.on_ack(rule.State(cwnd=float(w)), rule.params, None).cwnd - w
        assert step == pytest.approx(1.0 if w <= 100 else 1.0 / (w // 50), rel=1e-12)
