"""What a user's rule may do, and what it is told when it cannot be run."""

from __future__ import annotations

import inspect
import math
from typing import NamedTuple

import pytest

from hopflow import maximum
from responsefn import TFRC, Reno, RuleError, WindowRule, coexist, simulate_rule

P, RTT = 2e-3, 0.1


class Own(WindowRule):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))


class Minus(Own):
    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=s.cwnd - 50.0)


class Nothing(Own):
    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=0.0)


class Root(Own):
    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=math.sqrt(s.cwnd - 30.0))


class Triple(Own):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=3.0 * s.cwnd)


class Shrinking(Own):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd - 0.02)


class Forgotten(Own):
    @staticmethod
    def on_loss(s, q, e):
        s._replace(cwnd=2.0)


class Number(Own):
    @staticmethod
    def on_loss(s, q, e):
        return 0.5 * s.cwnd


class Assigned(Own):
    @staticmethod
    def on_ack(s, q, e):
        s.cwnd = s.cwnd + 1.0
        return s


class Method(Own):
    def on_ack(self, s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)


class TwoArguments(Own):
    @staticmethod
    def on_ack(s, q):
        return s


class Order(Own):
    class State(NamedTuple):
        ssthresh: float = math.inf
        cwnd: float = 1.0


class Text(Own):
    class Params(NamedTuple):
        mode: str = "fast"

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.mode)


class Compared(Text):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + (2.0 if q.mode == "fast" else 1.0) / s.cwnd)


WRONG = [
    (Minus, "on_loss", r"on_loss returns cwnd = -48: must be 1 to 1e\+15 packets; write maximum"),
    (Nothing, "on_loss", r"on_loss returns cwnd = 0: must be 1"),
    (Root, "on_loss", r"on_loss raises ValueError: .* for State\(cwnd=2"),
    (Triple, None, r"on_ack returns cwnd = .*: must be 1 to 1e\+15"),
    (Shrinking, None, r"on_ack returns cwnd = .*: must be 1"),
    (Forgotten, "on_loss", r"on_loss returns None for State\(.*: is a return missing\?"),
    (Number, "on_loss", r"on_loss returns 1\.0: must be the new state"),
    (Assigned, "on_ack", r"on_ack raises AttributeError.*return s\._replace\(cwnd=\.\.\.\)"),
    (Method, "on_ack", r"on_ack: write @staticmethod above it"),
    (
        TwoArguments,
        "on_ack",
        r"on_ack\(s, q\): must take the state s, the parameters q and the event",
    ),
    (Order, None, r"Order\.State has the fields ssthresh, cwnd: cwnd, in packets, must come first"),
    (Text, "on_ack", r"on_ack reads q\.mode, which is text: rules compute with numbers"),
    (Compared, "on_ack", r"on_ack reads q\.mode, which is text"),
]


@pytest.mark.parametrize(
    ("rule", "event", "message"), WRONG, ids=lambda x: getattr(x, "__name__", "")
)
def test_a_rule_that_goes_wrong_is_refused(rule, event, message):
    """By rate, simulation and coexistence alike, with the line of the function."""
    asks = [
        lambda: rule().rate(P, RTT),
        lambda: simulate_rule(rule(), P, RTT, events=100),
    ]
    if rule is not Triple:  # the largest window of `coexist` bounds it
        asks.append(lambda: coexist([rule(), Reno()], RTT, 1000.0, 100, seconds=20.0))
    for ask in asks:
        with pytest.raises(RuleError, match=message) as caught:
            ask()
        if event is not None:
            function = inspect.getattr_static(rule, event)
            first = getattr(function, "__func__", function).__code__.co_firstlineno
            lines = range(first, first + 5)
            assert any(f"{__file__}:{line}: " in str(caught.value) for line in lines)


def test_classes_and_other_things_in_the_place_of_rules_are_named():
    with pytest.raises(
        TypeError, match=r"rule = .*Reno.*: must be a window rule, such as Reno\(\)"
    ):
        simulate_rule(Reno, P, RTT)
    with pytest.raises(
        TypeError, match=r"rule = TFRC\(\): must be a window rule, such as Reno\(\)"
    ):
        simulate_rule(TFRC(), P, RTT)
    with pytest.raises(TypeError, match=r"losses = .*: must be a model of losses"):
        simulate_rule(Reno(), P, RTT, float)
