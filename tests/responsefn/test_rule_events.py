"""Rules as events: checks and compilation."""

from __future__ import annotations

import ctypes
import inspect
import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest

from dfcmodel import Flow, PathOptions, QueueManager, ReceiverAgent, Scenario, chain, coexist, simulate
from dfcmodel.engine.kernel import records as fluid_records
from dfcmodel.engine.kernel.records import FLOW, ON_ACK, ON_LOSS
from dfcmodel.packets.kernel import layout
from hopflow import kernels, maximum
from responsefn import (
    AIMD,
    BIC,
    CUBIC,
    DCQCN,
    DCTCP,
    HSTCP,
    TFRC,
    DeliveryRule,
    NewReno,
    Reno,
    Scalable,
    Tahoe,
    WindowRule,
    hystart,
    simulate_rule,
    single_acks,
    steps,
)
from responsefn.errors import RuleError
from responsefn.kernel.flow import REMAINING, ROWS, STATE, TIME
from responsefn.rule_events import (
    MAX_PARAMETERS,
    MAX_STATE,
    events_of,
    numbers_of,
    signature_of,
)
from responsefn.rules.base import Event
from responsefn.single_acks import acts_on_single_acks
from tests.responsefn.simulation.kernel_rules import RULES, CountedReno, PerRound, Timer
from tests.surface import for_each

# Window rules as events of the engine.

SIGNATURES = tuple(signature_of(rule) for rule in (Tahoe(), Reno(), NewReno()))


def window_after(event: int, acks: float, *, compiled: bool, several: bool = True) -> float:
    """Return Reno's window of 10 packets, in congestion avoidance, after an event."""
    events = events_of(SIGNATURES, several=several, compiled=compiled)
    flow = np.zeros(1, dtype=FLOW).view(np.recarray)
    flow.cwnd, flow.ssthresh = Reno.State()._replace(cwnd=10.0, ssthresh=5.0)[:2]
    numbers = list(numbers_of(Reno()).values())
    flow.parameters[0, : len(numbers)] = numbers
    if not compiled:
        events[1, event](flow[0], 0.0, 0.1, acks, 0.0)
        return float(flow.cwnd[0])
    call = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), *[ctypes.c_double] * 4)
    window = np.zeros(MAX_STATE + MAX_PARAMETERS)
    window[:2] = flow.cwnd[0], flow.ssthresh[0]
    window[MAX_STATE : MAX_STATE + len(numbers)] = numbers
    call(int(events[1, event]))(window.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), 0.0, 0.1, acks, 0.0)
    return float(window[0])


@pytest.mark.parametrize("compiled", [False, True])
def test_three_acks_change_the_window_by_three_times_what_one_does(compiled: bool) -> None:
    """Reno adds 1/cwnd per ACK (RFC 5681, 3.1, eq. 3) and halves on a loss."""
    assert window_after(ON_ACK, 3.0, compiled=compiled) == pytest.approx(10.0 + 3.0 / 10.0)
    assert window_after(ON_LOSS, 0.0, compiled=compiled) == pytest.approx(5.0)


def test_the_records_of_all_kernels_have_room_for_as_many_numbers() -> None:
    for records in (fluid_records, layout):
        assert (records.MAX_STATE, records.MAX_PARAMETERS) == (MAX_STATE, MAX_PARAMETERS)
        fields = getattr(records, "RULE", records.FLOW).fields
        assert fields["parameters"][1] - fields["cwnd"][1] == 8 * MAX_STATE


def test_an_ack_by_itself_gives_what_the_rule_returns_to_the_last_bit() -> None:
    """10 + (10.1 - 10) is not 10.1."""
    found = window_after(ON_ACK, 1.0, compiled=True, several=False)
    assert found == 10.0 + 1.0 / 10.0


# What a user's rule may do, and what it is told when it cannot be run.

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


