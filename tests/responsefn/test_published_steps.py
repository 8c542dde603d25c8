"""Every window rule of the papers and RFCs, step by step at random states, against its source in plain Python."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Any

import pytest

from responsefn import NS2Vegas, Reno, catalogue, hystart, limited_slow_start
from responsefn.rule_catalogue import REGISTRY
from responsefn.rules.highspeed_tcp import DECREASES
from responsefn.rules.index import RULES as KINDS
from tests.responsefn.events import Event
from tests.responsefn.rules import module_steps
from tests.responsefn.rules.published_steps import ACKS, LOSSES, TIMEOUTS

RULES = {repr(rule): rule for rule in (*catalogue("rule").entries, NS2Vegas())}
STEPS = {"on_ack": ACKS, "on_loss": LOSSES, "on_timeout": TIMEOUTS}
WITH_FIELDS = {
    repr(rule): rule
    for name, (_, kind) in KINDS.items()
    if kind in ("rule", "delivery rule")
    for entry in [REGISTRY.named("rule", name)]
    for rule in (entry(), *(entry(kernel=version) for version in getattr(entry, "older", ())))
}
WITH_FIELDS |= {repr(rule): rule for rule in (hystart(Reno()), limited_slow_start(Reno()))}
CUTS = {
    "on_ack": module_steps.ACKS,
    "on_loss": module_steps.LOSSES,
    "on_timeout": module_steps.TIMEOUTS,
}
BORDERS = (1.0, 2.0, 14.0, 15.0, 15.9, 16.1, 38.0, 118.0, 221.0, 84035.0, 89053.0, 2e5)
"""Windows at which rules begin to do something else, in packets, and rows of RFC 3649's table."""
STATES = 500
"""Random states of each function: enough for windows on both sides of every threshold."""


def random_state(rule: Any, draw: random.Random) -> tuple[Any, Event]:
    """Return a state and an event: windows over four decades, queues from none to as long as the path."""
    cwnd = draw.choice(
        (
            10 ** draw.uniform(0.0, 4.0),
            10 ** draw.uniform(0.0, 4.0),
            draw.choice(BORDERS),
            draw.uniform(1.0, 4.0),
        )
    )
    rtt = 10 ** draw.uniform(-2.0, -0.5)
    base = rtt * draw.choice((1.0, 1.0, draw.uniform(0.2, 1.0), draw.uniform(0.97, 1.0)))
    part = draw.choice((1.0, draw.random(), draw.choice((0.0098, 0.0102, 0.098, 0.102, 0.79, 0.81))))
    queue = cwnd * (rtt - base) / rtt  # a third of it is what Fusion compares with
    time = draw.uniform(0.5, 20.0)
    drawn = {
        "cwnd": cwnd, "ssthresh": cwnd * draw.choice((0.5, 0.9, 1.0, 2.0, math.inf)),
        "peak": cwnd * draw.choice((0.5, 0.999, 1.0, 1.001, 1.3, 4.0)), "plateau": draw.uniform(0.0, 5.0),
        "since": time - draw.choice((0.3, 0.999, 1.5, 6.0)), "reno": cwnd * draw.choice((0.3, 0.9, 1.2)),
        "base_rtt": base, "top_rtt": base + (rtt - base) / max(part, 1e-9), "beta": draw.uniform(0.5, 0.8),
        "estimate": draw.choice((cwnd / rtt * draw.uniform(0.2, 1.5), queue * draw.uniform(0.9, 1.1) / 3e-3)), "top_rate": cwnd / rtt * draw.uniform(0.5, 3.0),
        "mean_rtt": draw.choice((0.0, rtt * draw.uniform(0.7, 1.3))),
        "turn": time + rtt * draw.choice((-1.0, 0.5, 0.87, 0.88, 1.5)),
        "loss_rtt": draw.choice((0.0, rtt * draw.uniform(0.9, 3.0))), "alpha": draw.choice((1.0, draw.random())),
        "round_min_rtt": math.inf, "samples": 0.0, "left": 0.0,  # of rounds, which these rules do not count
        "loss_window": cwnd * draw.uniform(0.2, 1.0), "base_window": cwnd * draw.uniform(0.2, 1.0),
    }  # fmt: skip
    if rule.State._fields[-1] == "since":  # DCTCP's counts ACKs
        drawn["since"] = cwnd * draw.choice((0.5, 1.0, 2.0))
    state = rule.State(**{name: drawn[name] for name in rule.State._fields})
    return state, Event(time, rtt)


@pytest.mark.parametrize("function", STEPS)
@pytest.mark.parametrize("name", ACKS)
def test_a_step_is_that_of_the_source(name: str, function: str) -> None:
    """To rounding: sums and powers in another order, of differences that are up to a thousandth of the window."""
    rule, draw = RULES[name], random.Random(f"{name} {function}")
    for _ in range(STATES):
        state, event = random_state(rule, draw)
        found = getattr(rule, function)(state, rule.params, event)
        expected = {**state._asdict(), **STEPS[function][name](state, event.time, event.rtt)}
        different = {
            field: (float(value), expected[field])
            for field, value in found._asdict().items()
            if not math.isclose(value, expected[field], rel_tol=1e-11, abs_tol=1e-13)
        }
        assert not different, (state, event)


