"""Every rule on one path, ACK by ACK in plain Python, as recorded: a changed step changes a window later.

Single steps from drawn states are recorded too: their numbers are often equal to a threshold of the rule.

``python -m tests.responsefn.test_rule_walks``, part of ``make generated``, writes the record after a rule was added or corrected on purpose; the
steps themselves are held against their sources in `test_published_steps` and in the tests of the rules.
"""

from __future__ import annotations

import contextlib
import math
import random
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from responsefn import DCQCN, TIMELY, Elapsed, Feedback, FixedRate, PatchedTIMELY
from responsefn.rules.deliveries.delivery_rule import Delivery
from responsefn.rules.rates.rate_rule import with_base_rtt
from tests.records import read_record, write_record
from tests.responsefn.test_published_steps import WITH_FIELDS

PATHS = {"wide area": (0.04, 1000.0), "data center": (2e-5, 2e6)}
"""Round-trip time without a queue in s, and packets/s of the bottleneck, whose buffer has `BUFFER` packets."""
BUFFER, ACKS, EVERY = 50.0, 6000, 40
TIMEOUT, LESS = 2500, 4200
"""The ACK after which the timer expires, and from which on half of the rate is left."""
OTHER_ACKS, SPARSE = 3000, 7
"""ACKs of rules with other parameters, of whose numbers every seventh is recorded."""


class Seen(NamedTuple):
    """What a window rule sees of an ACK."""

    time: float
    rtt: float
    acks: float
    marks: float


def walk(rule: Any, base_rtt: float, full_rate: float, acks: int = ACKS) -> list[float]:
    """Return windows, and the other numbers of the state, on the way."""
    s, time, pause, delivered, found = rule.start(base_rtt, full_rate), 0.0, 0, 0.0, []
    luck, rtt, recovering = 0.5, base_rtt, 0
    is_delivery = hasattr(rule, "on_delivery")
    for n in range(acks):
        rate = full_rate if n < LESS else 0.5 * full_rate
        flight = min(s.cwnd, rtt * getattr(s, "pacing_rate", math.inf) or math.inf)
        queue = min(max(flight - base_rtt * rate, 0.0), BUFFER)
        rtt = base_rtt + queue / rate
        time += max(rtt / max(flight, 1.0), 1.0 / rate)
        luck = (luck * 997.0 + 0.123) % 1.0
        overflow = flight - base_rtt * rate > BUFFER
        lost = pause <= 0 and (overflow or luck < 4e-4)
        delivered += 1.0
        recovering = max(recovering - 1, 0)
        event: Any = Seen(time, rtt, 1.0, float(luck < 0.002))
        if is_delivery:
            event = Delivery(*[0.0] * len(Delivery._fields))._replace(
                time=time, rtt=rtt, acked=1.0, lost=float(lost), marks=float(luck < 0.002), delivered=delivered,
                prior_delivered=max(delivered - flight, 0.0), interval=rtt, in_flight=flight, sent_in_flight=flight,
                lost_since=float(lost), lost_in_flight=lost * flight,
                lost_with=float(lost), recovering=float(recovering > 0), random=luck,
            )  # fmt: skip
            s = rule.on_delivery(s, rule.params, event)
        else:
            s = rule.on_ack(s, rule.params, event)
        if hasattr(rule, "on_mark") and luck < 0.002:
            s = rule.on_mark(s, rule.params, event)
        if n == TIMEOUT:
            s, pause = rule.on_timeout(s, rule.params, event), 10
        elif lost:
            s, pause = rule.on_loss(s, rule.params, event), max(int(s.cwnd), 10)
            recovering = pause
        pause -= 1
        if n % EVERY == EVERY - 1:
            found.append(s.cwnd)
            if n % (10 * EVERY) == 10 * EVERY - 1:
                found += s[1:]
    return [float(f"{value:.9g}") for value in found]


def with_other_values(rule: Any) -> Iterator[Any]:
    """Yield a rule with another value of each of its numbers: what is off by default is on, and the reverse."""
    for name, value in rule.params._asdict().items():
        if not isinstance(value, (int, float)) or math.isinf(value):
            continue
        for other in (1.0 - value,) if value in (0.0, 1.0) else (0.8 * value, 1.25 * value, value + 1.0):
            with contextlib.suppress(ValueError):
                yield rule.replace(**{name: int(other) if other == int(other) else other})
                break


WALKS = {f"{name}, {path}": (rule, *numbers) for name, rule in WITH_FIELDS.items() for path, numbers in PATHS.items()}
OTHERS = {
    f"{name}: {other!r}": (other, *PATHS["wide area"])
    for name, rule in WITH_FIELDS.items()
    for other in with_other_values(rule)
}


def test_every_rule_is_recorded() -> None:
    known = read_record(__file__).keys()
    assert known == {*WALKS, *OTHERS, *AT_RATES, *STEPS}, "a rule or a parameter is new: `make generated` records it"


@pytest.mark.parametrize("name", WALKS)
def test_a_rule_walks_as_recorded(name: str) -> None:
    known = read_record(__file__)[name]
    assert walk(*WALKS[name]) == pytest.approx(known, rel=1e-6, abs=1e-12, nan_ok=True)


