"""From a scenario to a plan: sizes, times, orders, phases."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import CBR, Packets, dumbbell, simulate, takano2006
from responsefn import DeliveryRule, RateRule, Reno
from responsefn.errors import RuleError
from tests.dfcmodel.packets.conftest import plan_of
from tests.oracles.engines import ENGINES


def test_acks_can_take_propagation_delays_alone(one_link) -> None:
    plan = plan_of(one_link, Packets(seed=1, ack_transmission=False))
    assert (plan.passage[:, 1:6] == 0.01).all()  # the last size is that of packets cut to headers
    assert plan.transmission[0, 0] == pytest.approx(1e-3)


def test_simultaneous_arrivals_go_by_passage_then_by_port(one_link) -> None:
    """The arrival with the longest passage was scheduled first; ACKs have passages of their own."""
    links = dumbbell(1, rate=100.0, delay=0.1, access_rate=1e3, access_delay=0.01, buffer=9)
    flow = replace(one_link.flows[0], path=("s1", "left", "right", "d1"))
    scenario = replace(one_link, links=links, flows=(flow,))
    for convention in ("standard", "ns2"):
        plan = plan_of(scenario, Packets(convention=convention, seed=1))
        order = np.argsort(plan.arrival_ranks, axis=None)
        assert np.all(np.diff(plan.passage.ravel()[order]) <= 0.0)
        assert sorted(plan.arrival_ranks.ravel()) == list(range(plan.passage.size))
        assert set(plan.arrival_ranks[[1, 4], 0]) == {0, 1}


def test_phases_must_be_one_for_each_flow() -> None:
    with pytest.raises(ValueError, match="phases: 1 value"):
        plan_of(takano2006("1", dfc=False), Packets(convention="ns2", phases=(0.0,)))


@pytest.mark.parametrize("given", [{"duration": 1e-300}, {"duration": 1e-6, "sample": 1e-13}])
def test_times_that_the_kernel_cannot_count_in_samples_are_refused(one_link, given) -> None:
    """A number of samples beyond 64 bits would be a row before the first."""
    name, value = list(given.items())[-1]
    with pytest.raises(ValueError, match=f"^{name} = {value!r}: must be a finite number >= 1e-12"):
        simulate(one_link, method=Packets(seed=1), **given)


def test_a_rate_beyond_the_sequence_numbers_is_refused_before_it_runs(one_link) -> None:
    """10^12 packets would take hours."""
    flow = replace(one_link.flows[0], source=CBR(1e18), size=np.inf)
    scenario = replace(one_link, flows=(flow,))
    with pytest.raises(OverflowError, match=r"flow 'flow', before t = 1e-06 s: more than 2147483646 packets"):
        simulate(scenario, Packets(seed=1, max_cpu_time=np.inf), duration=1e-6)


class Beyond(Reno):
    """A rule of one's own that grows without end."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window."""
        return s._replace(cwnd=1e6 * s.cwnd)


class NoNumber(Reno):
    """A rule of one's own with a mistake."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Divide nothing by nothing."""
        return s._replace(cwnd=s.cwnd * (math.inf - math.inf))


class NoRate(RateRule):
    """A rule of one's own whose rate is a mistake."""

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Divide nothing by nothing."""
        return s._replace(rate=s.rate * (math.inf - math.inf))


class NoPace(DeliveryRule):
    """A rule of one's own that spaces packets by a mistake."""

    class State(NamedTuple):
        """The third is the rate of packets."""

        cwnd: float = 10.0
        ssthresh: float = 1e9
        pacing_rate: float = 100.0

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Divide nothing by nothing."""
        return s._replace(pacing_rate=s.pacing_rate * (math.inf - math.inf))


TIME = "t = [0-9.]+ s"
NO_NUMBER = {name: f"{TIME}: the {name} of flow 'flow' is not a number" for name in ("window", "rate")}


@pytest.mark.parametrize(
    ("rule", "message", "of_oracle"),
    [
        (
            Beyond(),
            rf"Beyond.on_ack returns cwnd = 1e\+18: must be 1 to 1e\+15 packets .*, flow 'flow', {TIME}",
            f"{TIME}: the window of flow 'flow' is .* packets, more than 2147483646",
        ),
        (
            NoNumber(),
            "NoNumber.on_ack returns cwnd = nan for .*: must be a number",
            NO_NUMBER["window"],
        ),
        (NoRate(), NO_NUMBER["rate"], NO_NUMBER["rate"]),
        (
            NoPace(),
            f"NoPace.on_delivery returns a number that is NaN; .*, flow 'flow', {TIME}",
            NO_NUMBER["rate"],
        ),
    ],
    ids=["beyond", "no number", "no rate", "no pace"],
)
def test_a_window_or_rate_that_is_none_stops_the_run(one_link, rule, message, of_oracle) -> None:
    """With the place in the rule, or the time; of a window rule, a mistake in its first calls is found before the run."""
    scenario = replace(one_link, flows=(replace(one_link.flows[0], name="flow", source=rule),))
    for engine, text in zip(ENGINES, (message, of_oracle), strict=True):
        with pytest.raises((RuleError, ArithmeticError), match=text):
            engine(scenario, Packets(seed=1), duration=1.0)