class InBytes(WindowRule):
    """RFC 5681 in bytes, for a segment of 1 packet or more bytes."""

    class Params(NamedTuple):
        segment: float = 1460.0

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.segment**2 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        after = maximum(0.5 * s.cwnd, 2.0 * q.segment)
        return s._replace(cwnd=after, ssthresh=after)


class SetWindow(WindowRule):
    """A window of one size."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=5000.0)

    on_loss = on_ack


def test_windows_in_bytes_are_named() -> None:
    """The rate was that of 1460 times as many packets, without a word."""
    assert InBytes(segment=1.0).rate(P, RTT) == pytest.approx(Reno().rate(P, RTT), rel=1e-3)
    for segment in (1460.0, 536.0):
        with pytest.warns(
            UserWarning, match=r"InBytes\.on_ack makes a window of 2 packets one of .*: cwnd and ssthresh"
        ):
            InBytes(segment=segment).rate(P, RTT)
    assert SetWindow().rate(P, RTT) == pytest.approx(5000.0 / RTT)


@for_each(WRONG)
def test_a_rule_that_goes_wrong_is_refused(rule, event, message):
    """By rate and simulation alike, with the line of the function."""
    asks = [
        lambda: rule().rate(P, RTT),
        lambda: simulate_rule(rule(), P, RTT, events=100),
    ]
    for ask in asks:
        with pytest.raises(RuleError, match=message) as caught:
            ask()
        if event is not None:
            function = inspect.getattr_static(rule, event)
            first = getattr(function, "__func__", function).__code__.co_firstlineno
            lines = range(first, first + 5)
            assert any(f"{__file__}:{line}: " in str(caught.value) for line in lines)


def test_classes_and_other_things_in_the_place_of_rules_are_named():
    with pytest.raises(TypeError, match=r"rule = .*Reno.*: must be a window rule, such as Reno\(\)"):
        simulate_rule(Reno, P, RTT)
    with pytest.raises(TypeError, match=r"rule = TFRC\(\): must be a window rule, such as Reno\(\)"):
        simulate_rule(TFRC(), P, RTT)
    with pytest.raises(TypeError, match=r"losses = .*: must be a model of losses"):
        simulate_rule(Reno(), P, RTT, float)


# Compiled rules do what plain Python does.


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


def test_cycles_and_simulation_agree():
    """One cycle, several and the simulation: one answer."""
    rule = Branches()
    few = rule.rate(P, RTT)
    many = rule.rate([P] * 6, RTT)
    assert (many == few).all()
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
    compiled = kernels.make_kernel(many_steps, functions=functions, tuples={"State": rule.State._fields})
    numbers = Numbers(getattr(rule, "a", 0.0), getattr(rule, "b", 0.0))
    expected, computed = np.empty(60), np.empty(60)
    for name, value in (functions | {"State": rule.State}).items():
        monkeypatch.setitem(many_steps.__globals__, name, value)
    assert compiled(8.0, numbers, computed) == many_steps(8.0, numbers, expected)
    np.testing.assert_array_equal(computed, expected)


class BadDrop(DCTCP):
    """Half a packet after a drop."""

    @staticmethod
    def on_drop(s, q, e):
        return s._replace(cwnd=0.5)


class DropMethod(DCTCP):
    """A method where a function is needed."""

    def on_drop(self, s, q, e):
        return s


@pytest.mark.parametrize("level", ["fluid", "packets"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [(BadDrop, r"on_drop returns cwnd = 0\.5: must be 1"), (DropMethod, "on_drop: write @staticmethod above it")],
)
def test_the_answer_to_a_drop_is_checked_as_that_to_a_mark(kind, said, level):
    links = chain(2, rate=1000.0, delay=0.02, buffer=5)
    with pytest.raises(RuleError, match=said):
        simulate(Scenario("one", links, [Flow("f", (1, 2), kind())], duration=1.0), level=level)


class KeepsTime(WindowRule):
    """Slow start that keeps the time of the last ACK, and the sum of all times."""

    class State(NamedTuple):
        """Window in packets, its threshold, and times in s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        last: float = 0.0
        total: float = 0.0

    assigned = ("last",)

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0, last=e.time, total=s.total + e.time)

    @staticmethod
    def on_loss(s, q, e):
        return s