def walk_at_rate(rule: Any) -> list[float]:
    """Return the numbers of the state of a rate rule on the way: feedback of 16 packets, then a step of time.

    Round-trip times swing by half around 20 us; marks come in bursts.
    """
    line, base_rtt = 1e6, 1.6e-5
    s, time, found = rule.start(line), 0.0, []
    for n in range(600):
        step = 16.0 / min(max(s.rate, 1e3), line)
        time += step
        rtt = 2e-5 * (1.0 + 0.5 * math.sin(0.07 * n))
        marks = 1.0 if n % 90 < 25 and n % 5 == 0 else 0.0
        s = rule.on_feedback(s, rule.params, Feedback(time, max(rtt, base_rtt), 16.0, marks))
        s = rule.on_time(s, rule.params, Elapsed(time, step, 16.0))
        if n % 20 == 19:
            found += s
    return [float(f"{value:.9g}") for value in found]


RATE_RULES = [with_base_rtt(rule(), 1.6e-5) for rule in (DCQCN, FixedRate, TIMELY, PatchedTIMELY)]
RATE_RULES += [rule.expected() for rule in RATE_RULES if rule.expected() is not None]
AT_RATES = {
    f"at rates, {type(rule).__name__}: {each!r}": each
    for rule in RATE_RULES
    for each in (rule, *with_other_values(rule))
}


@pytest.mark.parametrize("name", AT_RATES)
def test_a_rate_rule_walks_as_recorded(name: str) -> None:
    assert walk_at_rate(AT_RATES[name]) == pytest.approx(read_record(__file__)[name], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("rule", WITH_FIELDS)
def test_a_rule_with_other_parameters_walks_as_recorded(rule: str) -> None:
    known = read_record(__file__)
    for name in OTHERS:
        if name.startswith(f"{rule}: "):
            found = walk(*OTHERS[name], acks=OTHER_ACKS)[::SPARSE]
            assert found == pytest.approx(known[name], rel=1e-6, abs=1e-12, nan_ok=True), name


EVENTS = ("on_ack", "on_loss", "on_timeout", "on_mark", "on_drop", "on_delivery", "on_feedback", "on_time")
STEP_RULES = {**WITH_FIELDS, **{repr(rule): rule for rule in RATE_RULES}}
STEPS = [f"{function} of {name}" for name, rule in STEP_RULES.items() for function in EVENTS if hasattr(rule, function)]
STEP_COUNT, GROUP = 160, 4
"""Steps of each function, and how many of them make a recorded number."""


def steps_from_drawn_states(question: str) -> list[float]:
    """Return sums over groups of steps of all numbers of the state after each of them.

    A number of the state or of the event is small, a constant of the rule's module, one of its parameters, or equal
    to another one, so that comparisons meet equal numbers.
    """
    function, _, name = question.partition(" of ")
    rule, draw = STEP_RULES[name], random.Random(question)
    fields = {"on_delivery": Delivery._fields, "on_feedback": Feedback._fields, "on_time": Elapsed._fields}
    constants = [
        value for value in vars(sys.modules[type(rule).__module__]).values() if isinstance(value, (int, float))
    ]
    pool = [0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0, 8.0, 16.0, 50.0, -1.0, math.inf]
    pool += [float(value) for value in (*constants, *rule.params) if isinstance(value, (int, float))]
    at_rates = hasattr(rule, "on_feedback")
    scale = 1e-3 if at_rates else 1.0  # of times in s
    if at_rates:  # DCQCN loops over periods of its timers and counter
        pool = [value for value in pool if 0.0 <= value < math.inf]
    found = []
    for n in range(STEP_COUNT):
        state = (rule.start(1e6) if at_rates else rule.start(0.04, 1000.0))._asdict()
        for field in state:
            if draw.random() < 0.6:
                state[field] = draw.choice(
                    (
                        draw.choice(pool),
                        draw.choice((*filter(math.isfinite, state.values()), 10 ** draw.uniform(-2, 3))),
                    )
                )
        if not 0.0 < state.get("cwnd", 1.0) < math.inf:
            state["cwnd"] = draw.choice((1.0, 2.0, 16.0, 100.0))
        near = [value for value in state.values() if 0.0 < value < 10.0 * scale] or [scale]
        numbers = {field: draw.choice((0.0, 1.0, 2.0, *near, *pool[:10])) for field in fields.get(function, ())}
        numbers["time"] = draw.choice((0.5 * scale, scale, 2.0 * scale, *near))
        numbers["rtt"] = draw.choice((0.02 * scale, 0.04 * scale, 0.25 * scale, *near))
        event = types.SimpleNamespace(**{"acks": 1.0, "marks": draw.choice((0.0, 1.0)), **numbers})
        try:
            after = getattr(rule, function)(rule.State(**state), rule.params, event)
            values = [math.asinh(1e3 * value) if math.isfinite(value) else 50.0 for value in map(float, after)]
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            values = [float(len(type(error).__name__))]
        total = math.fsum((1.0 + 0.37 * k) * value for k, value in enumerate(values))
        if n % GROUP == 0:
            found.append(0.0)
        found[-1] += total
    return [float(f"{value:.10g}") for value in found]


@pytest.mark.parametrize("question", STEPS)
def test_steps_from_drawn_states_are_as_recorded(question: str) -> None:
    assert steps_from_drawn_states(question) == pytest.approx(read_record(__file__)[question], rel=1e-8)


if __name__ == "__main__":
    walks = {question: steps_from_drawn_states(question) for question in STEPS}
    walks |= {name: walk(*question) for name, question in WALKS.items()}
    walks |= {name: walk(*question, acks=OTHER_ACKS)[::SPARSE] for name, question in OTHERS.items()}
    walks |= {name: walk_at_rate(rule) for name, rule in AT_RATES.items()}
    write_record(__file__, walks)
