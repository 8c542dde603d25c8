"""The step that an accuracy asks for: convergence, what is refused, and how often the estimate holds."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

from dfcmodel import (
    CBR,
    FIFO,
    Fair,
    Flow,
    Fluid,
    Link,
    OnOff,
    Pause,
    Scenario,
    simulate,
)
from dfcmodel.engine.step_doubling import double_steps
from hopflow import Status
from markov.errors import ConvergenceError
from responsefn import CUBIC, NewReno, Reno, Tahoe


def test_first_order_errors_are_estimated_from_above() -> None:
    """The change is the error then, which falls by half with each doubling."""
    for accuracy in (0.3, 0.1, 0.01):
        found = double_steps(lambda m: m, lambda m: np.array([3.0 / m]), accuracy, 1, 4096)
        assert found.error <= accuracy
        assert 3.0 / found.steps_per_delay <= found.error
        assert 2 * 3.0 / found.steps_per_delay > accuracy / 4  # no finer than needed by much


def test_a_change_that_is_small_once_does_not_convince() -> None:
    values = iter([1.0, 2.0, 2.0, 2.0, 5.0])
    found = double_steps(lambda m: m, lambda _: np.array([next(values)]), 0.1, 4, 1024)
    assert found.steps_per_delay == 32


def bottleneck(source=None) -> Scenario:
    links = [Link("a", "b", 5e3, 2e-3, 60.0), Link("b", "c", 2e3, 3.3e-3, 40.0)]
    flows = [
        Flow("one", "abc", source or NewReno(), 100.0),
        Flow("two", "bc", CBR(500.0), start=0.013),
    ]
    return Scenario("bottleneck", links, flows, duration=0.5)


def test_the_error_is_in_the_run_and_its_summary() -> None:
    run = simulate(bottleneck(), Fluid(accuracy=0.05))
    assert run.status is Status.COMPLETED
    assert 0.0 < run.step_error <= 0.05
    assert run.step <= 2e-3 / 16
    assert "of the path's rate, estimated" in run.summary()["error from the step"]
    plain = simulate(bottleneck(), Fluid(steps_per_delay=round(2e-3 / run.step)))
    np.testing.assert_array_equal(run.delivered, plain.delivered)
    assert plain.step_error is None


def test_all_steps_have_the_same_random_numbers() -> None:
    """With a generator the estimate is of the step alone, and one is drawn from in one run."""
    scenario = bottleneck(OnOff(1500.0, 0.02, 0.02, random=True))
    runs = [
        simulate(scenario, Fluid(accuracy=0.02), seed=seed)
        for seed in (3, np.random.default_rng(3))
    ]
    np.testing.assert_array_equal(runs[0].delivered, runs[1].delivered)


def test_too_much_work_is_refused_with_the_finest_run() -> None:
    with pytest.raises(
        ConvergenceError, match=r"accuracy = 1e-06 of .* 16 steps per delay leave"
    ) as caught:
        simulate(bottleneck(), Fluid(accuracy=1e-6, most_steps_per_delay=16))
    run = caught.value.result
    assert run.status is Status.INACCURATE
    assert run.step_error > 1e-6
    with pytest.raises(ValueError, match="most_steps_per_delay = 15: must be at least 16"):
        Fluid(accuracy=0.1, most_steps_per_delay=15)
    with pytest.raises(ValueError, match="accuracy = 1"):
        Fluid(accuracy=1.0)


def set_aside(seed: int) -> Scenario:
    """Return a random network of a kind that the estimate was not chosen on: trees, other rules and loads."""
    random = np.random.default_rng([seed, 7])
    graph = nx.random_labeled_tree(8, seed=seed).to_directed()
    kinds = [FIFO(), FIFO(), Fair(), Pause(high=12.3, low=6.1)]
    links = [
        Link(
            a, b, float(random.uniform(800, 6e3)), float(random.uniform(1e-3, 8e-3)),
            float(random.integers(15, 80)), kinds[random.integers(4)],
        )
        for a, b in graph.edges
    ]  # fmt: skip
    sources = [NewReno(), CUBIC(), Reno(), Tahoe(), CBR(700.0), OnOff(1500.0, 0.03, 0.05)]
    flows = []
    for n, source in enumerate(random.permutation(np.array(sources, dtype=object))[:4]):
        ends = random.choice(8, 2, replace=False).tolist()
        host = str(random.choice(["direct", "unshaped"]))
        way = tuple(nx.shortest_path(graph, *ends))
        flows.append(Flow(f"{n}", way, source, 200.0, float(random.uniform(0, 0.3)), host=host))
    used = {hop for flow in flows for hop in itertools.pairwise(flow.path)}
    return Scenario(f"{seed}", [k for k in links if (k.source, k.target) in used], flows, 2.0)


@pytest.mark.slow
def test_estimates_hold_in_nine_of_ten_networks_set_aside() -> None:
    """The error is the change with a quarter of the step: against the estimate, and what was asked for.

    109 of 120 (90.8 %), and 29 of the 35 that are accepted (83 %; 42 of 47 where a full fair queue dropped from
    what came alone). Neither share of these 60 speaks against nine of ten at 1 %.
    """
    covered, met = [], []
    for seed in range(60):
        scenario, reached = set_aside(seed), True
        try:
            run = simulate(scenario, Fluid(accuracy=0.02, most_steps_per_delay=32), sample=0.5)
        except ConvergenceError as error:
            run, reached = error.result, False
        m = round(Fluid(1).step_of(scenario) / run.step)
        fine = simulate(scenario, Fluid(steps_per_delay=4 * m), sample=0.5)
        paths = [min(link.rate for link in scenario.path(flow)) for flow in scenario.flows]
        rates = [each.delivered[:, -1] / each.time[-1] / paths for each in (run, fine)]
        apart = np.abs(rates[0] - rates[1]).max()
        covered.append(apart <= run.step_error)
        met += [apart <= 0.02] if reached else []
    assert len(met) >= 15
    for held in (covered, met):
        assert binom.cdf(sum(held), len(held), 0.9) > 0.01