def test_acks_of_slow_start_arrive_at_their_times_in_blocks_too():
    """From 1 packet the window doubles each 0.1 s: after 2^n - 1 ACKs it is 2^n, n round trips later."""
    for step in (steps.ack, steps.block):
        call = steps.compile_step(steps.to_next_loss, KeepsTime(), step=step, compiled=False)[0]
        run = np.zeros(ROWS)
        run[STATE : STATE + 4] = KeepsTime.State()
        run[REMAINING] = 15.0
        call(run, 0.1, 0.0, math.inf, 0.0)
        cwnd, _, last, total = run[STATE : STATE + 4]
        assert cwnd == 16.0
        assert run[TIME] == pytest.approx(0.4, rel=1e-12)
        assert last == pytest.approx(0.4, rel=1e-12)
        assert total == pytest.approx(sum(0.1 * math.log2(1.0 + n) for n in range(1, 16)), rel=1e-12)


# Which rules a fluid must show single ACKs.


def test_compared_cycles_begin_at_the_window_at_which_reno_loses(monkeypatch):
    """Mean window 3/4 of the peak, for half the peak's round trips: 3/8 peak^2 packets in a cycle."""
    samples = []

    def record(kernel, name):
        def run(values, *_):
            samples.extend(zip(values[0][:, 0], values[2], values[3], strict=True))

        return run

    monkeypatch.setattr(single_acks, "engine", record)
    single_acks._agrees.__wrapped__(Reno(), 0.05, None, 150.0, 16.0)
    in_cycles = [(2.0 * cwnd, packets) for cwnd, packets, cycles in samples if cycles]
    assert in_cycles, "no cycle is compared"
    for peak, packets in in_cycles:
        assert 0.375 * peak**2 == pytest.approx(packets, rel=1e-12)


@pytest.mark.parametrize("rule", [Reno(), AIMD(0.3, 0.2), Scalable(), HSTCP(), CUBIC()], ids=repr)
def test_rules_that_add_the_same_at_each_ack_may_see_several(rule):
    assert not acts_on_single_acks(rule, 0.04, 2000.0, 150.0, 16.0)


@pytest.mark.parametrize("rule", [CountedReno(), PerRound(), Timer(), hystart(NewReno())], ids=repr)
def test_rules_that_act_at_some_acks_must_see_each(rule):
    assert acts_on_single_acks(rule, 0.04, 2000.0, 150.0, 16.0)
    assert acts_on_single_acks(rule, 0.001, 1e5, 150.0, 16.0)


@pytest.mark.parametrize("rule", [Tahoe(), BIC()], ids=repr)
def test_rules_that_change_their_growth_at_a_window_must_see_each(rule):
    """A slow start, or a search, that ends within the ACKs of one step: 1 to 4 % of the time of a cycle."""
    assert acts_on_single_acks(rule, 0.06, 3e4, 2000.0, 16.0)


def cycles(rule, rtt, packets, amount, losses=12):
    """Return the time in s of loss cycles of so many packets; each event is for ``amount(cwnd)`` ACKs.

    An event for several ACKs moves the fields that are not assigned by that multiple, as in the fluid.
    """
    state = rule.start(rtt, None)._replace(cwnd=math.sqrt(8.0 * packets / 3.0), ssthresh=2.0)
    state = rule.on_loss(state, rule.params, Event(100.0, rtt))
    now = 100.0
    for _ in range(losses):
        left = packets
        while left > 0.0:
            acks = min(left, amount(state.cwnd))
            now += acks * rtt / state.cwnd
            new = rule.on_ack(state, rule.params, Event(now, rtt))
            if acks != 1.0:
                new = type(state)(
                    *(
                        after if name in rule.assigned else before + acks * (after - before)
                        for name, before, after in zip(state._fields, state, new, strict=True)
                    )
                )
            state = new
            left -= acks
        state = rule.on_loss(state, rule.params, Event(now, rtt))
    return now - 100.0


