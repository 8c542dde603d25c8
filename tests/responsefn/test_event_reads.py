"""Fields of events that rules read, by their source and by a run, and what follows from them."""

from __future__ import annotations

import functools
import math
import operator
import random
from typing import Any, NamedTuple

import pytest

from dfcmodel.network.notifications import needs_marks
from hopflow import maximum
from responsefn import CUBIC, Delivery, DeliveryRule, Feedback, RateRule, Reno, WindowRule, catalogue
from responsefn.dynamics import Event
from responsefn.event_reads import use_of_field
from responsefn.rules.deliveries.delivery_rule import answers_marks

NAME = "rtt"


def direct(s, e):
    return min(s.cwnd, e.rtt)


def through_two(state, event):
    return direct(state, event)


def with_keywords(s, e):
    return direct(e=e, s=s)


def by_index(s, e):
    return e[1]


def by_unpacking(s, e):
    _, rtt = e
    return rtt


def by_getattr(s, e):
    return getattr(e, "rtt")  # noqa: B009


def by_getattr_of_a_constant(s, e):
    return getattr(e, NAME)


def by_getattr_of_an_expression(s, e):
    return getattr(e, "r" + "tt")


def by_another_name(s, e):
    event = e
    return event.rtt


def by_walrus(s, e):
    return (event := e).rtt + 0.0 * event.time


def by_replacement(s, e):
    return e._replace(time=1.0).rtt


def identity(s, e):
    return e


def by_returned_event(s, e):
    return identity(s, e).rtt


def by_sum(s, e):
    return sum(e)


def by_equality(s, e):
    return 1.0 if e == (1.0, 2.0) else 0.0


def by_match(s, e):
    match e:
        case (_, rtt):
            return rtt
    return 0.0


def by_text(s, e):
    return len(f"{e}")


def by_tuple(s, e):
    pair = s, e
    return pair[1].rtt


def by_starred_arguments(s, e):
    return direct(*(s, e))


def by_locals(s, e):
    return locals()["e"].rtt


def by_inner_function(s, e):
    def inner(event):
        return event.rtt

    return inner(e)


def by_captured_name(s, e):
    def inner():
        return e.rtt

    return inner()


def in_a_rare_state(s, e):
    return e.rtt if s.cwnd == 12345.678 else 0.0


def recursive(s, e, depth=3):
    return e.rtt if depth == 0 else recursive(s, e, depth - 1)


getter = operator.attrgetter("rtt")


def by_attrgetter(s, e):
    return getter(e)


def variadic(*arguments):
    return arguments[1].rtt


def by_variadic(s, e):
    return variadic(s, e)


def passing_on(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@passing_on
def decorated(s, e):
    return e.rtt


cached = []


def by_list(s, e):
    cached.append(e)
    return 0.0


class Tool:
    @staticmethod
    def static(s, e):
        return e.rtt

    def method(self, s, e):
        return e.rtt

    def __call__(self, s, e):
        return e.rtt


def time_alone(s, e):
    return e.time


@passing_on
def decorated_time(s, e):
    return e.time


def time_by_tuple(s, e):
    pair = s, e
    return pair[1].time


TABLE = {"time": time_alone, "rtt": direct}


def by_table(s, e):
    return TABLE["rtt"](s, e)


def time_by_table(s, e):
    return TABLE["time"](s, e)


def truth(s, e):
    return 1.0 if e and e is not None and isinstance(e, Event) and len(e) else 0.0


def rule_with(function):
    class Helped(WindowRule):
        @staticmethod
        def on_ack(s, q, e):
            return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd + 0.0 * function(s, e))

        @staticmethod
        def on_loss(s, q, e):
            return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd), ssthresh=2.0)

    return Helped


READERS = (
    direct,
    through_two,
    with_keywords,
    by_index,
    by_unpacking,
    by_getattr,
    by_getattr_of_a_constant,
    by_getattr_of_an_expression,
    by_another_name,
    by_walrus,
    by_replacement,
    by_returned_event,
    by_sum,
    by_equality,
    by_match,
    by_text,
    by_tuple,
    by_starred_arguments,
    by_locals,
    by_inner_function,
    by_captured_name,
    in_a_rare_state,
    recursive,
    by_attrgetter,
    by_variadic,
    by_table,
    decorated,
    Tool.static,
    Tool().method,
    Tool(),
    functools.partial(by_index),
    functools.lru_cache(through_two),
    lambda s, e: e.rtt,
)


@pytest.mark.parametrize("function", READERS, ids=lambda f: f"{type(f).__name__} {getattr(f, '__name__', '')}")
def test_a_read_of_the_round_trip_time_is_found_behind_a_function(function):
    assert rule_with(function).capacity == "needed"
    with pytest.raises(ValueError, match=r"bandwidth is missing: Helped reads e\.rtt, which a queue lengthens"):
        rule_with(function)().rate(1e-3, 0.1)


