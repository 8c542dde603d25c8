"""Compiled rules do what plain Python does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from hopflow import kernels, maximum
from responsefn import (
    AIMD,
    Reno,
    Tahoe,
    WindowRule,
    simulate_rule,
)

P, RTT = 2e-3, 0.1


class Own(WindowRule):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))


def quick_step(s):
    return 2.0 / s.cwnd


class Branches(Own):
    """Branches, an early return, a loop, a helper and `max` all mean what they mean in Python."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < 4.0:
            return s._replace(cwnd=s.cwnd + 0.5)
        step = 0.0
        for _ in range(2):
            step += 0.25 * quick_step(s)
        return s._replace(cwnd=max(s.cwnd + step, 1.0))


def test_plain_python_and_compiled_rules_agree():
    """A cycle in plain Python, the compiled one and the simulation: one answer."""
    rule = Branches()
    few = rule.rate(P, RTT)
    many = rule.rate([P] * 6, RTT)
    assert many == pytest.approx(few, rel=1e-12)
    assert simulate_rule(rule, P, RTT, events=300).rate == pytest.approx(few, rel=2e-3)


def many_steps(ssthresh, q, cwnds):
    """Template: 60 ACKs, a loss after every 20, a timeout at the 58th."""
    s = State(1.0, ssthresh)  # noqa: F821
    for i in range(len(cwnds)):
        s = on_ack(s, q, 0.0)  # noqa: F821
        if i % 20 == 19:
            s = on_loss(s, q, 0.0)  # noqa: F821
        if i == 57:
            s = on_timeout(s, q, 0.0)  # noqa: F821
        cwnds[i] = s.cwnd
    return s.ssthresh


class Numbers(NamedTuple):
    a: float
    b: float


@pytest.mark.parametrize("rule", [AIMD(0.2, 0.125), Reno(), Tahoe()], ids=repr)
def test_compiled_rules_do_the_same(rule, monkeypatch):
    functions = {name: getattr(rule, name) for name in ("on_ack", "on_loss", "on_timeout")}
    compiled = kernels.build(many_steps, functions=functions, tuples={"State": rule.State._fields})
    numbers = Numbers(getattr(rule, "a", 0.0), getattr(rule, "b", 0.0))
    expected, computed = np.empty(60), np.empty(60)
    for name, value in (functions | {"State": rule.State}).items():
        monkeypatch.setitem(many_steps.__globals__, name, value)
    assert compiled(8.0, numbers, computed) == many_steps(8.0, numbers, expected)
    np.testing.assert_array_equal(computed, expected)