@pytest.mark.parametrize("rtt", [0.001, 0.01, 0.1, 0.6])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_that_see_several_acks_at_once_come_to_the_times_of_single_ones(rule, rtt):
    """Loss cycles by plain Python, of other lengths than those that the decision compares.

    In small windows a step has a part of an ACK, and in large ones several. The decision allows 0.5 %; cycles of
    other lengths may differ by a little more.
    """
    if acts_on_single_acks(rule, rtt, None, 300.0, 16.0):
        return
    for packets in (150, 2000):
        alone = cycles(rule, rtt, packets, lambda cwnd: 1.0)
        steps = cycles(rule, rtt, packets, lambda cwnd: max(0.25, cwnd / 16.0))
        assert steps == pytest.approx(alone, rel=0.007)


def test_which_kernel_rules_see_several_acks_at_once():
    """Most act at some ACKs only; the others add the same at each of them and change at losses."""
    assert {type(rule).__name__ for rule in RULES if not acts_on_single_acks(rule, 0.1, None, 300.0, 16.0)} == {
        "Hysteresis", "Alternating", "TenthLoss",
    }  # fmt: skip


# A rule that returns what cannot be, where the samples in plain Python do not show it: refused while it runs.


class Shrinks(WindowRule):
    """A hundredth of a packet less per ACK: below one packet after the first one."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd - 0.01)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))


class Overflows(Shrinks):
    """Windows beyond all bounds."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd * 1e10)


class NoNumber(Shrinks):
    """A window that is no number from nine packets on, up to twelve: between two samples."""

    @staticmethod
    def on_ack(s, q, e):
        wrong = 1e308 * 10.0 - 1e308 * 10.0 if 8.5 < s.cwnd < 12.0 else 0.0
        return s._replace(cwnd=s.cwnd + 1.0 + wrong)


WRONG = {Shrinks: "returns cwnd = 0.99: must be 1 to", Overflows: r"returns cwnd = 1e\+20", NoNumber: "returns cwnd = nan"}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_window_is_refused_at_both_levels_and_beside_another_rule(kind) -> None:
    """With file, line, function, state, flow and time; such a run was ``completed``, with no packets delivered."""
    said = (
        rf"test_rule_events\.py:\d+: {kind.__name__}\.on_ack {WRONG[kind]}.* for State\(.*, flow '{{}}', t = 0\.\d+ s"
    )
    links = chain(2, rate=1000.0, delay=0.02, buffer=20)
    scenario = Scenario("one", links, [Flow("f", (1, 2), kind())], duration=2.0)
    for level in ("fluid", "packets"):
        with pytest.raises(RuleError, match=said.format("f")):
            simulate(scenario, level=level)
    with pytest.raises(RuleError, match=said.format("1")):
        coexist([kind(), Reno()], 0.05, 1000.0, 50, options=PathOptions(duration=2.0))


class NotStatic(Shrinks):
    def on_ack(self, s, q, e):
        return s


class Assigns(Shrinks):
    @staticmethod
    def on_ack(s, q, e):
        s.cwnd = s.cwnd + 1.0
        return s


class Negative(Shrinks):
    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=s.cwnd - 100.0)


@for_each(
    [
        (NotStatic, "on_ack: write @staticmethod above it"),
        (Assigns, r"on_ack raises AttributeError.*return s\._replace\(cwnd=\.\.\.\)"),
        (Negative, "on_loss returns cwnd = -98: must be 1"),
    ]
)
def test_a_rule_that_fails_in_plain_python_is_refused_before_any_work(kind, said: str) -> None:
    links = chain(2, rate=1000.0, delay=0.02, buffer=20)
    for level in ("fluid", "packets"):
        with pytest.raises(RuleError, match=rf"test_rule_events\.py:\d+: {kind.__name__}\.{said}"):
            simulate(Scenario("one", links, [Flow("f", (1, 2), kind())], duration=1.0), level=level)


