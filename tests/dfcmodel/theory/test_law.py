"""The law of DFC: reports, shares, clocks, and its continuum."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import replace
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dfcmodel import DFC, takano2006
from dfcmodel.theory import (
    DiffusionEquation,
    bare_law,
    spectrum,
    stability_limit,
)
from dfcmodel.theory.analytic import cosine_series, gaussian, packet_spread
from dfcmodel.theory.clocks import Clocks, clocks_of, tick_phases
from dfcmodel.theory.equations import drift_coefficients
from dfcmodel.theory.feedback_law import diffusive_rate, proportional_share
from dfcmodel.theory.law import Report, Sharing, law_of, rates
from dfcmodel.theory.ring_arrays import TILE, advance_rings
from dfcmodel.theory.stability import chain_matrix

# The diffusion-type law: its rates, its invariant, its limits.


CAPACITY = 30_000.0


GAIN = 1000.0


def test_rate_of_a_single_flow_is_eq_2_clipped_by_eq_1() -> None:
    target_rate = np.array([[10_000.0, 29_000.0, 100.0]])
    next_queue = np.array([[0.0, 0.0, 50.0]])
    queue = np.array([[5.0, 8.0, 1.0]])
    active = np.ones((1, 3), dtype=bool)
    J = rates(Report(target_rate, next_queue), queue, active, Sharing(1.0, GAIN, CAPACITY))
    np.testing.assert_array_equal(J, [[15_000.0, CAPACITY, 0.0]])


def test_eq_13_shares_by_ideal_rate_and_the_larger_gets_more() -> None:
    told = np.array([[20_000.0], [25_000.0]])
    zero, active = np.zeros((2, 1)), np.ones((2, 1), dtype=bool)
    J = rates(Report(told, zero), zero, active, Sharing(1.0, GAIN, CAPACITY))
    np.testing.assert_allclose(J[:, 0], CAPACITY * np.array([20, 25]) / 45)


def test_idle_flows_get_nothing_and_take_nothing() -> None:
    told, zero = np.full((2, 1), CAPACITY), np.zeros((2, 1))
    J = rates(Report(told, zero), zero, np.array([[True], [False]]), Sharing(1.0, GAIN, CAPACITY))
    np.testing.assert_array_equal(J, [[CAPACITY], [0.0]])


@given(
    arrays(float, (2, 5), elements=st.floats(0, CAPACITY)),
    arrays(float, (2, 5), elements=st.floats(0, 1800)),
    arrays(float, (2, 5), elements=st.floats(0, 1800)),
    arrays(bool, (2, 5)),
    st.floats(1, 1.5),
)
def test_rates_are_non_negative_and_never_exceed_the_link(told, n_next, n, active, alpha) -> None:
    J = rates(Report(told, n_next), n, active, Sharing(alpha, GAIN, CAPACITY))
    assert (J >= 0).all()
    assert (J.sum(axis=0) <= CAPACITY * (1 + 1e-12)).all()
    assert (J[~active] == 0).all()


def test_closed_loop_moves_w_upstream_unchanged() -> None:
    """alpha = 1: w_i = J_i - D n_i (per period) is the w of the next node one period earlier."""
    rng = np.random.default_rng(1)
    D, n = 0.1, bare_law(rng.uniform(0, 10, 20), 0.1, 60, base_rate=5.0)
    # J follows from the history by conservation: J_i[k] = n_i[k] + J_{i-1}[k-1] - n_i[k+1]
    J = [np.full(20, 5.0)]
    for k in range(60):
        J.append(n[k] + np.roll(J[-1], 1) - n[k + 1])
    w = np.array([J[k + 1] - D * n[k] for k in range(60)])
    np.testing.assert_allclose(w[1:], np.roll(w[:-1], -1, axis=1), atol=1e-10)


@given(arrays(float, 12, elements=st.floats(0, 100)), st.floats(0.01, 0.3), st.integers(1, 40))
def test_prescribed_rate_conserves_packets_in_nodes_and_links(packets, D, periods) -> None:
    rate = np.linspace(1, 2, 12)
    n = bare_law(packets, D, periods, rate=rate)
    # the links hold what was sent in the last period; on a ring its sum is that of the rate
    np.testing.assert_allclose(n.sum(axis=1), packets.sum(), rtol=1e-9, atol=1e-9)


@given(arrays(float, 12, elements=st.floats(0, 100)), st.floats(0.01, 1.0))
def test_maximum_principle_up_to_one(packets, D) -> None:
    """w = 0: n_i[k+1] = (1-D) n_i[k] + D n_{i-1}[k-1] stays between the extremes for D <= 1."""
    n = bare_law(packets, D, 60, base_rate=D * packets)
    assert n.min() >= packets.min() - 1e-10
    assert n.max() <= packets.max() + 1e-10


def test_no_maximum_principle_beyond_one() -> None:
    packets = np.array([0.0, 1.0] * 6)
    assert bare_law(packets, 1.05, 60, base_rate=1.05 * packets).min() < -0.01


@pytest.mark.parametrize("D", [0.1, 0.5, 0.9])
def test_one_loaded_node_drifts_and_spreads_exactly(D: float) -> None:
    """Mean and variance grow by v and 2 D_eff per period once the first mode has died (D^k)."""
    c = drift_coefficients(D)
    hot = np.zeros(400)
    hot[0] = 1.0
    n = bare_law(hot, D, 700, before=0.0)
    np.testing.assert_allclose(n[30, :31], packet_spread(D, 30), atol=1e-12)
    x = np.arange(400)
    mean = n @ x / n.sum(axis=1)
    variance = n @ x**2 / n.sum(axis=1) - mean**2
    assert (mean[700] - mean[400]) / 300 == pytest.approx(c.speed, abs=1e-10)
    assert (variance[700] - variance[400]) / 600 == pytest.approx(c.spread, abs=1e-10)
    assert n[700].sum() == pytest.approx(1 / (1 + D), abs=1e-10)


def test_order_one_to_advection_and_two_to_advection_with_spread() -> None:
    """d = h/c: as many periods as nodes, a profile of two waves on a ring, w = 0."""
    D = 0.3
    c = drift_coefficients(D)
    errors = []
    for nodes in (64, 128, 256):
        x = np.arange(nodes)

        def waves(spread: float, shift: float, x=x, nodes=nodes):
            sum_ = np.ones(nodes)
            for k, amplitude in ((1, 0.5), (2, 0.3)):
                theta = 2 * np.pi * k / nodes
                fallen = amplitude * np.exp(-spread * theta**2 * nodes)
                sum_ = sum_ + fallen * np.cos(theta * (x - shift) + k)
            return sum_

        start = waves(0.0, 0.0)
        end = bare_law(start, D, nodes, base_rate=D * start)[-1]
        moved = c.speed * nodes
        errors.append(
            [
                np.abs(end - waves(0.0, moved)).max(),
                np.abs(end - waves(c.spread, moved + c.initial_shift)).max(),
            ]
        )
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    np.testing.assert_allclose(orders[:, 0], 1, atol=0.05)
    np.testing.assert_allclose(orders[:, 1], 2, atol=0.05)


def test_second_order_convergence_to_the_diffusion_equation() -> None:
    """d ~ h^2, r = 0: a cosine decays as exp(-kappa (2 pi)^2 t)."""
    errors = []
    for nodes in (32, 64, 128):
        x = np.arange(nodes) / nodes
        periods = round(0.01 * nodes**2 / 0.1)
        end = bare_law(1 + np.cos(2 * np.pi * x), 0.01 * nodes**2 / periods, periods, rate=0 * x)[-1]
        exact = 1 + np.exp(-0.01 * (2 * np.pi) ** 2) * np.cos(2 * np.pi * x)
        errors.append(np.abs(end - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(("D", "stable"), [(0.33, True), (0.35, False)])
def test_prescribed_rate_is_stable_up_to_one_third(D: float, stable: bool) -> None:
    """The highest mode, n_i alternating, decides: |z| = 1 at D = 1/3."""
    n = bare_law(1 + 1e-6 * (-1.0) ** np.arange(16), D, 400, rate=np.ones(16))
    assert bool(np.abs(n[-1] - 1).max() < 1e-6) is stable


def test_the_law_that_both_kernels_share_is_eqs_2_and_13() -> None:
    """D/d = 2/s, r = 5/s, alpha = 1.1, n' - n = 2; a link of 10/s of which flows want 20/s, or 5/s."""
    assert diffusive_rate(1.1, 5.0, 2.0, 3.0, 1.0) == pytest.approx(1.1 * 5.0 - 4.0, rel=1e-15)
    assert proportional_share(10.0, 20.0) == 0.5
    assert proportional_share(10.0, 5.0) == 1.0