def any_state(rule: Any, draw: random.Random) -> Any:
    """Return a state whose fields are not those of a new connection, on both sides of each comparison of a cut."""
    cwnd = draw.choice((draw.uniform(1.0, 20.0), draw.choice((*BORDERS, 100.0, 101.0)), 10 ** draw.uniform(0.0, 4.0)))
    drawn = {
        "cwnd": cwnd, "ssthresh": cwnd * draw.choice((0.5, 1.0, 2.0, math.inf)), "peak": cwnd + draw.choice((-5.0, 0.5, 1.0, 1.5, 40.0)),
        "shadow": cwnd * draw.uniform(0.5, 3.0), "window": cwnd * draw.choice((0.01, 1.0)), "queue": float(draw.randint(0, 200)),
        "b": draw.randint(8, 32) / 64, "beta": draw.randint(64, 102) / 128, "throughput": cwnd * draw.uniform(5.0, 60.0), "row": float(draw.randint(0, len(DECREASES) - 1)), "phase": float(draw.randint(0, 3)),
        "reduced": float(draw.randint(0, 2)), "speed": float(draw.randint(-8, 2)), "reno": float(draw.randint(2, 99)),
        "long_rounds": float(draw.randint(14, 17)), "timeouts": float(draw.randint(0, 3)), "waiting": draw.choice((2.9, 3.0, 5.0)),
        "last_top_throughput": 100.0, "top_throughput": draw.choice((79.0, 80.0, 100.0, 120.0, 121.0)), "steady": float(draw.randint(0, 1)),
        "left": draw.choice((1.0, 2.0, 9.0)), "samples": float(draw.choice((0, 1, 2, 3, 6, 7, 8))), "since": draw.choice((-1.0, 0.5, 3.0, 4.9)), "baseline": draw.choice((math.inf, draw.uniform(0.05, 0.3))), "rounds": draw.choice((0.0, 1.0, 5.0, 10.0, 11.0)),
        "acks": draw.choice((5.0, 18.5, 19.0, 28.5, 29.0, 58.5, 59.0, 80.0)), "clear": draw.choice((0.0, 7.0, 8.0)), "last": draw.choice((4.0, 5.0)),
        "renewal": draw.choice((4.0, 6.0, math.inf)), "grows": float(draw.randint(0, 1)), "short_rounds": draw.choice((0.0, 49.0, 50.0)),
        "mean_rtt": draw.choice((0.0, draw.uniform(0.01, 0.3))), "base_rtt": draw.uniform(0.01, 0.05), "top_rate": cwnd * draw.uniform(1.0, 60.0), "begun": cwnd * draw.choice((0.5, 1.0)),
        "fell": 5.0 - draw.choice((0.001, 0.1, 0.4)), "target": draw.choice((15.0, 800.0)), "estimate": draw.uniform(0.0, 3e3),
    }  # fmt: skip
    for name in rule.State._fields:
        drawn.setdefault(name, draw.uniform(0.05, 0.3) if name.endswith("rtt") else draw.uniform(0.5, 60.0))
    return rule.State(**{name: drawn[name] for name in rule.State._fields})


@pytest.mark.parametrize(("function", "name"), [(function, name) for function in CUTS for name in CUTS[function]])
def test_an_event_leaves_the_state_of_the_source(function: str, name: str) -> None:
    rule, draw = WITH_FIELDS[name], random.Random(f"{name} {function}")
    for _ in range(STATES // 5):
        state = any_state(rule, draw)
        event = Event(
            5.0,
            draw.choice(
                (
                    10 ** draw.uniform(-2.5, -0.5),
                    getattr(state, "last_round_min_rtt", 0.1) + draw.choice((3.9e-3, 4.1e-3, 15e-3, 17e-3)),
                )
            ),
        )
        expected = {**state._asdict(), **CUTS[function][name](state, event.time, event.rtt)}
        after = getattr(rule, function)(state, rule.params, event)._asdict()
        assert after == pytest.approx(expected, rel=1e-12), (state, event)


@pytest.mark.parametrize("name", [name for name, rule in WITH_FIELDS.items() if not name.startswith("BBR")])
def test_a_new_connection_has_the_first_state_of_the_source(name: str) -> None:
    """Of BBR in test_bbr.py."""
    rule = WITH_FIELDS[name]
    first = dict.fromkeys(rule.State._fields, 0.0) | {"cwnd": 1.0, "ssthresh": math.inf}
    minima = ("min_rtt", "base_rtt", "next_rtt", "round_min_rtt")
    first |= {field: math.inf for field in first if field in minima}
    first |= {field: value for field, value in module_steps.FIRST_STATES.get(name, {}).items() if field in first}
    assert rule.State()._asdict() == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("name", [name for name, rule in WITH_FIELDS.items() if not hasattr(rule, "on_delivery")])
def test_slow_start_ends_at_the_threshold(name: str) -> None:
    """RFC 5681, Sect. 3.1, and tcp_in_slow_start: below ssthresh, and not at it."""
    rule, event = WITH_FIELDS[name], Event(3.0, 0.05)
    for cwnd in (20.0, 100.0):
        at, above, below = (
            rule.on_ack(rule.State()._replace(cwnd=cwnd, ssthresh=threshold), rule.params, event).cwnd
            for threshold in (cwnd, 0.9 * cwnd, 2.0 * cwnd)
        )
        assert at == above
        assert at != below or at - cwnd == 1.0


def test_every_rule_is_compared_with_its_source() -> None:
    """By the steps above, or by a test of its own in tests/responsefn/rules, as modules of Linux are with their files."""
    assert set(ACKS) == set(LOSSES)
    folder = Path(__file__).parent / "rules"
    tests = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("test_*.py"))
    with_steps = {type(RULES[name]) for name in ACKS}
    without = {type(rule).__name__ for rule in RULES.values() if type(rule) not in with_steps}
    untested = {name for name in without if not re.search(rf"\b{name}\b", tests)}
    assert not untested, f"{untested}: test their steps in tests/responsefn/rules"