class WithoutWindow(DeliveryRule):
    """A rule of deliveries that closes its window after a second, without a pacing rate."""

    @staticmethod
    def on_delivery(s, q, e):
        return s._replace(cwnd=10.0 if e.time < 1.0 else 0.0)

    @staticmethod
    def on_timeout(s, q, e):
        return s


def test_a_wrong_window_after_a_delivery_names_the_function() -> None:
    links = chain(2, rate=1000.0, delay=0.02, buffer=20)
    scenario = Scenario("one", links, [Flow("f", (1, 2), WithoutWindow())], duration=2.0)
    said = r"test_rule_events\.py:\d+: WithoutWindow\.on_delivery returns cwnd = 0: must be 1"
    with pytest.raises(RuleError, match=said):
        simulate(scenario, level="packets")


@for_each([
    ({"claims": "cubic"}, ValueError, r"claims of Mine = 'cubic': must be one of 'newreno', 'cubic-rfc9438', 'bbr-draft', 'other'$"),
    ({"claims": "NewReno"}, ValueError, r"did you mean 'newreno'\?$"),
    ({"signal": "ecn"}, ValueError, r"signal of Mine = 'ecn': must be one of 'loss', 'mark'$"),
    ({"capacity": "none"}, ValueError, r"capacity of Mine = 'none': must be one of 'ignored', 'optional', 'needed'$"),
    ({"counts_acks": "no"}, ValueError, r"counts_acks of Mine = 'no': must be True or False$"),
    ({"timeout_window": 0.0}, ValueError, r"timeout_window of Mine = 0: must be a finite number >= 1; in packets$"),
    ({"assigned": ("peak",)}, ValueError, r"assigned of Mine = 'peak': must be one of 'cwnd', 'ssthresh'$"),
    ({"rate_estimates": "cwnd"}, TypeError, r"rate_estimates of Mine = 'cwnd': must be a list; each entry a field of State$"),
])  # fmt: skip
def test_attributes_of_classes_of_rules_are_checked(attributes, error, message: str) -> None:
    """They were ignored: a suite did not apply to a rule whose claim was misspelled."""
    with pytest.raises(error, match=message):
        type("Mine", (NewReno,), attributes)


def _event(s, q, e):
    return s


@for_each([
    (NewReno, {"on_timout": staticmethod(_event)}, "Mine.on_timout is unused: NewReno has on_ack, on_drop, on_loss, on_mark, on_timeout; did you mean on_timeout?"),
    (DCQCN, {"on_ack": staticmethod(_event)}, "Mine.on_ack is unused: DCQCN has on_feedback, on_telemetry, on_time"),
    (NewReno, {"timeoutwindow": 2.0}, "Mine.timeoutwindow is unused: NewReno has timeout_window"),
    (ReceiverAgent, {"on_packets": staticmethod(_event)}, "Mine.on_packets is unused: ReceiverAgent has on_packet, on_timer; did you mean on_packet?"),
    (QueueManager, {"on_enque": staticmethod(_event)}, "Mine.on_enque is unused: QueueManager has "),
    (NewReno, {"floor": 2.0, "_on_helper": _event, "helper": staticmethod(_event)}, None),
    (NewReno, {"on_ack": staticmethod(lambda s, q, e: Mine.on_reduction(s, q, e)), "on_reduction": staticmethod(_event)}, None),  # noqa: F821
])  # fmt: skip
def test_functions_that_nothing_calls_are_named(base, attributes, message: str | None) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        type("Mine", (base,), attributes)
    assert [str(warning.message)[: len(message or "")] for warning in caught] == [message] * (message is not None)