@pytest.mark.parametrize("function", [time_alone, decorated_time, time_by_tuple, time_by_table, truth])
def test_other_uses_of_the_event_ignore_the_capacity(function):
    assert rule_with(function).capacity == "ignored"


def test_an_event_out_of_sight_counts_as_read_and_the_message_names_the_place():
    with pytest.raises(ValueError, match=r"Helped may read e\.rtt at .*test_event_reads\.py:\d+: cached\.append\(e\)"):
        rule_with(by_list)().rate(1e-3, 0.1)

    class Stated(rule_with(by_list)):
        capacity = "ignored"

    assert Stated.capacity == "ignored"


def test_a_rule_with_required_parameters_has_no_run_and_counts_as_reading_all():
    class Required(rule_with(time_by_tuple)):
        class Params(NamedTuple):
            gain: float

    assert Required.capacity == "needed"


def test_a_helper_may_follow_the_class():
    class Early(WindowRule):
        @staticmethod
        def on_ack(s, q, e):
            return s._replace(cwnd=s.cwnd + 0.0 * later(e) + 1.0 / s.cwnd)

        @staticmethod
        def on_loss(s, q, e):
            return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))

    def later(e):
        return e.time

    assert Early.capacity == "ignored"


def test_rules_that_begin_with_the_capacity_or_estimate_rates_need_it():
    class Start(Reno):
        def start(self, rtt, bandwidth=None):
            return self.State(cwnd=2.0 + (bandwidth or 0.0) * rtt)

    class Top(Reno):
        class State(NamedTuple):
            cwnd: float = 1.0
            ssthresh: float = math.inf
            top_rate: float = 0.0

    class Estimating(Top):
        class State(NamedTuple):
            cwnd: float = 1.0
            ssthresh: float = math.inf
            estimate: float = 0.0

        rate_estimates = ("estimate",)

    class Passing(Reno):
        def start(self, rtt, bandwidth=None):
            return super().start(rtt, bandwidth)._replace(cwnd=4.0)

    assert [rule.capacity for rule in (Start, Top, Estimating, Passing, Reno)] == [*["needed"] * 3, *["ignored"] * 2]
    with pytest.raises(ValueError, match=r"Estimating estimates rates, which the capacity limits \(estimate\)"):
        Estimating().rate(1e-3, 0.1)


class Recorder:
    """An event of a test that records reads by name, which is how the rules of the package read."""

    def __init__(self, event: Any) -> None:
        vars(self).update(event=event, reads=set())

    def __getattr__(self, name: str) -> Any:
        self.reads.add(name)
        return getattr(self.event, name)


@pytest.mark.parametrize("rule", dict.fromkeys(type(rule) for rule in catalogue().entries if hasattr(rule, "on_ack")))
def test_the_source_of_each_rule_of_the_package_shows_all_reads_of_a_walk(rule):
    draw, instance = random.Random(7), rule()
    delivery = Delivery._fields if hasattr(rule, "on_delivery") else ()
    kinds = [("on_ack", Event._fields), ("on_loss", Event._fields), ("on_timeout", Event._fields)]
    kinds += [("on_mark", Feedback._fields)] + ([("on_delivery", delivery)] if delivery else [])
    for name, fields in kinds:
        reads: set[str] = set()
        state, time = instance.start(0.1, 1000.0), 0.0
        for _ in range(300):
            time += draw.expovariate(20.0)
            values = [float(draw.randrange(1, 9)) for _ in fields]
            event = Recorder(dict_event(fields, [time, 0.1 * (1.0 + draw.random()), *values[2:]]))
            state = getattr(instance, name)(state, instance.params, event)
            state = state._replace(cwnd=min(max(1.0, state.cwnd), 1e4))
            reads |= event.reads
        shown = {field for field in fields if use_of_field(rule, field, ((name, fields),))}
        assert reads <= shown, name


def dict_event(fields, values):
    kind = {Event._fields: Event, Feedback._fields: Feedback, Delivery._fields: Delivery}[fields]
    return kind(*values)


class MarkedDeliveries(DeliveryRule):
    @staticmethod
    def on_delivery(s, q, e):
        return s._replace(cwnd=maximum(1.0, s.cwnd - marks_of(e)))


def marks_of(event):
    return event.marks


class SlowedByMarks(RateRule):
    @staticmethod
    def on_feedback(s, q, e):
        return s._replace(rate=s.rate * 0.9 ** marks_of(e))


class SlowedByDelay(RateRule):
    @staticmethod
    def on_feedback(s, q, e):
        return s._replace(rate=s.rate * (0.9 if e.rtt > 0.1 else 1.1))


class Deliveries(MarkedDeliveries):
    @staticmethod
    def on_delivery(s, q, e):
        return s._replace(cwnd=s.cwnd + e.acked / s.cwnd)


def test_a_use_of_marks_is_found_behind_a_function():
    assert answers_marks(MarkedDeliveries)
    assert not answers_marks(Deliveries)
    assert not answers_marks(CUBIC)
    assert needs_marks(SlowedByMarks())
    assert not needs_marks(SlowedByDelay())
