"""Rate rules that bound their packets in flight: what follows from the window, and both engines beside each other."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import INT, Flow, Fluid, Link, Packets, Scenario, SelectiveRepair, simulate
from responsefn import HPCC, RateRule
from tests.oracles.engines import check_records, plan_scenario, run_engine, run_reference


class Windowed(RateRule):
    """Keeps a window, at the rate of its first link."""

    class State(NamedTuple):
        """Rate in packets/s, packets."""

        rate: float = math.inf
        window: float = 1.0

    class Params(NamedTuple):
        """Packets."""

        window: float = 4.0

    def start(self, line_rate: float) -> Any:
        """Begin at the rate of the link."""
        return self.State(rate=line_rate, window=self.params.window)

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Keep both."""
        return s


class Shrinking(Windowed):
    """Halves its window with each mark, and adds a packet per window: the window of AIMD, behind other numbers."""

    class State(NamedTuple):
        """Rate in packets/s, ACKs, packets."""

        rate: float = math.inf
        acks: float = 0.0
        window: float = 1.0

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Follow marks."""
        less = s.window * 0.5 if e.marks > 0.0 else s.window + e.acks / s.window
        return s._replace(acks=s.acks + e.acks, window=max(0.3, less))


RATE, DELAY = 1e5, 1e-4


def one_path(rule: RateRule, **given: Any) -> Scenario:
    """Return a flow over two links of one rate."""
    links = [Link(a, b, RATE, DELAY, 100) for a, b in (("h", "s"), ("s", "d"))]
    return Scenario("path", links, [Flow("one", ("h", "s", "d"), rule, **given)], duration=0.05)


@pytest.mark.parametrize("window", [1.0, 3.5, 20.0])
def test_a_window_below_the_path_is_sent_once_per_round_trip(window: float) -> None:
    """Packets leave at the rate of the link; the next burst begins as the first ACK comes: whole packets per round trip."""
    scenario = one_path(Windowed(window))
    round_trip = 4.0 * DELAY + 2.0 / RATE + 2.0 * 64.0 / 1500.0 / RATE  # ACKs of rate rules have 64 bytes
    run = simulate(scenario, Packets(seed=1), sample=1e-3)
    sent = run.delivered[0, -1] - run.delivered[0, 10]
    expected = math.ceil(window) / round_trip * (run.time[-1] - run.time[10])
    assert sent == pytest.approx(expected, abs=math.ceil(window))  # a burst at either end


@pytest.mark.parametrize("recovery", ["go-back-n", "selective", "none"])
def test_a_window_whose_packets_are_all_lost_opens_again(recovery: str) -> None:
    scenario = one_path(Windowed(2.0), size=300.0)
    method = Packets(seed=3, loss={"s->d": 0.5}, recovery=recovery)
    scenario = Scenario("losses", scenario.links, scenario.flows, duration=2.0, min_rto=2e-3)
    run = simulate(scenario, method, sample=0.1)
    assert run.timeouts[0] > 0
    assert run.emitted[0] >= 300.0
    assert (run.delivered[0, -1] == 300.0) == (recovery != "none")


def test_senders_of_hpcc_have_no_more_than_their_window_in_flight() -> None:
    """All begin at once with a window of rate T: no more than N of them can wait at a bottleneck, and one less at its link."""
    rate, base, n = 1e7, 16.2e-6, 8
    links = [Link(f"h{k}", "s", rate, 3e-6, 20_000) for k in range(n)]
    links.append(Link("s", "d", rate, 3e-6, 20_000, INT()))
    flows = [Flow(str(k), (f"h{k}", "s", "d"), HPCC(base_rtt=base)) for k in range(n)]
    run = simulate(
        Scenario("incast", links, flows, duration=1e-3, packet_size=1000.0),
        Packets(seed=1),
        sample=1e-6,
    )
    assert run.peak_queue.max() <= n * math.ceil(rate * base)
    assert run.peak_queue.max() > (n - 2) * rate * base  # which the first round trip needs: they are full


def star(seed: int) -> Scenario:
    """Return senders with windows of several kinds over one link that marks, writes telemetry, or drops."""
    rng = np.random.default_rng([17, seed])
    n = int(rng.integers(2, 6))
    links = [Link(f"h{k}", "s", RATE * rng.uniform(0.5, 2.0), 1e-4 * rng.uniform(0.2, 2.0), 200) for k in range(n)]
    links.append(Link("s", "d", RATE, 1e-4, int(rng.integers(3, 40)), INT()))
    rules = [Windowed(float(rng.integers(1, 30))), Shrinking(4.0), HPCC(base_rtt=1e-3)]
    flows = [
        Flow(
            str(k), (f"h{k}", "s", "d"), rules[rng.integers(3)],
            size=float(rng.integers(20, 300)) if rng.integers(2) else math.inf,
            host=["nic", "direct"][rng.integers(2)], stop=float(rng.choice([math.inf, 0.02])),
        )
        for k in range(n)
    ]  # fmt: skip
    return Scenario("star", links, flows, duration=0.04, min_rto=2e-3)


@pytest.mark.parametrize("recovery", ["go-back-n", SelectiveRepair(rto_low=1e-3), "none"])
@pytest.mark.parametrize("seed", range(4))
def test_both_engines_keep_to_windows_alike(seed: int, recovery: Any) -> None:
    scenario = star(seed)
    loss = None if seed % 2 else {"s->d": 0.1}
    method = Packets(seed=seed, recovery=recovery, loss=loss)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=0.01)
    found = run_engine(plan)
    check_records(found, run_reference(plan))
    assert found.total.sum() > 100.0


class Lost(Windowed):
    """Sets its window to no number."""

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Fail."""
        return s._replace(window=s.window * math.nan)


def test_windows_that_are_no_numbers_and_the_fluid_are_refused() -> None:
    with pytest.raises(ArithmeticError, match="the window of flow 'one' is not a number"):
        simulate(one_path(Lost()), Packets(seed=1))
    with pytest.raises(ValueError, match="bounds its packets in flight is for packets"):
        simulate(one_path(Windowed()), Fluid())
