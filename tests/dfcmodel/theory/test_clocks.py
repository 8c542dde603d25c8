"""Clocks out of step and unequal delays: the monodromy matrix against a simulation by events."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dfcmodel import DFC, spectrum, stability_limit, takano2006
from dfcmodel.theory.clocks import Clocks, clocks_of, tick_phases
from dfcmodel.theory.law import law_of
from dfcmodel.theory.stability import chain_matrix


def by_events(clocks: Clocks, D: float, alpha: float, start, periods: int):
    """Packets at the ends of common periods, (periods + 1, b): nodes that wait for messages.

    Times are whole steps, amounts floats; nothing is clipped, the last node sends and tells 0.
    """
    b = len(clocks.delays)
    n, sends = np.append(0.0, start), np.zeros(b + 1)  # node 0 is the host
    told = [(0.0, 0.0)] * b
    since = [0] * (b + 1)
    comes = [0.0] * (b + 1)  # rate at which packets arrive now
    events: list[tuple[int, int, int, object]] = []
    mail: list[deque[tuple[float, float]]] = [deque() for _ in range(b)]

    def settle(i: int, now: int) -> None:
        if i > 0:
            n[i] += (comes[i] - sends[i]) * (now - since[i])
        since[i] = now

    def tell(i: int) -> tuple[float, float]:
        if i == b:
            return 0.0, n[b]
        return told[i][0] - D / clocks.delays[i] * (told[i][1] - n[i]), n[i]

    for j, phase in enumerate(clocks.phases):
        heapq.heappush(events, (phase, 1, j, None))
    history = [n[1:].copy()]
    for at in range(1, periods + 1):
        heapq.heappush(events, (at * clocks.steps, -1, 0, None))
    while len(history) <= periods:
        now, kind, j, rate = heapq.heappop(events)
        if kind == -1:  # a record
            for i in range(b + 1):
                settle(i, now)
            history.append(n[1:].copy())
        elif kind == 0:  # what node j sent one delay ago arrives at another rate
            settle(j + 1, now)
            comes[j + 1] = rate
        elif kind == 1:  # a message reaches node j
            told[j] = mail[j].popleft() if mail[j] else (0.0, 0.0)
            settle(j, now)
            sends[j] = alpha * told[j][0] - D / clocks.delays[j] * (told[j][1] - n[j])
            heapq.heappush(events, (now + clocks.delays[j], 0, j, sends[j]))
            heapq.heappush(events, (now, 2, j, None))
        else:  # and the next one leaves for it, after all that arrive now
            settle(j + 1, now)
            mail[j].append(tell(j + 1))
            heapq.heappush(events, (now + clocks.delays[j], 1, j, None))
    return np.array(history)


CASES = [
    (Clocks(1.0, (4, 4, 4), (3, 0, 2)), 0.65, 1.0),
    (Clocks(1.0, (4, 4, 4, 4, 4), (0, 3, 2, 0, 1)), 0.6, 1.1),
    (Clocks(1.0, (1, 1, 2, 1), (0, 0, 1, 0)), 0.6, 1.0),
    (Clocks(1.0, (6, 6, 2, 4), (3, 5, 0, 2)), 0.3, 1.05),
]


@pytest.mark.parametrize(("clocks", "D", "alpha"), CASES)
def test_monodromy_is_what_events_do(clocks: Clocks, D: float, alpha: float) -> None:
    """Packets of three common periods; amounts grow by up to 10 per period, rounding by as much."""
    b = len(clocks.delays)
    start = np.random.default_rng(0).normal(size=b)
    state = np.zeros(6 * b + sum(clocks.delays))
    state[:b] = start
    matrix = clocks.monodromy(D, alpha)
    for expected in by_events(clocks, D, alpha, start, 3)[1:]:
        state = matrix @ state
        np.testing.assert_allclose(state[:b], expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize(("clocks", "D", "alpha"), CASES)
def test_growth_rate_is_the_spectrums(clocks: Clocks, D: float, alpha: float) -> None:
    """Per step, over 600 common periods after 300: 1e-4."""
    start = 1e-9 * np.random.default_rng(1).normal(size=len(clocks.delays))
    sizes = np.log(np.linalg.norm(by_events(clocks, D, alpha, start, 940), axis=1))
    envelope = np.maximum.reduce([sizes[k : k + 900] for k in range(40)])  # it turns
    found = (envelope[-1] - envelope[300]) / 599
    grows = np.log(np.abs(np.linalg.eigvals(clocks.monodromy(D, alpha))).max())
    assert abs(grows) > 1e-3
    assert found / clocks.steps == pytest.approx(grows / clocks.steps, abs=1e-4)


@pytest.mark.parametrize("steps", [1, 4])
def test_clocks_in_step_are_the_chain(steps: int) -> None:
    """The largest eigenvalues, 1e-9: those of a matrix far from normal."""
    for hops, D, alpha in ((1, 0.3, 1.2), (5, 0.6, 1.0)):
        clocks = Clocks(1.0, (steps,) * hops, (0,) * hops)
        sampled, chain = (
            np.sort(np.abs(np.linalg.eigvals(matrix)))[: -2 - hops : -1]
            for matrix in (clocks.monodromy(D, alpha), chain_matrix(hops, D, alpha))
        )
        np.testing.assert_allclose(sampled, chain, rtol=1e-9)


def test_phases_are_those_of_the_nodes() -> None:
    """One draw per node, after the flows' jitter; that the engine has them too is in test_twin."""
    scenario = takano2006("4S")
    drawn = tick_phases(scenario, 3)
    random = np.random.default_rng(3)
    random.uniform(0.0, 0.0, len(scenario.flows))
    assert list(drawn) == list(range(1, 17))
    np.testing.assert_array_equal(list(drawn.values()), random.random(16))
    clocks = clocks_of(scenario, law_of(scenario), rng=3, steps_per_delay=8)
    assert clocks.phases == tuple(int(8 * drawn[node]) for node in range(1, 9))
    assert clocks.delays == (8,) * 8