# Clocks out of step and unequal delays: the monodromy matrix against a simulation by events.


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
    clocks = clocks_of(scenario, law_of(scenario), seed=3, steps_per_delay=8)
    assert clocks.phases == tuple(int(8 * drawn[node]) for node in range(1, 9))
    assert clocks.delays == (8,) * 8


def unequal(D: float = 0.1, **law):
    plain = takano2006("4S")
    delays = [2e-4, 1e-4, 5e-5, 1e-4] * 4
    rule = DFC(diffusion=D, **law)
    links = tuple(replace(link, delay=d, discipline=rule) for link, d in zip(plain.links, delays, strict=False))
    return replace(plain, links=links)


def test_spectrum_with_random_phases_and_with_unequal_delays() -> None:
    """Everything that a spectrum says comes from one matrix, over the period of all clocks."""
    apart = spectrum(takano2006("1"), seed=0)
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
            spectrum(unequal(0.1 + s * near[0], intensity=1.01 + s * near[1]), steps_per_delay=1) for s in (1, -1)
        )
        slope = spectrum(unequal(intensity=1.01), steps_per_delay=1).sensitivity(of)
        assert slope == pytest.approx((up.radius - down.radius) / 2e-6, rel=1e-5)


def test_limits_with_clocks_out_of_step() -> None:
    """At the limit the radius is one, and it is not that of clocks in step; 1e-9 of the bisection."""
    for scenario, rng in ((takano2006("4S"), 2), (unequal(), None)):
        limit = stability_limit(scenario, kind="finite", seed=rng, steps_per_delay=2)
        links = tuple(replace(link, discipline=DFC(diffusion=limit)) for link in scenario.links)
        at = spectrum(replace(scenario, links=links), seed=rng, steps_per_delay=2)
        assert at.radius == pytest.approx(1.0, abs=1e-9)
        assert limit != pytest.approx(stability_limit(takano2006("4S"), kind="finite"), abs=1e-3)


