"""Expected marks in the fluid: the published fluid model of DCQCN, and what states no expected response."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from dfcmodel import (
    CBR,
    PFC,
    RED,
    Flow,
    Fluid,
    Link,
    RampMarking,
    Scenario,
    StepMarking,
    simulate,
)
from dfcmodel.engine.expected_marks import with_expected_marks
from responsefn import DCQCN, TIMELY, Elapsed, Feedback, NewReno
from tests.oracles.engines import plain_simulate

C, LOW, HIGH, MOST = 5e6, 5.0, 200.0, 0.01
"""40 Gb/s with packets of 1000 bytes; thresholds in packets; P_max."""
RULE = DCQCN(counter=1e4, additive=5000.0, hyper=50000.0)
MARKING = RampMarking(LOW, HIGH, MOST)
EXPECTED = Fluid(marks="expected")


def incast(N: int, rule: Any = RULE, marking: Any = MARKING, duration: float = 0.2) -> Scenario:
    """Return N senders with links of their own to one link."""
    links = [Link(f"s{k}", "a", C, 1e-6, 1e6) for k in range(N)]
    links.append(Link("a", "b", C, 1e-6, 1e6, marking))
    flows = [
        Flow(f"{k}", (f"s{k}", "a", "b"), rule, host="unshaped", start=k * 1e-5) for k in range(N)
    ]
    return Scenario("dcqcn", links, flows, duration=duration, packet_size=1000)


def solved_queue(N: int) -> float:
    """Return the queue at the fixed point of the published equations, solved for p with R_C = C / N.

    Zhu et al. 2015, Sect. 5: eq. (7) at rest gives alpha, eq. (6) R_T, eq. (5) p.
    """
    q, R = RULE.params, C / N

    def change_of_target(p: float) -> float:
        notified = (1.0 - (1.0 - p) ** (q.notification * R)) / q.notification
        alpha = 1.0 - (1.0 - p) ** (q.alpha_timer * R)
        by_counter = R * p / ((1.0 - p) ** -q.counter - 1.0)
        by_timer = R * p / ((1.0 - p) ** -(q.timer * R) - 1.0)
        above = R * alpha * notified / (by_counter + by_timer)  # R_T - R_C
        grown = by_counter * (1.0 - p) ** (q.stages * q.counter)
        grown += by_timer * (1.0 - p) ** (q.stages * q.timer * R)
        return float(above * notified - q.additive * grown)

    p = brentq(change_of_target, 1e-6, 0.999 * MOST, xtol=1e-15)
    return float(LOW + p / MOST * (HIGH - LOW))


@pytest.mark.parametrize("N", [2, 10])
def test_dcqcn_holds_the_queue_of_the_published_fluid_model(N: int) -> None:
    run = simulate(incast(N), EXPECTED, sample=1e-4)
    late = run.time > 0.1
    queue = run.queued[-1, late]
    # 2 % is what issue and paper leave room for; the time step of 0.25 us moves it by less than 0.1 %
    np.testing.assert_allclose(queue.mean(), solved_queue(N), rtol=0.02)
    assert queue.std() < 0.01 * queue.mean()  # at rest
    rates = np.diff(run.delivered[:, late][:, [0, -1]])[:, 0]
    np.testing.assert_allclose(rates / rates.sum(), 1.0 / N, rtol=1e-3)
    assert run.lost.sum() == 0.0


def test_the_fixed_point_is_that_of_the_response_function() -> None:
    for N, p in ((2, 7.77e-4), (10, 6.03e-3)):
        np.testing.assert_allclose(RULE.rate(p), C / N, rtol=2e-3)
        assert solved_queue(N) == pytest.approx(LOW + p / MOST * (HIGH - LOW), rel=1e-3)


def test_drawn_marks_have_the_noise_of_packets() -> None:
    run = simulate(incast(10), sample=1e-4, level="fluid")
    assert run.queued[-1, run.time > 0.1].std() > 40.0


@pytest.mark.parametrize("p", [0.0, 1e-4, 0.3])
def test_a_sender_stays_at_the_fixed_point_and_moves_to_it(p: float) -> None:
    rule: Any = RULE.expected()
    state = rule.start(1e6)._replace(rate=3e5, target=4e5, alpha=0.2)
    state = rule.on_feedback(state, rule.params, Feedback(0.0, 1e-5, acks=0.5, marks=0.5 * p))
    assert state.p == pytest.approx(p)
    for n in range(400_000):
        state = rule.on_time(state, rule.params, Elapsed(1e-6 * n, 1e-6, 0.0))
    # without marks it reaches the rate of its line
    wanted = 1e6 if p == 0.0 else min(1e6, RULE.rate(p))
    assert state.rate == pytest.approx(wanted, rel=5e-3)
    assert rule.on_feedback(state, rule.params, Feedback(0.0, 1e-5, 0.0, 0.0)) == state


def test_the_kernel_runs_alike_compiled_and_in_plain_python() -> None:
    links = [
        Link("s", "a", 2e4, 1e-3, 1e6),
        Link("a", "b", 1e4, 1e-3, 1e6, RampMarking(2.0, 20.0, 0.5)),
    ]
    rule = DCQCN(notification=5e-3, alpha_timer=5e-3, timer=5e-3, counter=100.0, additive=200.0)
    flows = [
        Flow("rated", ("s", "a", "b"), rule, host="unshaped"),
        Flow("constant", ("s", "a", "b"), CBR(2e3), host="unshaped"),
    ]
    scenario = Scenario("two", links, flows, duration=0.05)
    one, other = (run(scenario, EXPECTED, sample=5e-3) for run in (simulate, plain_simulate))
    np.testing.assert_allclose(one.queued, other.queued, rtol=1e-12)
    np.testing.assert_allclose(one.window, other.window, rtol=1e-12)
    assert one.scenario is scenario
    assert one.queued[1].max() > 2.0


def test_the_manager_of_pfc_and_steps_have_means() -> None:
    rule = PFC((0,), xoff=300.0, xon=200.0, headroom=100.0, manager=MARKING)
    found: Any = with_expected_marks(incast(2, marking=rule)).links[-1].discipline
    assert found.manager.fractional
    assert replace(found, manager=MARKING) == rule
    step = incast(2, marking=StepMarking(20.0, at="departure"))
    assert with_expected_marks(step).links == step.links


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rule": NewReno()}, "source of flow '0' = NewReno()"),
        ({"rule": TIMELY()}, "source of flow '0' = TIMELY()"),
        ({"rule": DCQCN(remembers=0)}, "remembers of DCQCN(remembers=0) = 0"),
        ({"marking": RED(5.0, 15.0, ecn=True)}, "discipline of link a->b = RED("),
        ({"marking": RampMarking(at="arrival")}, "discipline of link a->b = RampMarking("),
        ({"marking": StepMarking(5.0, at="arrival")}, "discipline of link a->b = StepMarking("),
    ],
    ids=str,
)  # fmt: skip
def test_what_states_no_mean_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate(incast(2, **changed), EXPECTED)


def test_an_unknown_kind_of_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks = 'mean': must be one of 'drawn', 'expected'"):
        Fluid(marks="mean")