def unequal(D: float = 0.1, **law):
    plain = takano2006("4S")
    delays = [2e-4, 1e-4, 5e-5, 1e-4] * 4
    rule = DFC(diffusion=D, **law)
    links = tuple(
        replace(link, delay=d, discipline=rule)
        for link, d in zip(plain.links, delays, strict=False)
    )
    return replace(plain, links=links)


def test_spectrum_with_random_phases_and_with_unequal_delays() -> None:
    """Everything that a spectrum says comes from one matrix, over the period of all clocks."""
    apart = spectrum(takano2006("1"), rng=0)
    assert apart.period == pytest.approx(1e-4)
    assert apart.radius != pytest.approx(spectrum(takano2006("1")).radius, abs=1e-4)
    modes = spectrum(unequal(), steps_per_delay=1)
    assert modes.clocks.delays == (4, 4, 2, 1, 2, 4, 2, 1)
    assert modes.period == pytest.approx(2e-4)
    assert "phases (0, 0" in repr(modes)
    assert modes.settling_time == pytest.approx(-2e-4 / np.log(modes.radius))
    assert len(modes.plot().lines) == 2  # unit circle and chain: no endless chain of such links
    assert modes.transient_growth.max() > 1
    for of, near in {"diffusion": (1e-6, 0.0), "intensity": (0.0, 1e-6)}.items():
        up, down = (
            spectrum(unequal(0.1 + s * near[0], intensity=1.01 + s * near[1]), steps_per_delay=1)
            for s in (1, -1)
        )
        slope = spectrum(unequal(intensity=1.01), steps_per_delay=1).sensitivity(of)
        assert slope == pytest.approx((up.radius - down.radius) / 2e-6, rel=1e-5)


def test_limits_with_clocks_out_of_step() -> None:
    """At the limit the radius is one, and it is not that of clocks in step; 1e-9 of the bisection."""
    for scenario, rng in ((takano2006("4S"), 2), (unequal(), None)):
        limit = stability_limit(scenario, kind="finite", rng=rng, steps_per_delay=2)
        links = tuple(replace(link, discipline=DFC(diffusion=limit)) for link in scenario.links)
        at = spectrum(replace(scenario, links=links), rng=rng, steps_per_delay=2)
        assert at.radius == pytest.approx(1.0, abs=1e-9)
        assert limit != pytest.approx(stability_limit(takano2006("4S"), kind="finite"), abs=1e-3)


def test_synchronous_disciplines_have_no_phases() -> None:
    scenario = takano2006("4S")
    links = tuple(replace(link, discipline=DFC(phases="synchronous")) for link in scenario.links)
    assert spectrum(replace(scenario, links=links), rng=5).clocks is None
    assert Fraction(clocks_of(scenario, law_of(scenario)).period).limit_denominator(
        10**6
    ) == Fraction(1, 10**4)