def test_synchronous_disciplines_have_no_phases() -> None:
    scenario = takano2006("4S")
    links = tuple(replace(link, discipline=DFC(phases="synchronous")) for link in scenario.links)
    assert spectrum(replace(scenario, links=links), seed=5).clocks is None
    assert Fraction(clocks_of(scenario, law_of(scenario)).period).limit_denominator(10**6) == Fraction(1, 10**4)


# The continuous limits: coefficients of a scenario, refused parameters.


def test_scenario_gives_the_coefficients_of_its_links() -> None:
    bar = DiffusionEquation.of(takano2006("1"), lambda x: 0 * x)
    assert bar.length == 29
    np.testing.assert_allclose(bar.coefficient(jnp.array([0.0, 0.5, 28.9])), 0.1 / 1e-4)


# Exact solutions against each other.


def test_gaussian_and_cosine_series_agree_far_from_the_ends() -> None:
    """1e-10: the normal density at the ends is exp(-78)."""
    narrow = {"packets": 3.0, "centre": 0.5, "width": 0.03}
    series = cosine_series(lambda x: gaussian(x, 0.0, 0.01, **narrow), 0.01)
    x = np.linspace(0, 1, 101)
    np.testing.assert_allclose(series(x, 0.05), gaussian(x, 0.05, 0.01, **narrow), atol=1e-10)


# The compiled law on rings against the law itself.


@pytest.mark.parametrize(("nodes", "threads"), [(20, 1), (20, 3), (TILE + 6, 1), (3 * TILE, 2)])
def test_rings_follow_the_law(nodes: int, threads: int) -> None:
    """In one tile and in several, whose last one is short or whole; 18 periods are two turns."""
    n = np.random.default_rng(3).uniform(0, 10, (5, nodes))
    expected = [bare_law(row, 0.1, 30, base_rate=5.0)[-1] for row in n]
    J = np.full_like(n, 5.0)
    w = J - 0.1 * n
    advance_rings(n, J, w, 0.1, 12, threads=threads)
    advance_rings(n, J, w, 0.1, 18, threads=threads)
    np.testing.assert_allclose(n, expected, rtol=1e-12)
